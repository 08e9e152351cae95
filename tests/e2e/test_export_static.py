"""kube-apiserver takes exported policies as objects and as files, and returns what it was given."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build import FakeFacts
from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.docs.markdown import ROOT, blocks
from tests.e2e.customkinds import define, definition
from tests.e2e.exported import CASE, PROFILES, applied, is_denied, requested_policy
from tests.e2e.objects import constraints, workload
from tests.e2e.test_export import owned_pod
from webhook.__main__ import main
from webhook.cli.policydrift import KINDS_OF_FORM
from webhook.export.drift import find_policy_drift
from webhook.export.exported import Manifest
from webhook.export.mutating import export_mutating
from webhook.export.static import STATIC_FOLDER, STATIC_GATE, export_static
from webhook.export.validating import export_validating
from webhook.manifests import format_yaml
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import Policy

ALONE = {"controllers": False, "scheduler": False, "service_accounts": False}
VERSION = Version(1, 36)
MIGRATION = ROOT / "docs/migrate.md"


@pytest.fixture
def exported(tmp_path: Path) -> Policy:
    return requested_policy(tmp_path, PROFILES, VERSION).policy


def stored(plane: ControlPlane, form: str) -> list[Json]:
    version = "admissionregistration.k8s.io/v1"
    return [one for kind in KINDS_OF_FORM[form] for one in plane.api.items(version, kind)]


def test_stored_objects_are_no_drift(new_control_plane: NewControlPlane, exported: Policy) -> None:
    plane = new_control_plane(**ALONE)
    forms: dict[str, Sequence[Manifest]] = {
        "map": export_mutating(exported, FakeFacts()).manifests,
        "vap": export_validating(exported).manifests,
    }

    with applied(plane, [manifest for made in forms.values() for manifest in made]):
        drift = [
            one
            for form, made in forms.items()
            for one in find_policy_drift(made, stored(plane, form), form)
        ]

    assert drift == []


@pytest.mark.parametrize("form", ["map", "vap"])
def test_drift_is_found_with_the_command(
    control_plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The policies apply to no pod of other tests: their namespaces have labels of their own."""
    config = tmp_path / "config.yaml"
    config.write_text(PROFILES)
    export = ["export", form, "--config", str(config)]
    check = [*export, "--check", "--kubeconfig", str(control_plane.apiserver.kubeconfig)]

    def run(arguments: list[str]) -> tuple[int, str]:
        code = main(arguments)
        return code, capsys.readouterr().out

    made = list(yaml.safe_load_all(run(export)[1]))
    policy, binding = made[:2]
    missing = [f"--- {one['kind']}/{one['metadata']['name']} in the cluster" for one in made]
    assert [line for line in run(check)[1].splitlines() if line in missing] == missing

    with applied(control_plane, made):
        none = f"no drift: the cluster has the {len(made)} exported objects\n"
        assert run(check) == (0, none)

        control_plane.api.merge(policy, {"spec": {"failurePolicy": "Fail"}})
        control_plane.api.delete(binding)
        code, report = run(check)

    assert code == 1
    assert [line for line in report.splitlines() if line in missing] == missing[:2]
    changed = {line for line in report.splitlines() if "failurePolicy" in line}
    assert changed == {"-failurePolicy: Fail", "+failurePolicy: Ignore"}


def write_files(exported: Policy, folder: Path) -> dict[str, Any]:
    """Write the files of an export; returns the configuration of each admission plugin."""
    *policies, configuration = export_static(exported, FakeFacts()).files
    for file in policies:
        path = folder / file.path
        path.parent.mkdir()
        path.write_text("".join(f"---\n{format_yaml(one)}" for one in file.manifests))
    plugins = configuration.manifests[0]["plugins"]
    for plugin in plugins:
        named: str = plugin["configuration"]["staticManifestsDir"]
        plugin["configuration"]["staticManifestsDir"] = named.replace(STATIC_FOLDER, str(folder))
    return {plugin["name"]: plugin["configuration"] for plugin in plugins}


def test_policies_in_files_are_in_force(
    new_control_plane: NewControlPlane, exported: Policy, tmp_path: Path
) -> None:
    plane = new_control_plane(
        **ALONE,
        feature_gates={STATIC_GATE: True},
        admission_configuration=write_files(exported, tmp_path),
    )
    define(plane, definition("argoproj.io", "Rollout", "rollouts"))
    namespace = plane.create_namespace({CASE: "hard"})
    pod = owned_pod("probe", namespace, {"app": "a"}, "ReplicaSet")
    bad = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    rollout = workload("Rollout", "web", namespace, {"app": "a"}, topologySpreadConstraints=[bad])

    (found,) = until(
        lambda: constraints(plane.api.create(pod, dryRun="All")), "the policy to be in force"
    )
    until(lambda: is_denied(plane, rollout), "the policy to be in force")

    assert found["labelSelector"] == {"matchLabels": {"app": "a"}}
    assert stored(plane, "map") == stored(plane, "vap") == []


def test_the_policy_of_the_page_about_migration_works(new_control_plane: NewControlPlane) -> None:
    plane = new_control_plane(**ALONE)
    (block,) = (
        block
        for block in blocks(MIGRATION)
        if block.language == "yaml" and "kind: MutatingAdmissionPolicy" in block.text
    )
    made = yaml.safe_load(block.text)
    name = made["metadata"]["name"]
    binding = {
        "apiVersion": made["apiVersion"],
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name},
    }
    pod = workload("Pod", "web", "default", {"app": "web"})

    with applied(plane, [made, binding]):
        (found,) = until(
            lambda: constraints(plane.api.create(pod, dryRun="All")), "the policy to be in force"
        )

    assert found["labelSelector"] == {"matchLabels": {"app": "web"}}
