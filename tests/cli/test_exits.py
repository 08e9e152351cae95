import click
import pytest

from certs.errors import PairError, StateError, StoreError
from webhook.cli.exits import DEBUG_VARIABLE, ClosedOutputError, ExitCode, outcome, report
from webhook.errors import CombinedConfigError, ConfigError, ManifestError, SourceError

# error, exit code, what is said on stderr
ERRORS: dict[str, tuple[BaseException, ExitCode, str]] = {
    "wrong usage": (click.UsageError("No such option"), ExitCode.USAGE, "Error: No such option\n"),
    "a mistake": (ConfigError("write x", "a.yaml:3"), ExitCode.USAGE, "error: a.yaml:3: write x\n"),
    "several mistakes": (
        CombinedConfigError([ConfigError("write x"), ConfigError("write y")]),
        ExitCode.USAGE,
        "error: write x\nerror: write y\n",
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
    "Ctrl-C, as click tells it": (click.Abort(), ExitCode.INTERRUPTED, ""),
    "a reader that is gone": (ClosedOutputError(), ExitCode.OUTPUT_CLOSED, ""),
}


@pytest.mark.parametrize(("error", "code", "said"), ERRORS.values(), ids=ERRORS.keys())
def test_report(
    error: BaseException, code: ExitCode, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(error) == code

    out, err = capsys.readouterr()
    assert (out, err) == ("", said)


def test_bug_is_told_without_its_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)

    assert report(ValueError("secret of a pod")) is ExitCode.UNFINISHED

    err = capsys.readouterr().err
    assert "a bug of evenspread (ValueError)" in err
    assert "secret" not in err


def test_bug_shows_its_traceback_if_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEBUG_VARIABLE, "1")

    assert report(ValueError("what happened")) is ExitCode.UNFINISHED

    assert "ValueError: what happened" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("findings", "unfinished", "code"),
    [(False, False, 0), (True, False, 1), (False, True, 3), (True, True, 3)],
    ids=["fine", "findings", "unfinished", "unfinished wins over findings"],
)
def test_outcome(findings: bool, unfinished: bool, code: int) -> None:
    assert outcome(findings=findings, unfinished=unfinished) == code
