"""Roadmap, maintainers and code of conduct: where hosts look for them, and linked."""

from tests.docs.markdown import ROOT, anchors, links

FILES = ("CODE_OF_CONDUCT.md", "MAINTAINERS.md", "ROADMAP.md")


def test_they_are_linked_for_contributors() -> None:
    assert set(FILES) <= set(links(ROOT / "CONTRIBUTING.md"))


def test_the_covenant_is_linked_and_not_copied() -> None:
    conduct = ROOT / "CODE_OF_CONDUCT.md"

    assert any("contributor-covenant.org/version/2/1/" in link for link in links(conduct))
    assert len(conduct.read_text().splitlines()) < 30


def test_a_maintainer_and_the_way_of_decisions_are_named() -> None:
    maintainers = ROOT / "MAINTAINERS.md"

    assert "decisions" in anchors(maintainers)
    assert "| maintainer | area |" in maintainers.read_text()
