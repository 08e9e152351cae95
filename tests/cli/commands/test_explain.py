import click
import pytest

from tests.cli.commands.signatures import assert_options_fit
from webhook.cli.commands.explain import command


def test_the_function_takes_all_options() -> None:
    assert_options_fit(command)


# arguments, the subjects, and what to simulate
WHAT_IFS: dict[str, tuple[list[str], list[str], str]] = {
    "nothing": (["deploy/web"], ["deploy/web"], ""),
    "a flag before a subject": (["--what-if", "deploy/web"], ["deploy/web"], "replicas"),
    "a flag at the end": (["deploy/web", "--what-if"], ["deploy/web"], "replicas"),
    "a flag before an option": (["--what-if", "-n", "shop", "a/b"], ["a/b"], "replicas"),
    "a rollout": (["deploy/web", "--what-if", "rollout"], ["deploy/web"], "rollout"),
    "a rollout before a subject": (["--what-if", "rollout", "a/b"], ["a/b"], "rollout"),
    "a kind in place of a value": (["--what-if", "rollouts", "a"], ["rollouts", "a"], "replicas"),
    "a pod in place of a value": (["--what-if", "rollout-1"], ["rollout-1"], "replicas"),
    "in one argument": (["--what-if=rollout", "a/b"], ["a/b"], "rollout"),
    "by its name": (["--what-if=replicas", "a/b"], ["a/b"], "replicas"),
    "after the end of options": (["--", "--what-if"], ["--what-if"], ""),
}


@pytest.mark.parametrize(("arguments", "subjects", "value"), WHAT_IFS.values(), ids=WHAT_IFS.keys())
def test_what_if_has_an_optional_value(
    arguments: list[str], subjects: list[str], value: str
) -> None:
    context = command.make_context("explain", arguments)

    assert list(context.params["subject"]) == subjects
    assert context.params["what_if"] == value


@pytest.mark.parametrize(
    ("variable", "value"), [("1", "replicas"), ("false", ""), ("rollout", "rollout")]
)
def test_the_environment_may_have_a_flag(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENSPREAD_WHAT_IF", variable)

    assert command.make_context("explain", ["a/b"]).params["what_if"] == value


def test_another_value_is_an_error() -> None:
    with pytest.raises(click.BadParameter, match="'all' is not known"):
        command.make_context("explain", ["--what-if=all"])


@pytest.mark.parametrize("word", ["rolout", "rolluot", "Rollout"])
def test_a_type_error_of_the_value_is_an_error(word: str) -> None:
    with pytest.raises(click.BadParameter, match="did you mean --what-if rollout"):
        command.make_context("explain", ["deploy/web", "--what-if", word])
