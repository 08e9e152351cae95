from tests.cli.commands.signatures import assert_options_fit
from tests.cli.conftest import Run
from webhook.cli.commands.validate import command


def test_the_function_takes_all_options() -> None:
    assert_options_fit(command)


def test_rules_are_explained(run: Run) -> None:
    assert run("validate", "--explain", "TSC006").out.startswith("TSC006: ")


def test_without_explain_a_file_is_required(run: Run) -> None:
    assert run("validate").code == 2
