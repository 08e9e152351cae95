"""Values that shells complete."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from tests.cli.kubeconfigs import KUBECONFIG
from webhook.cli.completers import completer
from webhook.cli.inputs.clusternames import find_namespaces
from webhook.cli.program import program

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def stderr() -> Iterator[None]:
    """Restore the standard error, which a process that completes discards for good."""
    kept = os.dup(2)
    yield
    os.dup2(kept, 2)
    os.close(kept)


def complete(*args: str) -> list[str]:
    """The values for the last argument."""
    *before, incomplete = args
    shell = ShellComplete(program, {}, "evenspread", "_EVENSPREAD_COMPLETE")
    return [item.value for item in shell.get_completions(before, incomplete)]


# arguments, some of the values
VALUES: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "a rule": (("audit", "--rules", "TSC10"), ["TSC101", "TSC107"]),
    "a rule in small letters": (("audit", "--rules", "tsc10"), ["TSC101"]),
    "a rule after others": (("fix", "--rules", "TSC001,TSC11"), ["TSC001,TSC110"]),
    "a rule to leave out": (("audit", "--exclude-rules", "TSC"), ["TSC001"]),
    "a rule to explain": (("validate", "--explain", "TSC00"), ["TSC001"]),
    "a rule of the catalogue": (("rules", "TSC00"), ["TSC001"]),
    "a format of an audit": (("audit", "-o", "s"), ["sarif"]),
    "a format": (("validate", "-o", ""), ["table", "json", "yaml"]),
    "a severity": (("audit", "--fail-on", "n"), ["never"]),
    "a gate": (
        ("review", "--feature-gates", "EvenPodsSpread=true,Min"),
        ["EvenPodsSpread=true,MinDomainsInPodTopologySpread=false"],
    ),
    "a version": (("validate", "--kube-version", "1.3"), ["1.30"]),
    "a command": (("va",), ["validate"]),
    "a shell": (("completion", "z"), ["zsh"]),
}


@pytest.mark.parametrize(("args", "values"), VALUES.values(), ids=VALUES.keys())
def test_values_are_completed(args: tuple[str, ...], values: list[str]) -> None:
    found = complete(*args)

    assert set(values) <= set(found)
    assert all(value.lower().startswith(args[-1].lower()) for value in found)


@pytest.mark.usefixtures("api")
def test_contexts_are_those_of_the_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")

    assert complete("audit", "--context", "") == ["x"]
    assert complete("audit", "--kubeconfig", "kubeconfig", "--context", "x") == ["x"]
    assert complete("audit", "--context", "y") == []


CONTEXT = click.Context(click.Command("x"))
PATIENCE_S = 300.0  # for what takes seconds, on a machine that does other work


def test_without_a_cluster_namespaces_are_those_of_the_kubeconfig(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "kubeconfig").write_text(KUBECONFIG % "echo canary >&2; exit 1")
    CONTEXT.params = {"kubeconfig": "kubeconfig"}
    handler = signal.getsignal(signal.SIGALRM)

    found = find_namespaces(CONTEXT, 0.5)
    completed = complete("audit", "--kubeconfig", "kubeconfig", "-n", "s")

    assert found == [("shop", "")]
    assert completed == ["shop"]
    assert capfd.readouterr() == ("", "")
    assert signal.getsignal(signal.SIGALRM) is handler


def run_completion(*python: str, words: str) -> tuple[int, str, str]:
    """Complete the last of some words in a process; return its exit code, output and errors."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_EVENSPREAD_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    ran = subprocess.run(
        [sys.executable, *python],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_a_cluster_that_does_not_answer_is_not_waited_for(folder: Path) -> None:
    (folder / "kubeconfig").write_text(KUBECONFIG % "echo canary >&2; exec sleep 600")

    ran = run_completion("-m", "webhook", words="evenspread audit --kubeconfig kubeconfig -n s")

    assert ran == (0, "plain,shop\n", "")


WRITES_AT_EXIT = """\
import atexit, os, sys
from webhook.__main__ import main

atexit.register(os.write, 2, b"canary")
sys.exit(main())
"""


@pytest.mark.usefixtures("folder")
def test_a_process_that_completes_writes_no_error_even_when_it_ends() -> None:
    ran = run_completion("-c", WRITES_AT_EXIT, words="evenspread audit --rules TSC101")

    assert ran == (0, "plain,TSC101\n", "")


BROKEN = {"no file": None, "no YAML": "a: [", "no kubeconfig": "[1]", "other values": "contexts: 1"}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("flag", ["--context", "--namespace"])
def test_no_error_reaches_the_shell(
    text: str | None, flag: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (folder / "kubeconfig").write_text(text)

    assert complete("audit", "--kubeconfig", "kubeconfig", flag, "") == []
    assert capfd.readouterr() == ("", "")


def test_what_a_program_writes_to_stderr_is_lost(capfd: pytest.CaptureFixture[str]) -> None:
    def find(_ctx: click.Context) -> list[tuple[str, str]]:
        os.write(2, b"canary")
        raise ValueError("canary")

    assert completer(find)(CONTEXT, click.Option(["--a"]), "") == []
    os.write(2, b"later, as a thread does")
    assert capfd.readouterr().err == ""


SCRIPTS = {
    "bash": (
        "source <(evenspread completion bash); COMP_WORDS=(evenspread audit --rules TSC10); "
        'COMP_CWORD=3; _evenspread_completion evenspread; printf "%s\\n" "${COMPREPLY[@]}"'
    ),
    "zsh": (
        "compdef() { :; }; compadd() { :; }; _describe() { print -l ${(P)3}; }; "
        "words=(evenspread audit --rules TSC10); CURRENT=4; funcstack=(x); "
        "source <(evenspread completion zsh); _evenspread_completion"
    ),
    "fish": ("evenspread completion fish | source; complete -C 'evenspread audit --rules TSC10'"),
}


@pytest.mark.parametrize(("shell", "script"), SCRIPTS.items())
def test_the_script_of_a_shell_completes(shell: str, script: str, folder: Path) -> None:
    path: str | None = shutil.which(shell)
    if path is None:
        # Nothing here, CI included, installs packages of the system: only bash is always there,
        # since `make` runs in it.
        assert shell != "bash"
        pytest.skip(f"{shell} is not installed")
    program_file = folder / "evenspread"
    program_file.write_text(f'#!/bin/sh\nexec {sys.executable} -m webhook "$@"\n')
    program_file.chmod(program_file.stat().st_mode | stat.S_IXUSR)
    environ: dict[str, Any] = {
        **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
    }  # fmt: skip

    ran = subprocess.run(
        [path, "-c", script], env=environ, capture_output=True, text=True, check=False
    )

    assert "TSC101" in ran.stdout
    assert "TSC001" not in ran.stdout
    assert ran.stderr == ""
