from typing import Any

import click
import pytest

from webhook.cli.command import Command
from webhook.cli.inputs.filepaths import file_options
from webhook.cli.inputs.kustomize import KustomizeFolder


def parse(*arguments: str, defaults: dict[str, Any] | None = None, **settings: bool) -> Any:
    command = Command("c", examples=(), params=file_options("Read", **settings))
    return command.make_context("c", list(arguments), default_map=defaults).params["filename"]


# arguments, value
PATHS = {
    "one file": (["-f", "a"], ("a",)),
    "two files": (["-f", "a", "-f", "-"], ("a", "-")),
    "words": (["a", "b"], ("a", "b")),
    "words and options": (["a", "-f", "b", "c"], ("b", "a", "c")),
    "a folder to build": (["-k", "base"], ("base",)),
    "the standard input as a file": (["/dev/fd/0", "-f", "/dev/stdin"], ("-", "-")),
    "all": (["-k", "base", "-f", "a", "b"], ("a", "b", "base")),
}


@pytest.mark.parametrize(("arguments", "value"), PATHS.values(), ids=PATHS.keys())
def test_all_files_are_one_value(arguments: list[str], value: tuple[str, ...]) -> None:
    assert parse(*arguments) == value


def test_a_folder_to_build_is_marked() -> None:
    built, plain = parse("-k", "base", "base")[::-1]

    assert isinstance(built, KustomizeFolder)
    assert not isinstance(plain, KustomizeFolder)


@pytest.mark.parametrize("arguments", [[], ["-f", "a"], ["a"], ["-k", "a"]])
def test_files_of_a_project_count_only_alone(arguments: list[str]) -> None:
    found = parse(*arguments, defaults={"filename": ("own",)})

    assert found == (("own",) if not arguments else ("a",))


def test_a_missing_file_is_a_usage_error() -> None:
    with pytest.raises(click.MissingParameter, match="Name what to read, as in `-f manifests/`"):
        parse()

    assert parse(required=False) == ()


def test_words_can_be_left_out() -> None:
    with pytest.raises(click.UsageError, match="Write -f before every file"):
        parse("-f", "b", "a", positional=False)


def test_completion_requires_no_file() -> None:
    command = Command("c", examples=(), params=file_options("Read"))

    assert command.make_context("c", [], resilient_parsing=True).params["filename"] == ()
