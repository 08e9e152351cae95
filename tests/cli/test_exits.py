import errno
from pathlib import Path

import click
import pytest

from certs.errors import PairError, StateError, StoreError
from webhook.cli.exits import DEBUG_VARIABLE, ClosedOutputError, ExitCode, outcome, report
from webhook.errors import CombinedConfigError, ConfigError, ManifestError, SourceError

# error, exit code, stderr
ERRORS: dict[str, tuple[BaseException, ExitCode, str]] = {
    "a usage error": (
        click.UsageError("No such option"),
        ExitCode.USAGE,
        "Error: No such option\n",
    ),
    "an invalid setting": (
        ConfigError("write x", "a.yaml:3"),
        ExitCode.USAGE,
        "error: a.yaml:3: write x\n",
    ),
    "several invalid settings": (
        CombinedConfigError([ConfigError("write x"), ConfigError("write y")]),
        ExitCode.USAGE,
        "error: write x\nerror: write y\n",
    ),
    "a usage error that quotes an argument": (
        click.UsageError("unexpected argument (a\x1b[1m\nb\u202e)"),
        ExitCode.USAGE,
        "Error: unexpected argument (a\\x1b[1m\\nb\\u202e)\n",
    ),
    "errors that quote a file name": (
        CombinedConfigError([ConfigError("write x", "a\nerror: b"), ConfigError("\x9b2J")]),
        ExitCode.USAGE,
        "error: a\\nerror: b: write x\nerror: \\u009b2J\n",
    ),
    "an unreadable file": (
        ManifestError("a.yaml", 3, "invalid YAML"),
        ExitCode.UNFINISHED,
        "error: a.yaml:3: invalid YAML\n",
    ),
    "an unreachable cluster": (
        SourceError("https://10.0.0.1", "no answer"),
        ExitCode.UNFINISHED,
        "error: https://10.0.0.1: no answer\n",
    ),
    "a state folder": (
        StateError(".state", "cannot be written: choose another with --state"),
        ExitCode.USAGE,
        "error: .state: cannot be written: choose another with --state\n",
    ),
    "a pair that does not fit": (
        PairError("tls.key", "belongs to no certificate"),
        ExitCode.USAGE,
        "error: tls.key: belongs to no certificate\n",
    ),
    "a Secret that cannot be read": (
        StoreError("Secret/ca", "forbidden"),
        ExitCode.UNFINISHED,
        "error: Secret/ca: forbidden\n",
    ),
    "Ctrl-C": (KeyboardInterrupt(), ExitCode.INTERRUPTED, ""),
    "Ctrl-C, as click raises it": (click.Abort(), ExitCode.INTERRUPTED, ""),
    "a full device": (
        OSError(errno.ENOSPC, "no space"),
        ExitCode.UNFINISHED,
        "error: the output cannot be written: No space left on device\n",
    ),
    "a reader that is gone": (ClosedOutputError(), ExitCode.OUTPUT_CLOSED, ""),
}


@pytest.mark.parametrize(("error", "code", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_has_an_exit_code_and_a_message(
    error: BaseException, code: ExitCode, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(error) == code

    out, err = capsys.readouterr()
    assert (out, err) == ("", message)


def test_a_bug_is_reported_without_its_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)

    assert report(ValueError("secret of a pod")) is ExitCode.UNFINISHED

    err = capsys.readouterr().err
    assert "a bug of evenspread (ValueError)" in err
    assert "secret" not in err


def test_a_bug_shows_its_traceback_if_requested(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEBUG_VARIABLE, "1")

    assert report(ValueError("what\x1bhappened")) is ExitCode.UNFINISHED

    err = capsys.readouterr().err
    assert "ValueError: what\\x1bhappened" in err


@pytest.mark.parametrize(
    ("findings", "unfinished", "code"),
    [(False, False, 0), (True, False, 1), (False, True, 3), (True, True, 3)],
    ids=["fine", "findings", "unfinished", "both"],
)
def test_unfinished_work_takes_precedence_over_findings(
    findings: bool, unfinished: bool, code: int
) -> None:
    assert outcome(findings=findings, unfinished=unfinished) == code


def test_a_missing_file_is_a_bug_unless_the_working_directory_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")

    codes = [report(FileNotFoundError(errno.ENOENT, "absent"))]
    (tmp_path / "gone").rmdir()
    codes += [report(FileNotFoundError(errno.ENOENT, "absent"))]

    bug, gone = capsys.readouterr().err.splitlines()
    assert codes == [ExitCode.UNFINISHED] * 2
    assert bug.startswith("error: this is a bug of evenspread")
    assert gone == "error: the working directory does not exist any more: change to another one"
