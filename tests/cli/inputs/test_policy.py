from pathlib import Path

import pytest

from tests.cli import files
from webhook.cli.inputs.policy import read_policy, read_policy_versions
from webhook.errors import ConfigError
from webhook.policy.api.gates import Gate
from webhook.policy.api.versions import NEWEST_VERSION, Version


def test_without_options_the_newest_version_applies() -> None:
    requested = read_policy(kube_version="", feature_gates="", allow_locked_gates=False, config="")

    assert requested.gates.version == NEWEST_VERSION
    assert requested.policy.gates == requested.gates


def test_flags_override_the_gates_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(files.CONFIG)

    requested = read_policy(
        kube_version="1.29",
        feature_gates="EvenspreadAdvice=true",
        allow_locked_gates=False,
        config=str(tmp_path / "config.yaml"),
    )

    assert requested.gates.version == Version(1, 29)
    assert Gate.ADVICE in requested.gates


def test_a_newer_version_is_treated_as_the_newest_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    requested = read_policy(
        kube_version="1.99", feature_gates="", allow_locked_gates=False, config=""
    )

    assert requested.gates.version == NEWEST_VERSION
    assert "Kubernetes 1.99 is newer than the supported versions" in capsys.readouterr().err


def test_a_range_gives_the_gates_of_every_version() -> None:
    _, servers = read_policy_versions(
        kube_version="1.27..1.29", feature_gates="", allow_locked_gates=False, config=""
    )

    assert [gates.version.minor for gates in servers] == [27, 28, 29]


def test_without_a_range_there_is_one_version() -> None:
    _, servers = read_policy_versions(
        kube_version="", feature_gates="", allow_locked_gates=False, config=""
    )

    assert [gates.version for gates in servers] == [NEWEST_VERSION]


def test_an_unknown_gate_is_an_error() -> None:
    with pytest.raises(ConfigError):
        read_policy(kube_version="", feature_gates="X=true", allow_locked_gates=False, config="")
