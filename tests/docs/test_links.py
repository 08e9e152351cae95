"""Links of the pages lead to files and headings that are there."""

import re
from pathlib import Path

import pytest

from tests.docs.markdown import GUIDES, PAGES, README, ROOT, anchors, links, name


def is_broken(page: Path, target: str) -> bool:
    if target.startswith(("https://", "http://")):
        return False
    file, _, anchor = target.partition("#")
    found = (page.parent / file) if file else page
    return not found.exists() or bool(anchor and anchor not in anchors(found))


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    assert [target for target in links(page) if is_broken(page, target)] == []


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_tests_that_are_named_exist(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", page.read_text())

    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_is_linked_from_the_readme() -> None:
    linked = {target.partition("#")[0] for target in links(README)}

    assert {name(page) for page in PAGES} - {"README.md"} <= linked
