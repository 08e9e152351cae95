import os

import click
import pytest

from webhook.cli.inputs.factpaths import DEPRECATION, facts_options

# arguments, value, message on stderr
PATHS = {
    "none": ([], (), ""),
    "several": (["--facts", "a", "--facts", "b"], ("a", "b"), ""),
    "the deprecated spelling": (["--cluster", "a", "--cluster", "b"], ("a", "b"), DEPRECATION),
    "both spellings": (["--facts", "b", "--cluster", "a"], ("a", "b"), DEPRECATION),
}


COMMAND = click.Command("c", params=[*facts_options("Facts.")])


def parse(*arguments: str) -> click.Context:
    prefix = {"auto_envvar_prefix": "EVENSPREAD"}
    return COMMAND.make_context("c", list(arguments), None, **prefix)


@pytest.mark.parametrize(("arguments", "value", "err"), PATHS.values(), ids=PATHS.keys())
def test_all_values_count(
    arguments: list[str], value: tuple[str, ...], err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse(*arguments).params == {"facts": value}
    assert capsys.readouterr().err.strip() == err


@pytest.mark.parametrize("variable", ["EVENSPREAD_FACTS", "EVENSPREAD_CLUSTER"])
def test_a_variable_holds_several_paths(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, os.pathsep.join(("a", "b")))

    assert parse().params == {"facts": ("a", "b")}


def test_the_help_shows_only_the_new_spelling() -> None:
    shown = COMMAND.get_help(parse())

    assert "--facts PATH" in shown
    assert "--cluster" not in shown
