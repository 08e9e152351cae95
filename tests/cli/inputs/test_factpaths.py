import os
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Run
from tests.cli.files import POD
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


# command, options before the path
NAMED = {
    "validate": ("-f",),
    "audit": ("-f",),
    "explain": ("-f", "own.yaml", "--facts"),
    "fix": ("--diff", "-f"),
    "test": (),
}


@pytest.mark.parametrize(("command", "options"), NAMED.items(), ids=NAMED.keys())
def test_whether_a_path_can_be_read_is_found_when_it_is_read(
    folder: Path, run: Run, command: str, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """access(2) may deny what open(2) allows, as on NFS; root cannot have that here otherwise."""
    (folder / "own.yaml").write_text(POD)
    (folder / "named.yaml").write_text(POD)
    monkeypatch.setattr(os, "access", lambda *_: False)

    ran = run(command, *options, "named.yaml")

    assert "not readable" not in ran.err
    assert "Usage" not in ran.err
