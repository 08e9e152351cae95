import sys

import pytest

from tests.cli.conftest import Screen
from webhook.cli.progress import progress_bar

SHOWS_CURSOR = "\x1b[?25h"
ERASES_LINE = "\x1b[2K"


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "NOTHING"])
def test_without_a_terminal_there_is_no_progress_bar(
    variable: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    with progress_bar() as bar:
        task = bar.add_task("reading", total=None)
        bar.update(task, advance=1)
        assert list(bar.track([1, 2], "counting")) == [1, 2]

    assert capsys.readouterr().err == ""


def show_stderr(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Make stderr a terminal, wide enough for the bars; pytest resets that of a fixture."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("CI", "TTY_INTERACTIVE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_a_bar_shows_what_is_completed_and_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = show_stderr(monkeypatch)

    with progress_bar() as bar:
        bar.add_task("reading", total=None)
        task = bar.add_task("listing", total=4)
        bar.update(task, description="Pods", completed=1)
        bar.update(task, advance=2)

    assert "reading" in screen.getvalue()
    assert "Pods" in screen.getvalue()
    assert "75%" in screen.getvalue()
    assert screen.getvalue().endswith(ERASES_LINE)


def test_items_are_taken_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = show_stderr(monkeypatch)

    with progress_bar() as bar:
        assert list(bar.track([1, 2], "counting")) == [1, 2]

    assert "counting" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_a_stopped_bar_shows_the_cursor_until_it_starts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = show_stderr(monkeypatch)

    with progress_bar() as bar:
        bar.add_task("reading", total=None)
        bar.stop()
        assert screen.getvalue().count(SHOWS_CURSOR) == 1
        bar.start()

    assert screen.getvalue().count(SHOWS_CURSOR) == 2
