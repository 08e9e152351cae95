from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli import files
from webhook.cli.inputs.policy import (
    RequestedPolicy,
    apply_actions,
    load_configuration,
    read_policy,
    read_policy_versions,
)
from webhook.config.project import Exemption, Project
from webhook.errors import ConfigError
from webhook.policy.api.gates import Gate
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.defaulting.profiles import FieldDefaults
from webhook.policy.rule_entry import Action


def test_without_options_the_newest_version_applies() -> None:
    requested = read_policy(kube_version="", feature_gates="", allow_locked_gates=False, config="")

    assert requested.gates.version == NEWEST_VERSION
    assert requested.policy.gates == requested.gates


@pytest.mark.parametrize(
    ("config", "expected"),
    [("", FieldDefaults.NONE), ("config.yaml", FieldDefaults.WHEN_UNSATISFIABLE)],
)
def test_audits_fill_in_fields_only_by_a_configuration(
    folder: Path, config: str, expected: FieldDefaults
) -> None:
    (folder / "config.yaml").write_text(files.CONFIG)

    requested = read_policy(
        kube_version="", feature_gates="", allow_locked_gates=False, config=config
    )

    assert requested.audit_policy.field_defaults is expected
    assert requested.policy.field_defaults is FieldDefaults.WHEN_UNSATISFIABLE


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


def test_a_flag_replaces_the_configuration_of_the_project(tmp_path: Path) -> None:
    for name in ("own.yaml", "flag.yaml"):
        (tmp_path / name).write_text(files.CONFIG)
    (tmp_path / "scheduler.yaml").write_text(files.SCHEDULER)
    own, flag = str(tmp_path / "own.yaml"), str(tmp_path / "flag.yaml")
    scheduler = str(tmp_path / "scheduler.yaml")
    project = Project(file=str(tmp_path / ".evenspread.yaml"), config=own)

    assert load_configuration(own, "", project).files == (own,)
    assert load_configuration(own, scheduler, project).files == (scheduler,)
    assert load_configuration(flag, "", project).files == (flag,)
    assert load_configuration(flag, "", None).files == (flag,)


def test_a_configuration_of_the_project_must_be_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(files.CONFIG)
    (tmp_path / "sub").mkdir()
    outside = str(tmp_path / "own.yaml")
    project = Project(file=str(tmp_path / "sub/.evenspread.yaml"), config=outside)

    with pytest.raises(ConfigError) as caught:
        load_configuration(outside, "", project)

    assert "leads out of the folder" in str(caught.value)


def request_rules(folder: Path, rules: str) -> RequestedPolicy:
    """Read a configuration with these rules, without other options."""
    config = folder / "config.yaml"
    config.write_text(f"{files.CONFIG}rules: {rules}\n")
    return read_policy(
        kube_version="", feature_gates="", allow_locked_gates=False, config=str(config)
    )


def test_actions_of_a_project_override_those_of_the_configuration(tmp_path: Path) -> None:
    requested = request_rules(tmp_path, "{TSC101: deny, TSC102: deny}")

    (first, *_) = requested.configuration.profiles
    ruled = replace(first, actions={"TSC101": Action.DENY, "TSC103": Action.DENY})
    profiles = (ruled, replace(first, name="other"))
    configuration = replace(requested.configuration, profiles=profiles)
    requested = requested._replace(configuration=configuration)
    changed = apply_actions(requested, Project(file="p", actions={"TSC101": Action.OFF}))

    (ruled, other) = changed.policy.profiles
    assert ruled.actions == {"TSC101": Action.OFF, "TSC103": Action.DENY}
    assert other.actions == {}
    assert changed.policy.actions["TSC101"] is Action.OFF
    assert changed.policy.actions["TSC102"] is Action.DENY
    assert apply_actions(requested, None) is requested


def test_a_project_cannot_exempt_from_what_the_configuration_forbids(tmp_path: Path) -> None:
    requested = request_rules(tmp_path, "{TSC101: {exemptible: false}}")
    exemption = Exemption(where="p:3", rules=frozenset({"TSC101"}), reason="r")

    with pytest.raises(ConfigError, match="p:3: TSC101 cannot be exempted from"):
        apply_actions(requested, Project(file="p", exemptions=(exemption,)))


def test_a_project_can_exempt_from_what_the_configuration_does_not_forbid(tmp_path: Path) -> None:
    requested = request_rules(tmp_path, "{TSC101: {exemptible: false}}")
    exemption = Exemption(where="p:3", rules=frozenset({"TSC102"}), reason="r")

    assert apply_actions(requested, Project(file="p", exemptions=(exemption,))) == requested


def test_an_exemption_that_some_profile_allows_is_not_refused_for_all(tmp_path: Path) -> None:
    requested = request_rules(tmp_path, "{TSC101: {exemptible: false}}")
    (first, *_) = requested.configuration.profiles
    allowing = replace(first, exemptible={"TSC101": True, "TSC102": False})
    configuration = replace(requested.configuration, profiles=(allowing,))
    exemption = Exemption(where="p:3", rules=frozenset({"TSC101"}), reason="r")

    project = Project(file="p", exemptions=(exemption,))
    changed = requested._replace(configuration=configuration)
    assert apply_actions(changed, project) == changed
