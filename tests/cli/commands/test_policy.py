from tests.cli.commands.signatures import assert_options_fit
from webhook.cli.commands.policy import command


def test_the_function_takes_all_options() -> None:
    assert_options_fit(command.commands["diff"])
