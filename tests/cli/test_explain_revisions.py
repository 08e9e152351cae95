"""Constraints with a revision label in matchLabelKeys count the next pod's revision."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

NODES = "".join(
    NODE % (f"{zone}1", f"{zone}1", zone, "true" if zone == "c" else "false") for zone in "abc"
)
WORKLOAD = """\
apiVersion: %s
kind: %s
metadata: {name: db, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: db}}
        matchLabelKeys: [%s]
status: {%s: new}
"""
POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: db-%s, namespace: shop, labels: {app: db, %s: %s}}
spec: {nodeName: %s}
"""
KINDS = {
    "StatefulSet": ("apps/v1", "controller-revision-hash", "updateRevision"),
    "Rollout": ("argoproj.io/v1alpha1", "rollouts-pod-template-hash", "currentPodHash"),
}


def explain(folder: Path, run: Run, kind: str, revisions: str, *options: str) -> Any:
    """Explain a workload with one pod in each zone; ``revisions`` are those of the pods."""
    version, label, field = KINDS[kind]
    pods = [
        POD % (i, label, revision, f"{zone}1")
        for i, (zone, revision) in enumerate(zip("abc", revisions.split(), strict=True))
    ]
    workload = WORKLOAD % (version, kind, label, field)
    (folder / "x.yaml").write_text("".join((NODES, workload, *pods)))
    ran = run("explain", f"{kind}/db", "-n", "shop", "--facts", "x.yaml", "-o", "json", *options)
    assert ran.err == ""
    return json.loads(ran.out)


@pytest.mark.parametrize("kind", KINDS)
def test_pods_of_an_older_revision_do_not_fill_a_zone(folder: Path, run: Run, kind: str) -> None:
    explanation = explain(folder, run, kind, "new new old")["explanation"]

    assert not explanation["placeable"]
    assert [row["pods"] for row in explanation["constraints"][0]["domains"]] == [1, 1, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_pods_of_an_older_revision_do_not_keep_the_first_new_one_away(
    folder: Path, run: Run, kind: str
) -> None:
    explanation = explain(folder, run, kind, "old old old")["explanation"]

    assert [node["name"] for node in explanation["nodes"] if node["passes"]] == ["a1", "b1"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_what_if_counts_the_revision_that_runs(folder: Path, run: Run, kind: str) -> None:
    what_if = explain(folder, run, kind, "new new new", "--scale", "5")["whatIf"]

    assert (what_if["placed"], what_if["pending"]) == ({"a1": 1, "b1": 1}, 0)


PARTITIONED = f"""\
{NODES}apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db, namespace: shop}}
spec:
  replicas: 1
  podManagementPolicy: %s
  updateStrategy: {{rollingUpdate: {{partition: %s}}}}
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {{matchLabels: {{app: db}}}}
        matchLabelKeys: [%s]
status: {{currentRevision: old, updateRevision: new}}
{POD % (0, "controller-revision-hash", "old", "a1")}"""
REVISION = "controller-revision-hash"
INDEX = "apps.kubernetes.io/pod-index"
# podManagementPolicy, partition, key; desired replicas; placed, pending; selector of the next pod
ORDINALS = {
    "below and above the partition": (
        ("OrderedReady", 2, REVISION), 4, ({"a1": 1, "b1": 2}, 0), f"{REVISION}=new"
    ),
    "a pod below it keeps the others waiting": (
        ("OrderedReady", 3, REVISION), 5, ({"b1": 1}, 3), f"{REVISION}=old"
    ),
    "a pod below it, and others in parallel": (
        ("Parallel", 3, REVISION), 5, ({"a1": 1, "b1": 2}, 1), f"{REVISION}=old"
    ),
    "a pod of its own": (
        ("OrderedReady", 0, INDEX), 4, ({"a1": 3}, 0), f"{INDEX}=4"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDINALS.values(), ids=ORDINALS.keys())
def test_each_new_pod_of_a_stateful_set_has_the_labels_of_its_ordinal(
    folder: Path, run: Run, case: tuple[tuple[str, int, str], int, tuple[dict[str, int], int], str]
) -> None:
    written, replicas, placed, selector = case
    (folder / "x.yaml").write_text(PARTITIONED % written)
    scale = ("--scale", str(replicas))

    ran = run("explain", "sts/db", "-n", "shop", "--facts", "x.yaml", "-o", "json", *scale)

    answer = json.loads(ran.out)
    assert (answer["whatIf"]["placed"], answer["whatIf"]["pending"]) == placed
    (constraint,) = answer["explanation"]["constraints"]
    assert constraint["selector"] == f"app=db,{selector}"
