"""Markdown of generated sections."""

from collections.abc import Iterable, Sequence

NEXT = "\n\n"
"""Between two blocks."""


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format a table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", r"\|")


def code(text: object) -> str:
    """Format text as code; empty if it is empty."""
    return f"`{text}`" if str(text) else ""
