import pytest

from tests.cli.commands.signatures import assert_options_fit
from tests.cli.conftest import Run
from webhook.cli.commands.certs import SHOW, command


def test_the_function_takes_all_options() -> None:
    assert_options_fit(command, SHOW)


@pytest.mark.parametrize("name", ["rotate", "revoke"])
def test_the_functions_of_the_group_take_all_options(name: str) -> None:
    assert_options_fit(command.commands[name])


def test_certificates_are_shown_unless_another_command_follows(run: Run) -> None:
    assert "state" in run("certs", "--state", "state").err
    assert run("certs", "--state", "state", "rotate", "--help").err == ""
