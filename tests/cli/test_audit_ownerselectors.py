"""Commands use the selectors of ``ownerSelectors`` before a workload has pods."""

from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import Run

CONFIG = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: cluster
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,
     minDomains: 4}
ownerSelectors:
- {group: apps.kruise.io, kind: CloneSet, selectorPath: spec.selector}
"""
WITHOUT_PROFILES = CONFIG[: CONFIG.index("profiles:")] + CONFIG[CONFIG.index("ownerSelectors:") :]
CLONE_SET = """\
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web, namespace: shop}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: web}]}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  labels: {app: web}
  ownerReferences:
  - {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: web, uid: u, controller: true}
spec: {nodeName: a, containers: [{name: c, image: web}]}
"""
NODES = "---\n".join(
    f"apiVersion: v1\nkind: Node\nmetadata: {{name: {zone}, "
    f"labels: {{kubernetes.io/hostname: {zone}, topology.kubernetes.io/zone: {zone}}}}}\n"
    for zone in "abc"
)


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "without.yaml").write_text(WITHOUT_PROFILES)
    (folder / "web.yaml").write_text(CLONE_SET)
    (folder / "pod.yaml").write_text(POD)
    (folder / "nodes.yaml").write_text(NODES)


def test_an_audit_judges_the_defaults_of_the_next_pods(run: Run) -> None:
    ran = run(
        "audit", "-f", "web.yaml", "--config", "config.yaml", "--facts", "nodes.yaml", "-o", "json"
    )

    (found,) = msgspec.json.decode(ran.out)["workloads"]
    assert [one["rule"] for one in found["findings"]] == ["TSC104"]
    assert found["defaults"]["profile"] == "cluster"


def test_a_what_if_gives_them_to_the_replicas(run: Run) -> None:
    ran = run(
        "explain", "-f", "web.yaml", "--config", "config.yaml", "--facts", "nodes.yaml", "--what-if"
    )

    assert "3 of 6 replicas would stay Pending" in ran.out


def test_a_change_of_the_policies_changes_the_next_pod(run: Run) -> None:
    ran = run("policy", "diff", "-f", "config.yaml", "--facts", "web.yaml", "--facts", "nodes.yaml")

    assert "CloneSet shop/web: its next pod changes (profile none -> cluster)" in ran.out


def test_kube_scheduler_has_no_defaults_for_the_pods(run: Run) -> None:
    facts = ("--facts", "web.yaml", "--facts", "pod.yaml", "--facts", "nodes.yaml")
    ran = run("explain", "pod/web-1", "-n", "shop", "--config", "without.yaml", *facts)

    assert "no constraints: spreading allows every node and prefers none" in ran.out
