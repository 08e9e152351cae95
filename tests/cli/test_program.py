import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run
from tests.cli.processes import EVENSPREAD, ROOT, interrupt, shell, spawn
from webhook import __version__
from webhook.__main__ import main
from webhook.cli.exits import ClosedOutputError, ExitCode
from webhook.cli.program import COMMANDS, program


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, f"evenspread {__version__}\n", "")


@pytest.mark.parametrize("argument", ["--help", "-h"])
def test_help_names_every_command_and_shows_an_example_of_it(argument: str, run: Run) -> None:
    out = run(argument).out

    commands, examples = out.split("\nCommands:\n")[1].split("\nExamples:\n")
    assert re.findall(r"^  (\w+)", commands, re.MULTILINE) == list(COMMANDS)
    assert [line.strip() for line in examples.splitlines()] == [
        row.example for row in COMMANDS.values()
    ]


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    ran = run()

    assert ran == (2, "", run("--help").out)


@pytest.mark.parametrize("group", ["config"])
def test_without_a_command_of_a_group_its_help_is_shown(group: str, run: Run) -> None:
    assert run(group) == (2, "", run(group, "--help").out)


def test_an_unknown_command_has_a_suggestion(run: Run) -> None:
    ran = run("validat")

    assert ran.code == 2
    assert "No such command 'validat'. Did you mean 'validate'?" in ran.err


HELP = """
import sys
from webhook.__main__ import main

main([*sys.argv[1:], "--help"])
print("imported:", *sys.modules)
"""

HEAVY = {"aiohttp", "cryptography", "jinja2", "kubernetes_asyncio", "pydantic", "rich"}
"""What takes most of the time of a command, and no help shows."""

WITHOUT_FILES = ("rules", "doctor", "certs")
"""Commands that read no manifests."""

HELPS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "the program": ((), HEAVY | {"msgspec", "yaml"}),
    "completion": (("completion",), HEAVY | {"msgspec", "yaml"}),
    "serve": (("serve",), HEAVY - {"pydantic"}),  # its options are the fields of the settings
    **{name: ((name,), HEAVY) for name in COMMANDS if name not in ("completion", "serve")},
    **{name: ((name,), HEAVY | {"yaml"}) for name in WITHOUT_FILES},
    "config check": (("config", "check"), HEAVY),
    "certs rotate": (("certs", "rotate"), HEAVY | {"yaml"}),
    "certs revoke": (("certs", "revoke"), HEAVY | {"yaml"}),
}
"""Arguments -> modules that their help must not import."""


@pytest.mark.parametrize(("arguments", "heavy"), HELPS.values(), ids=HELPS.keys())
def test_help_imports_nothing_heavy(arguments: tuple[str, ...], heavy: set[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    out = subprocess.run(
        [sys.executable, "-c", HELP, *arguments],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    ).stdout

    shown, _, modules = out.rpartition("imported:")
    assert shown.startswith("Usage: ")
    assert heavy.isdisjoint(modules.split())


RUN = """
import sys
from webhook.__main__ import main

code = main(sys.argv[1:])
print("imported:", *sys.modules)
sys.exit(code)
"""

SHOP = str(ROOT / "docs" / "walkthrough" / "shop.yaml")

UNUSED = {"asyncio", "jinja2", "pydantic", "pydantic_settings", "rich.console", "ssl"}
"""What reads a configuration, writes a page or colours, or speaks with an API server."""

WITHOUT_CONFIGURATION: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "validate": (("validate", "-f", SHOP), UNUSED | {"webhook.policy.verdict"}),
    "audit": (("audit", "-f", SHOP), UNUSED),
    "explain": (("explain", "-n", "shop", "-f", SHOP), UNUSED),
    "fix": (("fix", "-f", SHOP, "--diff"), UNUSED),
    "review": (("review", "-f", SHOP), UNUSED),
    "rebalance": (("rebalance", "-n", "shop", "--facts", SHOP), UNUSED),
    "export": (("export", "vap"), UNUSED),
    "rules": (("rules", "TSC101"), UNUSED),
    "config check": (("config", "check"), UNUSED),
}
"""Arguments -> modules that the command must not import without a configuration."""


@pytest.mark.parametrize(
    ("arguments", "heavy"), WITHOUT_CONFIGURATION.values(), ids=WITHOUT_CONFIGURATION.keys()
)
def test_a_command_of_files_imports_neither_models_nor_a_client(
    arguments: tuple[str, ...], heavy: set[str], folder: Path
) -> None:
    """They take longer to import than most manifests to read."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
    )

    assert ran.returncode in (ExitCode.FINE, ExitCode.FINDINGS)
    modules = ran.stdout.rpartition("imported:")[2].split()
    assert f"webhook.cli.commands.{arguments[0]}" in modules
    assert heavy.isdisjoint(modules)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_name_of_its_row(command: str) -> None:
    found = program.get_command(
        program.make_context("evenspread", ["--help"], resilient_parsing=True), command
    )

    assert found is not None
    assert found.name == command


def test_a_plugin_of_kubectl_has_its_name_in_the_help(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-evenspread"])

    assert run("--help").out.startswith("Usage: kubectl evenspread ")


def test_a_variable_that_is_no_flag_is_ignored(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENSPREAD_VERSION", "1.2.3")

    assert run("--help").code == 0


END = """
import gc, sys
from webhook.__main__ import main

sys.argv = ["evenspread", "--version"]
main()
print("exempt:", gc.get_freeze_count() > 0)
"""


def test_a_process_searches_for_no_garbage_at_its_end() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", END],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )

    assert ran.stdout.endswith("exempt: True\n")


def test_the_program_runs_as_a_process(folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)

    with spawn(folder, "validate", "-f", "pod.yaml") as process:
        out, err = process.communicate()

    assert (process.returncode, err) == (1, b"")
    assert out.startswith(b"pod.yaml:11: Pod shop/web-1: denied: ")


def test_a_working_directory_may_be_deleted(folder: Path) -> None:
    (folder / "gone").mkdir()
    (folder / "pod.yaml").write_text(files.POD)
    arguments = (*EVENSPREAD, "validate", "-f", str(folder / "pod.yaml"))

    ran = shell(folder, f"cd gone && rmdir ../gone && {shlex.join(arguments)}")

    assert ran.returncode == 3
    assert ran.stderr == (
        b"error: the working directory does not exist any more: change to another one\n"
    )


def test_an_interrupted_program_writes_nothing(folder: Path) -> None:
    pipe = folder / "pods.yaml"
    os.mkfifo(pipe)

    with spawn(folder, "validate", "-f", "pods.yaml") as process:
        with pipe.open("wb"):  # returns as soon as the program reads
            interrupt(process)
        out, err = process.communicate()

    assert (process.returncode, out, err.strip()) == (130, b"", b"")


COMPLETIONS = {
    "commands": ("evenspread ", set(COMMANDS)),
    "the start of a command": ("evenspread val", {"validate"}),
    "a flag": ("evenspread validate --kube", {"--kube-version"}),
    "a value": ("evenspread review --hook ", {"mutate", "validate", "both"}),
    "a command of a group": ("evenspread config ", {"check"}),
}


@pytest.mark.parametrize(("line", "expected"), COMPLETIONS.values(), ids=COMPLETIONS.keys())
def test_shells_complete_commands_flags_and_values(
    line: str,
    expected: set[str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("_EVENSPREAD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))

    code = main([])

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert {entry.partition(",")[2] for entry in out.splitlines()} == expected


def test_a_text_nested_too_deeply_is_no_traceback(run: Run) -> None:
    ran = run("review", "-f", "-", stdin=b"[" * 5000)

    assert ran.code == 3
    assert "Traceback" not in ran.err


def test_commands_are_listed_in_the_order_of_the_documentation() -> None:
    with program.make_context("evenspread", [], resilient_parsing=True) as context:
        assert program.list_commands(context) == list(COMMANDS)


class ClosedPipe(io.StringIO):
    """A stream whose reader is gone."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_a_closed_output_of_a_command_is_an_error_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", ClosedPipe())

    with pytest.raises(ClosedOutputError):
        program.main(["completion", "bash"], standalone_mode=False)
