import pytest

from tests.cli.conftest import Screen
from webhook.cli.colours import StyledConsole
from webhook.cli.exits import ClosedOutputError


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow terminal with eight colours."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "10")


def test_a_line_has_the_styles_of_its_parts() -> None:
    screen = Screen()

    StyledConsole(screen).write_line([("pod ", ""), ("denied", "red"), (" here\n", "bold")])

    assert screen.getvalue() == "pod \x1b[31mdenied\x1b[0m\x1b[1m here\\n\x1b[0m\n"


def test_markup_emoji_names_and_numbers_are_plain_text() -> None:
    screen = Screen()

    StyledConsole(screen).write_line([("[red]:smile: 12[/red]", "")])

    assert screen.getvalue() == "[red]:smile: 12[/red]\n"


class ClosedScreen(Screen):
    """A terminal that is gone."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_a_closed_terminal_is_an_error_of_its_own() -> None:
    with pytest.raises(ClosedOutputError):
        StyledConsole(ClosedScreen()).write_line([("a", "")])
