import gc
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Run
from webhook.cli.command import Command, ImportedFunction

MISSING_FLAGS = {
    "no argument at all": (("fix",), "Name what to read, as in `-f manifests/`"),
    "files that a shell expanded": (
        ("scaledown", "-f", "a.yaml", "b.yaml"),
        "unexpected extra argument (b.yaml). Write -f before every file, or name their folder.",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), MISSING_FLAGS.values(), ids=MISSING_FLAGS.keys())
def test_files_are_named_by_their_flag(run: Run, arguments: tuple[str, ...], message: str) -> None:
    ran = run(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


OTHERS = {
    "a missing argument that is no file": (("completion",), "Missing argument '{bash|zsh|fish}'"),
    "a stray argument of a command without files": (
        ("completion", "bash", "zsh"),
        "Got unexpected extra argument (zsh)\n",
    ),
    "an unknown option of a command with files": (
        ("validate", "-f", ".", "--magic"),
        "No such option '--magic'",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), OTHERS.values(), ids=OTHERS.keys())
def test_other_usage_errors_are_those_of_click(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    ran = run(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "-f" not in ran.err.splitlines()[-1]


@pytest.mark.parametrize("arguments", [("validate",), ("config",), ("config", "check")])
def test_the_help_ends_with_examples_that_are_not_wrapped(
    run: Run, arguments: tuple[str, ...]
) -> None:
    examples = run(*arguments, "--help").out.partition("\nExamples:\n")[2].splitlines()

    command = " ".join(("evenspread", *arguments))
    assert any(line.strip().startswith(command) for line in examples)


@pytest.mark.parametrize("arguments", [["-n", "a", "-n", "b"], ["--namespace=a", "-na"]])
def test_an_option_for_one_value_may_be_given_once(arguments: list[str]) -> None:
    command = Command("c", examples=(), params=[click.Option(["-n", "--namespace"])])

    with pytest.raises(click.UsageError, match="--namespace is given several times, but takes one"):
        command.make_context("c", arguments)


def test_the_last_value_of_a_server_wins() -> None:
    command = Command("c", examples=(), params=[click.Option(["--port"])], last_value_wins=True)

    assert command.make_context("c", ["--port", "1", "--port", "2"]).params == {"port": "2"}


def test_flags_and_options_for_several_values_may_be_repeated() -> None:
    params = [click.Option(["-q"], is_flag=True), click.Option(["--rule"], multiple=True)]
    command = Command("c", examples=(), params=[*params])

    made = command.make_context("c", ["-q", "-q", "--rule", "a", "--rule", "b"])

    assert made.params == {"q": True, "rule": ("a", "b")}


def test_different_options_may_be_given_together() -> None:
    params = [click.Option(["--name"]), click.Option(["--port"])]
    command = Command("c", examples=(), params=[*params])

    made = command.make_context("c", ["--name", "a", "--port", "1"])

    assert made.params == {"name": "a", "port": "1"}


NOTING = """
import gc

SEARCHES = gc.isenabled()


def searches() -> bool:
    return SEARCHES
"""


def test_a_function_is_imported_without_searches_for_garbage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "noting.py").write_text(NOTING)
    monkeypatch.syspath_prepend(tmp_path)

    assert ImportedFunction("noting:searches").load()() is False
    assert gc.isenabled()


def test_a_function_is_imported_when_it_is_called() -> None:
    absent = ImportedFunction("webhook.cli.absent:run")

    assert ImportedFunction("json:dumps")([1], indent=None) == "[1]"
    with pytest.raises(ModuleNotFoundError, match="absent"):
        absent()
