"""Lines and tables for people, coloured on a terminal unless NO_COLOR is set."""

import os
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import NoReturn, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from webhook.cli.exits import ClosedOutputError
from webhook.policy.escape import printable


def is_animated(stream: TextIO) -> bool:
    """
    Whether a stream shows animations: it is a terminal that can move its cursor, and no CI log.

    ``FORCE_COLOR`` forces colours, and nothing else.
    """
    known = os.environ.get("TERM", "").lower() not in ("", "dumb", "unknown")
    return stream.isatty() and known and not os.environ.get("CI")


class Style(StrEnum):
    """Colours, named by meaning."""

    PLAIN = ""
    PLACE = "bold"
    BAD = "red"
    DOUBTFUL = "yellow"
    GOOD = "green"
    HINT = "cyan"


class _Console(Console):
    """Console that raises an error of ours for a closed pipe; rich would exit with 1."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error that other writers raise."""
        raise ClosedOutputError


class Terminal:
    """Writer of styled lines to stdout, or to another text stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Detect whether the stream, by default stdout, is a terminal, and its width."""
        stream = stream or sys.stdout
        self._console = _Console(file=stream, highlight=False, markup=False, emoji=False)

    @contextmanager
    def together(self) -> Generator[None]:
        """Write all output of the context at once, so that no log line interrupts it."""
        with self._console:
            yield

    def line(self, *parts: str | tuple[str, Style]) -> None:
        """Write one unwrapped line of parts, each with an optional style."""
        pairs = (part if isinstance(part, tuple) else (part, Style.PLAIN) for part in parts)
        text = Text.assemble(*((printable(words), str(style)) for words, style in pairs))
        self._console.print(text, soft_wrap=True)

    def lines(self, lines: Iterable[Sequence[tuple[str, Style]]]) -> None:
        """Write many lines as ``line`` does; without colours, in a tenth of the time."""
        if self._console.color_system is None:
            plain = ("".join(printable(text) for text, _ in line) for line in lines)
            self._console.file.writelines(f"{line}\n" for line in plain)
            return
        for line in lines:
            self.line(*line)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Write columns as wide as their widest cell; a narrow terminal wraps the lines."""
        lines = [headings, *([printable(cell) for cell in cells] for cells in rows)]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        for number, cells in enumerate(lines):
            padded = (set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=True))
            text = "  ".join(padded).rstrip()
            self.line("  ", (text, Style.PLAIN if number else Style.PLACE))
