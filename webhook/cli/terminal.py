"""
Lines and tables for people, coloured on a terminal unless NO_COLOR is set.

``Terminal`` writes them. It loads rich's console for a terminal only: for a file or a pipe, the
lines are plain text.
"""

import io
import os
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len, set_cell_size

from webhook.cli.exits import ClosedOutputError
from webhook.policy.escape import printable

if TYPE_CHECKING:
    from webhook.cli.colours import StyledConsole

_GAP = "  "  # before each column
_NEVER_CUT: Mapping[int, int] = MappingProxyType({})
_FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE")  # variables that make rich colour a file


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


class Terminal:
    """Writer of styled lines to stdout, or to another text stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Detect whether the stream, by default stdout, is a terminal, and its width."""
        self._stream = stream or sys.stdout
        self._console = _open_console(self._stream)

    @contextmanager
    def together(self) -> Generator[None]:
        """Write all output of the context at once, so that no log line interrupts it."""
        if self._console is not None:
            with self._console:
                yield
            return
        stream, self._stream = self._stream, io.StringIO()
        try:
            yield
        finally:
            collected, self._stream = self._stream.getvalue(), stream
            self._write(collected)

    def line(self, *parts: str | tuple[str, Style]) -> None:
        """Write one unwrapped line of parts, each with an optional style."""
        pairs = [part if isinstance(part, tuple) else (part, Style.PLAIN) for part in parts]
        if self._console is None:
            self._write(_join_plain(pairs))
        else:
            self._console.write_line((words, str(style)) for words, style in pairs)

    def lines(self, lines: Iterable[Sequence[tuple[str, Style]]]) -> None:
        """Write many lines as ``line`` does; without colours, in a tenth of the time."""
        if self._console is None or self._console.color_system is None:
            self._stream.writelines(map(_join_plain, lines))
            return
        for line in lines:
            self.line(*line)

    def _write(self, text: str) -> None:
        """Write plain text at once, as rich does: other streams may be the same file."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError as error:
            raise ClosedOutputError from error

    def table(
        self,
        headings: Sequence[str],
        rows: Iterable[Sequence[str]],
        narrowest: Mapping[int, int] = _NEVER_CUT,
    ) -> None:
        """
        Write columns as wide as their widest cell; a narrow terminal wraps the lines.

        Args:
            narrowest: Index of a column of names -> the cells that they keep if a terminal is too
                narrow for the table, which then cuts them. Other columns are never cut.
        """
        lines = [headings, *([printable(cell) for cell in cells] for cells in rows)]
        for column, fewest in narrowest.items():
            lines = self._cut_column(lines, column, fewest)
        widths = _measure_columns(lines)
        for number, cells in enumerate(lines):
            padded = (set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=True))
            text = _GAP.join(padded).rstrip()
            self.line(_GAP, (text, Style.PLAIN if number else Style.PLACE))

    def _cut_column(
        self, lines: Sequence[Sequence[str]], column: int, fewest: int
    ) -> list[Sequence[str]]:
        """Cut the names of a column by what a terminal is too narrow for the table."""
        if self._console is None or not self._stream.isatty():
            return list(lines)
        widths = _measure_columns(lines)
        excess = len(_GAP) * len(widths) + sum(widths) - self._console.width
        if excess <= 0:
            return list(lines)
        names = cut_names([cells[column] for cells in lines], max(widths[column] - excess, fewest))
        return [
            (*cells[:column], name, *cells[column + 1 :])
            for cells, name in zip(lines, names, strict=True)
        ]


def _open_console(stream: TextIO) -> "StyledConsole | None":
    """Open rich's console on a stream; None if it would write plain text."""
    if not (stream.isatty() or any(name in os.environ for name in _FORCING)):
        return None
    # Imported for a terminal only: it takes 20 ms.
    from webhook.cli.colours import StyledConsole  # noqa: PLC0415

    return StyledConsole(stream)


def _join_plain(parts: Iterable[tuple[str, Style]]) -> str:
    return f"{''.join(printable(words) for words, _ in parts)}\n"


def _measure_columns(lines: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(*lines, strict=True)]


def cut_names(names: Sequence[str], cells: int) -> list[str]:
    """
    Cut long names in the middle, for names of one cluster often begin alike.

    Args:
        cells: The most cells of a name, at least 1. Names that would become equal keep more.
    """
    distinct = len(set(names))
    longest = max(map(len, names), default=0)
    for kept in range(cells, longest):
        cut = [_cut_middle(name, kept) for name in names]
        if len(set(cut)) == distinct:
            return cut
    return list(names)


def _cut_middle(name: str, cells: int) -> str:
    tail = cells // 2
    return name if len(name) <= cells else f"{name[: cells - 1 - tail]}…{name[len(name) - tail :]}"
