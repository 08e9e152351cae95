"""Lines and tables for people; coloured on a terminal, unless NO_COLOR is set."""

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import NoReturn, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from webhook.cli.exits import UnreadError
from webhook.cli.output import printable


class Style(StrEnum):
    """Colours, by meaning."""

    PLAIN = ""
    PLACE = "bold"
    BAD = "red"
    DOUBTFUL = "yellow"
    GOOD = "green"
    HINT = "cyan"


class _Console(Console):
    """One that leaves it to us what a reader that is gone means; rich would exit with 1."""

    def on_broken_pipe(self) -> NoReturn:
        """Tell it as any other writer does."""
        raise UnreadError


class Terminal:
    """Stdout, as people read it; or a text that is written as if it were."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """
        Look whether it is a terminal, and how wide.

        Args:
            stream: Instead of stdout.
        """
        stream = stream or sys.stdout
        self._console = _Console(file=stream, highlight=False, markup=False, emoji=False)

    @contextmanager
    def together(self) -> Generator[None]:
        """Write what is written meanwhile in one piece, so that no log line comes in between."""
        with self._console:
            yield

    def line(self, *parts: str | tuple[str, Style]) -> None:
        """Write one line of parts, some with a style; it is never wrapped."""
        pairs = (part if isinstance(part, tuple) else (part, Style.PLAIN) for part in parts)
        text = Text.assemble(*((printable(said), str(style)) for said, style in pairs))
        self._console.print(text, soft_wrap=True)

    def lines(self, lines: Iterable[Sequence[tuple[str, Style]]]) -> None:
        """Write many lines, each as ``line`` does; without colours that takes a tenth as long."""
        if self._console.color_system is None:
            said = ("".join(printable(text) for text, _ in line) for line in lines)
            self._console.file.writelines(f"{line}\n" for line in said)
            return
        for line in lines:
            self.line(*line)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Write columns, as wide as what stands in them; a narrow terminal wraps their lines."""
        lines = [headings, *rows]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        for number, cells in enumerate(lines):
            padded = (set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=True))
            said = "  ".join(padded).rstrip()
            self.line("  ", (said, Style.PLAIN if number else Style.PLACE))
