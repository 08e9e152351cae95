from tests.cli.commands.signatures import assert_options_fit
from webhook.cli.commands.export import command


def test_the_function_takes_all_options() -> None:
    assert_options_fit(command)
