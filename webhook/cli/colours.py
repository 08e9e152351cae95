"""
Coloured lines on a terminal: ``StyledConsole``.

This module loads rich's console, which takes 20 ms; ``terminal`` imports it for a terminal only.
"""

from collections.abc import Iterable
from typing import NoReturn, TextIO

from rich.console import Console
from rich.text import Text

from webhook.cli.exits import ClosedOutputError
from webhook.policy.escape import printable


class StyledConsole(Console):
    """Console that raises an error of ours for a closed pipe; rich would exit with 1."""

    def __init__(self, stream: TextIO) -> None:
        """Detect the colours and the width of a stream; markup and emoji names are plain text."""
        super().__init__(file=stream, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error that other writers raise."""
        raise ClosedOutputError

    def write_line(self, parts: Iterable[tuple[str, str]]) -> None:
        """Write one unwrapped line of parts, each with a style of rich."""
        text = Text.assemble(*((printable(words), style) for words, style in parts))
        self.print(text, soft_wrap=True)
