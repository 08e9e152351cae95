import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run
from webhook import __version__
from webhook.__main__ import main
from webhook.cli.program import COMMANDS, program

ROOT = Path(__file__).parents[2]
EVENSPREAD = (sys.executable, "-m", "webhook")

HEAVY = ("aiohttp", "cryptography", "kubernetes_asyncio", "msgspec", "pydantic", "rich", "yaml")


def spawn(folder: Path, *args: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [*EVENSPREAD, *args],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=environment, capture_output=True, check=False
    )


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"evenspread {__version__}\n", "")


@pytest.mark.parametrize("argument", ["--help", "-h"])
def test_help_names_every_command_and_shows_an_example_of_it(argument: str, run: Run) -> None:
    out = run(argument).out

    commands, examples = out.split("\nCommands:\n")[1].split("\nExamples:\n")
    assert re.findall(r"^  (\w+)", commands, re.MULTILINE) == list(COMMANDS)
    assert [line.strip() for line in examples.splitlines()] == [
        row.example for row in COMMANDS.values()
    ]


def test_program_without_a_command_shows_its_help(run: Run) -> None:
    ran = run()

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: evenspread ")


def test_unknown_command(run: Run) -> None:
    ran = run("validat")

    assert ran.code == 2
    assert "No such command 'validat'. Did you mean 'validate'?" in ran.err


UNNAMED = {
    "a file without -f": (("validate", "pod.yaml"), "Name what to read, as in `-f manifests/`"),
    "nothing at all": (("fix",), "Name what to read, as in `-f manifests/`"),
    "what a shell makes of *.yaml": (
        ("audit", "-f", "a.yaml", "b.yaml"),
        "unexpected extra argument (b.yaml). Write -f before every file, or name their folder.",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), UNNAMED.values(), ids=UNNAMED.keys())
def test_files_are_named_by_their_flag(run: Run, arguments: tuple[str, ...], said: str) -> None:
    ran = run(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_help_imports_nothing_heavy(folder: Path) -> None:
    script = "import sys; from webhook.__main__ import main; main(['--help']); print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    out = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, check=True, text=True
    ).stdout

    assert set(HEAVY).isdisjoint(out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_named_as_it_is_called(command: str) -> None:
    found = program.get_command(
        program.make_context("evenspread", ["--help"], resilient_parsing=True), command
    )

    assert found is not None
    assert found.name == command


def test_name_of_the_program_as_a_plugin_of_kubectl(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-evenspread"])

    assert run("--help").out.startswith("Usage: kubectl evenspread ")


def test_variable_that_is_no_flag(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENSPREAD_VERSION", "1.2.3")

    assert run("--help").code == 0


def test_whole_program(folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)

    with spawn(folder, "validate", "-f", "pod.yaml") as process:
        out, err = process.communicate()

    assert (process.returncode, err) == (1, b"")
    assert out.startswith(b"pod.yaml:11: Pod shop/web-1: denied: ")


LONG = {
    "lines for programs": ("validate", "-f", "pod.yaml", "-o", "json"),
    "lines for people": ("validate", "-f", "pod.yaml"),
    "a table": ("config", "check"),
    "a page": ("audit", "-f", "pod.yaml", "-o", "html"),
    "a help": ("audit", "--help"),
}


@pytest.mark.parametrize("arguments", LONG.values(), ids=LONG.keys())
def test_reader_that_goes_away_is_no_error(arguments: tuple[str, ...], folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD)

    with spawn(folder, *arguments) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()

    assert (process.returncode, err) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", LONG.values(), ids=LONG.keys())
def test_output_that_cannot_be_written_is_no_bug(arguments: tuple[str, ...], folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD)

    ran = shell(folder, f"{shlex.join((*EVENSPREAD, *arguments))} > /dev/full")

    assert ran.returncode == 3
    assert ran.stderr == b"error: the output cannot be written: No space left on device\n"


# redirection, exit code, what is on stdout and on stderr
CLOSED = {
    "standard output": (">&-", 1, b"", b""),
    "standard error": ("2>&-", 1, b"pod.yaml:11: Pod shop/web-1: denied", b""),
    "all of them": ("<&- >&- 2>&-", 1, b"", b""),
}


@pytest.mark.parametrize(("closed", "code", "out", "err"), CLOSED.values(), ids=CLOSED.keys())
def test_streams_may_be_closed(
    closed: str, code: int, out: bytes, err: bytes, folder: Path
) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)

    ran = shell(folder, f"{shlex.join((*EVENSPREAD, 'validate', '-f', 'pod.yaml'))} {closed}")

    assert (ran.returncode, ran.stderr) == (code, err)
    assert ran.stdout.startswith(out)
    assert bool(ran.stdout) == bool(out)


def test_a_standard_input_that_is_closed_is_empty(folder: Path) -> None:
    ran = shell(folder, f"{shlex.join((*EVENSPREAD, 'validate', '-f', '-'))} <&-")

    assert ran.returncode == 0
    assert ran.stderr.startswith(b"skipped stdin: it contains no object")


def test_interrupted_program_says_nothing(folder: Path) -> None:
    pipe = folder / "pods.yaml"
    os.mkfifo(pipe)

    with spawn(folder, "validate", "-f", "pods.yaml") as process:
        with pipe.open("wb"):  # returns as soon as the program reads
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        out, err = process.communicate()

    assert (process.returncode, out, err.strip()) == (130, b"", b"")


def test_output_that_the_terminal_has_no_letters_for(folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD.replace("web-1", "wëb") + files.BROKEN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}

    out = subprocess.run(
        [*EVENSPREAD, "validate", "-f", "pod.yaml"],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    ).stdout

    assert rb"Pod shop/w\xebb: denied" in out


def test_bars_that_the_terminal_has_no_letters_for(folder: Path) -> None:
    shop = ROOT / "docs" / "walkthrough" / "shop.yaml"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}

    out = subprocess.run(
        [*EVENSPREAD, "explain", "web-3", "-n", "shop", "--cluster", str(shop)],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    ).stdout

    assert b"us-1a   1      1     ####################  2     over 1\n" in out


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "NO_COLOR"])
def test_colours(variable: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")

    assert ("\x1b[31mdenied" in run("validate", "-f", "pod.yaml").out) is (
        variable == "FORCE_COLOR"
    )


@pytest.mark.parametrize(
    ("shell", "start"),
    [
        ("bash", "_evenspread_completion() {"),
        ("zsh", "#compdef evenspread"),
        ("fish", "function _"),
    ],
)
def test_completion_script(shell: str, start: str, run: Run) -> None:
    ran = run("completion", shell)

    assert ran.code == 0
    assert ran.out.startswith(start)
    assert "_EVENSPREAD_COMPLETE" in ran.out


def test_completion_of_an_unknown_shell(run: Run) -> None:
    assert run("completion", "cmd").code == 2


# what stands on the line, what fits
COMPLETIONS = {
    "commands": ("evenspread ", set(COMMANDS)),
    "a command": ("evenspread val", {"validate"}),
    "another command": ("evenspread te", {"test"}),
    "a flag": ("evenspread validate --kube", {"--kube-version"}),
    "a value": ("evenspread review --hook ", {"mutate", "validate", "both"}),
    "a command of a group": ("evenspread config ", {"check"}),
}


@pytest.mark.parametrize(("line", "expected"), COMPLETIONS.values(), ids=COMPLETIONS.keys())
def test_completion(
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


def test_bug_leaves_a_sentence_and_a_code(folder: Path, run: Run) -> None:
    deep = "[" * 5000

    ran = run("review", "-f", "-", stdin=deep.encode())

    assert ran.code == 3
    assert "Traceback" not in ran.err


def test_main_returns(run: Run) -> None:
    assert isinstance(main(["--version"]), int)
