"""The badges: what they say is what the README says of them, and a text has room in its badge."""

import re
from xml.etree import ElementTree as ET

from tests.docs.badges import badges, draw_badge
from tests.docs.markdown import README

SVG = "{http://www.w3.org/2000/svg}"
LETTERS = r"[^a-z0-9.]+"


def words(text: str) -> list[str]:
    """Words of a title, without punctuation and ``and``."""
    return [word for word in re.split(LETTERS, text.lower()) if word and word != "and"]


def test_the_alternative_text_in_the_readme_is_the_title_of_the_badge() -> None:
    shown = {
        file: text
        for text, file in re.findall(r"!\[(.*?)\]\(docs/(.*?badge.*?)\)", README.read_text())
    }

    titles = {
        file: ET.fromstring(svg).findtext(f"{SVG}title", "") for file, svg in badges().items()
    }

    assert {file: words(text) for file, text in shown.items()} == {
        file: words(title) for file, title in titles.items()
    }


def test_a_longer_text_gets_a_wider_badge() -> None:
    short, long = (
        int(ET.fromstring(draw_badge("licence", value)).attrib["width"])
        for value in ("MIT", "Apache-2.0")
    )

    assert short < long
