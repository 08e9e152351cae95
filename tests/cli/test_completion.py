import pytest

from tests.cli.conftest import Run

STARTS = {
    "bash": "_evenspread_completion() {",
    "zsh": "#compdef evenspread",
    "fish": "function _",
}


@pytest.mark.parametrize(("shell", "start"), STARTS.items())
def test_a_completion_script_is_printed(shell: str, start: str, run: Run) -> None:
    ran = run("completion", shell)

    assert ran.code == 0
    assert ran.out.startswith(start)
    assert "_EVENSPREAD_COMPLETE" in ran.out


def test_an_unknown_shell_is_an_error(run: Run) -> None:
    assert run("completion", "cmd").code == 2
