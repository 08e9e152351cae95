"""SpreadPolicies among the settings that are shown."""

from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer
from tests.cli import files
from tests.cli.conftest import Run

POLICIES = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: later}
spec:
  order: 7
  defaultConstraints: []
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: sooner}
spec:
  match: {schedulerNames: [other]}
  defaultConstraints: []
"""


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("option", ["-f", "--facts"])
def test_policies_of_manifests_are_shown_in_their_order(
    folder: Path, run: Run, option: str
) -> None:
    (folder / "policies.yaml").write_text(POLICIES)
    args = ("config", "check", "--config", "config.yaml", option, "policies.yaml")

    ran, as_json = run(*args), run(*args, "-o", "json")

    assert (ran.code, ran.err) == (0, "")
    assert [line for line in ran.out.splitlines() if line.startswith("profile ")] == [
        "profile 1: cluster",
        "profile 2: sooner (SpreadPolicy, order 0)",
        "profile 3: later (SpreadPolicy, order 7)",
    ]
    assert [
        (shown["name"], shown.get("kind"), shown.get("order"))
        for shown in as_json.documents[0]["profiles"]
    ] == [("cluster", None, None), ("sooner", "SpreadPolicy", 0), ("later", "SpreadPolicy", 7)]


def test_the_errors_of_a_policy_are_errors_of_the_configuration(folder: Path, run: Run) -> None:
    (folder / "policies.yaml").write_text(POLICIES.replace("order: 7", "order: x"))

    ran = run("config", "check", "-f", "policies.yaml")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == ("error: policies.yaml:5: spec.order: must be a whole number, not 'x'\n")


def test_policies_of_the_cluster_are_shown(folder: Path, run: Run, api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(POLICIES))

    ran = run("config", "check", "--kubeconfig", "kubeconfig")

    assert "profile 1: sooner (SpreadPolicy, order 0)" in ran.out.splitlines()


def test_a_pod_beside_policies_shows_their_defaults(folder: Path, run: Run) -> None:
    (folder / "policies.yaml").write_text(f"{POLICIES}---\n{files.POD}")

    ran = run("config", "check", "-f", "policies.yaml")

    assert "defaults of Pod shop/web-1: none, since its profile has nothing to add" in ran.out
