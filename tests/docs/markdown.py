"""
The pages, and what stands in them: code blocks, links, headings.

A block of commands is run by a test, unless a mark before it names what it needs:
``<!-- needs: kind -->``. What needs CONTROL_PLANE is run as well, where one has been built.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")))
GUIDES = (
    *PAGES,
    ROOT / "CHANGELOG.md",
    ROOT / "CODE_OF_CONDUCT.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "MAINTAINERS.md",
    ROOT / "ROADMAP.md",
    ROOT / "SECURITY.md",
    ROOT / "deploy" / "README.md",
    ROOT / "deploy" / "chart" / "README.md",
    ROOT / "deploy" / "monitoring" / "runbooks.md",
    ROOT / "examples" / "reviews" / "README.md",
)
"""All that people read: the pages, and what stands beside them."""

CONTROL_PLANE = "a control plane"

_BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>[^\n]+) -->\n\n?)?"
    r"(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\[[^]]+\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_RULE = re.compile(r"\| ?-")
_BAR = re.compile(r"(?<!\\)\|")
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


class Block(NamedTuple):
    """
    A block of code.

    Attributes:
        line: Where it begins, from 1.
        needs: What there must be to run it, and is not here; empty if a test runs it.
    """

    language: str
    text: str
    line: int
    needs: str


def blocks(page: Path) -> Iterator[Block]:
    """All blocks of a page."""
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        indent = found["indent"]
        inside = "".join(row.removeprefix(indent) for row in found["text"].splitlines(True))
        yield Block(found["language"], inside, line, found["needs"] or "")


def fences(page: Path) -> int:
    """How many blocks a page opens, in whatever form."""
    return len(re.findall(r"^[ >]*(?:```|~~~)", page.read_text(), re.MULTILINE)) // 2


def prose(page: Path) -> str:
    """A page without its blocks."""
    return _BLOCK.sub("", page.read_text())


def links(page: Path) -> Iterator[str]:
    """Where the links of a page lead."""
    return (found["target"] for found in _LINK.finditer(prose(page)))


def anchors(page: Path) -> set[str]:
    """What can be linked to in a page, as GitHub makes it of the headings."""
    return {
        _NOT_IN_ANCHORS.sub("", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(prose(page))
    }


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every row of the tables in a text, without their headings."""
    lines = text.splitlines()
    for before, line in pairwise(["", *lines]):
        if line.startswith("| ") and not _RULE.match(line) and before.startswith("|"):
            yield [cell.strip() for cell in _BAR.split(line)[1:-1]]


def name(page: Path) -> str:
    """A page as people call it."""
    return str(page.relative_to(ROOT))
