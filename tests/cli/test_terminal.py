import io

import pytest

from tests.cli.conftest import Screen
from webhook.cli.exits import ClosedOutputError
from webhook.cli.terminal import Style, Terminal, is_animated


class ClosedPipe(io.StringIO):
    """A stream whose reader is gone."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_a_table_has_columns_as_wide_as_their_widest_cell() -> None:
    text = io.StringIO()

    Terminal(text).table(("a", "bb"), [("ccc", "d"), ("e", "")])

    assert text.getvalue() == "  a    bb\n  ccc  d\n  e\n"


def test_lines_are_plain_without_a_terminal_and_unprintable_text_is_escaped() -> None:
    text = io.StringIO()

    Terminal(text).lines([[("a\x1b", Style.BAD), ("b", Style.PLAIN)]])

    assert text.getvalue() == "a\\x1bb\n"


def test_lines_are_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    text = Screen()

    Terminal(text).lines([[("a", Style.BAD)]])

    assert text.getvalue() == "\x1b[31ma\x1b[0m\n"


def test_lines_that_belong_together_are_written_at_once() -> None:
    text = io.StringIO()
    terminal = Terminal(text)

    with terminal.together():
        terminal.line("a")
        assert text.getvalue() == ""

    assert text.getvalue() == "a\n"


def test_a_closed_output_is_an_error_of_its_own() -> None:
    with pytest.raises(ClosedOutputError):
        Terminal(ClosedPipe()).line("a")


# variables, whether a terminal shows animations
ENVIRONMENTS: dict[str, tuple[dict[str, str], bool]] = {
    "a terminal": ({"TERM": "xterm-256color"}, True),
    "without colours": ({"TERM": "xterm", "NO_COLOR": "1"}, True),
    "of a kind that cannot move its cursor": ({"TERM": "dumb", "FORCE_COLOR": "1"}, False),
    "of an unknown kind": ({}, False),
    "whose output is the log of CI": ({"TERM": "xterm", "CI": "true"}, False),
}


@pytest.mark.parametrize(("environ", "shown"), ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_a_terminal_is_animated(
    environ: dict[str, str], *, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "CI", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert is_animated(Screen()) is shown


def test_a_log_is_not_animated_even_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert not is_animated(io.StringIO())
