import io
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Screen
from webhook.cli.exits import ClosedOutputError
from webhook.cli.terminal import Style, Terminal, cut_names, is_animated


class ClosedPipe(io.StringIO):
    """A stream whose reader is gone."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_a_table_has_columns_as_wide_as_their_widest_cell() -> None:
    text = io.StringIO()

    Terminal(text).table(("a", "bb"), [("ccc", "d"), ("e", "")])

    assert text.getvalue() == "  a    bb\n  ccc  d\n  e\n"


LONG = ("pool-of-machines-1a2b-x7k2", "pool-of-machines-1a2b-p0q9")


def _table(stream: io.StringIO, fewest: int = 4) -> list[str]:
    Terminal(stream).table(("node", "score"), [(name, "100") for name in LONG], {0: fewest})
    return stream.getvalue().splitlines()


def test_a_narrow_terminal_cuts_the_names_of_a_table_in_the_middle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "21")
    monkeypatch.setenv("NO_COLOR", "1")

    assert _table(Screen())[1:] == ["  pool-…b-x7k2  100", "  pool-…b-p0q9  100"]


def test_names_keep_their_fewest_cells_in_a_terminal_that_wraps_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("NO_COLOR", "1")

    assert _table(Screen(), fewest=16)[1] == "  pool-of…a2b-x7k2  100"


# name of what is written to, its stream, its width
UNCUT: dict[str, tuple[io.StringIO, str]] = {
    "a pipe": (io.StringIO(), "20"),
    "a wide terminal": (Screen(), "35"),
}


@pytest.mark.parametrize(("stream", "columns"), UNCUT.values(), ids=UNCUT.keys())
def test_names_are_not_cut_where_there_is_space_for_them(
    stream: io.StringIO, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("NO_COLOR", "1")

    assert _table(stream)[1] == f"  {LONG[0]}  100"


# names, cells, what is left of them
CUT: dict[str, tuple[list[str], int, list[str]]] = {
    "nothing": ([], 3, []),
    "short names": (["a", "abc"], 3, ["a", "abc"]),
    "different ends": (["abcdefg", "abcdefh"], 3, ["a…g", "a…h"]),
    "one cell": (["abc"], 1, ["…"]),
    "different only in the middle": (["abcXefg", "abcYefg"], 3, ["abcXefg", "abcYefg"]),
    "different beside the middle": (["abXdefgh", "abYdefgh"], 4, ["abX…fgh", "abY…fgh"]),
    "the same name twice": (["abcdefg", "abcdefg"], 3, ["a…g", "a…g"]),
}


@pytest.mark.parametrize(("names", "cells", "left"), CUT.values(), ids=CUT.keys())
def test_names_are_cut_in_the_middle_and_stay_different(
    names: list[str], cells: int, left: list[str]
) -> None:
    assert cut_names(names, cells) == left


@given(st.lists(st.text("ab", max_size=9)), st.integers(1, 10))
def test_equal_names_stay_equal_and_others_different(names: list[str], cells: int) -> None:
    cut = cut_names(names, cells)

    assert len(set(zip(names, cut, strict=True))) == len(set(names)) == len(set(cut))


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


@pytest.mark.parametrize("stream", [Screen, io.StringIO])
def test_lines_that_belong_together_are_written_before_an_error(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    text = stream()

    with suppress(KeyError):
        _write_and_fail(Terminal(text))

    assert text.getvalue() == "a\nb\n"


def _write_and_fail(terminal: Terminal) -> None:
    with terminal.together():
        terminal.line("a")
        with terminal.together():
            terminal.line("b")
        raise KeyError


STYLED = (("pod ", Style.PLAIN), ("web\t[b]:x: 1 ", Style.PLACE), ("日本\x1b" * 40, Style.BAD))


@pytest.mark.parametrize("variable", ["NOTHING", "TTY_COMPATIBLE"])
def test_a_file_has_the_same_text_with_and_without_a_console(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv(variable, "0")
    text = io.StringIO()

    Terminal(text).line(*STYLED)
    Terminal(text).lines([STYLED])
    Terminal(text).line()

    line = "pod web\\t[b]:x: 1 " + "日本\\x1b" * 40 + "\n"
    assert text.getvalue() == f"{line}{line}\n"


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
