import pytest

from tests.cli.conftest import Run

MISSING_FLAGS = {
    "a file without -f": (("validate", "pod.yaml"), "Name what to read, as in `-f manifests/`"),
    "no argument at all": (("fix",), "Name what to read, as in `-f manifests/`"),
    "files that a shell expanded": (
        ("audit", "-f", "a.yaml", "b.yaml"),
        "unexpected extra argument (b.yaml). Write -f before every file, or name their folder.",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), MISSING_FLAGS.values(), ids=MISSING_FLAGS.keys())
def test_files_are_named_by_their_flag(run: Run, arguments: tuple[str, ...], message: str) -> None:
    ran = run(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


OTHERS = {
    "a missing argument that is no file": (("test",), "Missing argument 'DIR...'"),
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
