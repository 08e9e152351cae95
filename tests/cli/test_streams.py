"""Standard streams that are closed, full, gone, or in another encoding."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run
from tests.cli.processes import EVENSPREAD, ROOT, shell, spawn

needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")

LONG = {
    "lines for programs": ("validate", "-f", "pod.yaml", "-o", "json"),
    "lines for people": ("validate", "-f", "pod.yaml"),
    "a table": ("config", "check"),
    "a page": ("audit", "-f", "pod.yaml", "-o", "html"),
    "a help": ("audit", "--help"),
}


@pytest.mark.parametrize("arguments", LONG.values(), ids=LONG.keys())
def test_a_reader_that_goes_away_is_no_error(arguments: tuple[str, ...], folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD)

    with spawn(folder, *arguments) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()

    assert (process.returncode, err) == (141, b"")


@needs_full_device
@pytest.mark.parametrize("arguments", LONG.values(), ids=LONG.keys())
def test_a_full_device_is_no_bug(arguments: tuple[str, ...], folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD)

    ran = shell(folder, f"{shlex.join((*EVENSPREAD, *arguments))} > /dev/full")

    assert ran.returncode == 3
    assert ran.stderr == b"error: the output cannot be written: No space left on device\n"


# redirection, exit code, start of stdout, stderr
CLOSED = {
    "standard output": (
        ">&-", 3, b"", b"error: the output cannot be written: Bad file descriptor\n"
    ),
    "standard error": ("2>&-", 1, b"pod.yaml:11: Pod shop/web-1: denied", b""),
    "all of them": ("<&- >&- 2>&-", 3, b"", b""),
}  # fmt: skip


@pytest.mark.parametrize(("closed", "code", "out", "err"), CLOSED.values(), ids=CLOSED.keys())
def test_streams_may_be_closed(
    closed: str, code: int, out: bytes, err: bytes, folder: Path
) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)

    ran = shell(folder, f"{shlex.join((*EVENSPREAD, 'validate', '-f', 'pod.yaml'))} {closed}")

    assert (ran.returncode, ran.stderr) == (code, err)
    assert ran.stdout.startswith(out)
    assert bool(ran.stdout) == bool(out)


def test_an_output_that_nothing_is_written_to_may_be_closed(folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD)

    ran = shell(
        folder, f"{shlex.join((*EVENSPREAD, 'validate', '-f', 'pod.yaml', '-o', 'name'))} >&-"
    )

    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_standard_input_that_is_closed_cannot_be_read(folder: Path) -> None:
    ran = shell(folder, f"{shlex.join((*EVENSPREAD, 'validate', '-f', '-'))} <&-")

    assert ran.returncode == 3
    assert ran.stderr == b"error: stdin: cannot be read: Bad file descriptor\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_report_that_is_cut_off_is_an_error(unbuffered: str, folder: Path) -> None:
    before = f"export PYTHONUNBUFFERED={unbuffered}; ulimit -f 1"

    ran = shell(folder, f"{before}; {shlex.join((*EVENSPREAD, 'rules'))} > rules.txt")

    assert ran.returncode == 3
    assert ran.stderr == b"error: the output cannot be written: File too large\n"


@needs_full_device
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("validate", "-f", "absent.yaml"), 3), (("audit", "--bogus"), 2)],
    ids=["an error of ours", "one of usage"],
)
def test_an_error_that_cannot_be_written_keeps_its_code(
    arguments: tuple[str, ...], code: int, unbuffered: str, folder: Path
) -> None:
    before = f"export PYTHONUNBUFFERED={unbuffered}"

    ran = shell(folder, f"{before}; {shlex.join((*EVENSPREAD, *arguments))} 2> /dev/full")

    assert ran.returncode == code


def run_in_ascii(folder: Path, *arguments: str) -> bytes:
    """Run a command whose output has no other letters; returns the output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = [*EVENSPREAD, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False
    ).stdout


def test_letters_that_the_encoding_lacks_are_escaped(folder: Path) -> None:
    (folder / "pod.yaml").write_text(files.POD.replace("web-1", "wëb") + files.BROKEN)

    out = run_in_ascii(folder, "validate", "-f", "pod.yaml")

    assert rb"Pod shop/w\xebb: denied" in out


def test_bars_that_the_encoding_lacks_are_replaced(folder: Path) -> None:
    shop = ROOT / "docs" / "walkthrough" / "shop.yaml"

    out = run_in_ascii(folder, "explain", "web-3", "-n", "shop", "--facts", str(shop))

    assert b"us-1a   1      1     ####################  2     over 1\n" in out


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "NO_COLOR"])
def test_colours_follow_the_variables(
    variable: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.BROKEN)
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")

    assert ("\x1b[31mdenied" in run("validate", "-f", "pod.yaml").out) is (
        variable == "FORCE_COLOR"
    )


# line, completions
