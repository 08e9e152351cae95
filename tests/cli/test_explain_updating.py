"""What-ifs while a rolling update runs: surge pods are no scale-down."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

NODES = "".join(NODE % (f"{zone}1", f"{zone}1", zone, "false") for zone in "abc")
CORDONED = NODE % ("d1", "d1", "d", "true")
TEMPLATE = """\
  template:
    metadata: {labels: {app: web%s}}
    spec:
      containers: [{name: web, image: "web:%s"}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
---
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: d-web}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}}
"""
REPLICA_SET = """\
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-%s
  namespace: shop
  annotations: {deployment.kubernetes.io/revision: "%s"}
  ownerReferences: [{kind: Deployment, name: web, uid: d-web, controller: true}]
spec:
  replicas: %s
  selector: {matchLabels: {app: web, pod-template-hash: "%s"}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web-%s
  namespace: shop
  labels: {app: web, pod-template-hash: "%s"}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-%s, controller: true}]
spec: {nodeName: "%s"}
status: {phase: %s, conditions: [{type: Ready, status: "%s"}]}
---
"""
SETS = "".join(
    REPLICA_SET % (revision, revision, size, revision)
    + TEMPLATE % (f', pod-template-hash: "{revision}"', revision)
    for revision, size in ((1, 3), (2, 1))
)
OLD = "".join(POD % (f"1-{zone}", 1, 1, f"{zone}1", "Running", "True") for zone in "abc")
PENDING = POD % ("2-x", 2, 2, "", "Pending", "False")
UNREADY = POD % ("2-x", 2, 2, "a1", "Running", "False")


def explain(folder: Path, run: Run, facts: str, *options: str) -> tuple[int, Any]:
    (folder / "x.yaml").write_text(NODES + DEPLOYMENT + TEMPLATE % ("", 2) + SETS + OLD + facts)
    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "x.yaml", "-o", "json", *options)
    assert ran.err == ""
    return ran.code, json.loads(ran.out)["whatIf"]


# facts beside the three old pods, options, the exit code, and the sentence
FATES: dict[str, tuple[str, tuple[str, ...], int, str]] = {
    "the new pod finds no node": (
        PENDING + CORDONED, ("--what-if",), 1,
        "as it is: 1 of 4 replicas would stay Pending; skew of zone 1 -> 1",
    ),
    "it finds none beside a cordon": (
        PENDING + CORDONED, ("--cordon", "c1"), 1,
        "if you cordon node c1: 1 of 4 replicas would stay Pending; skew of zone 1 -> 1",
    ),
    "it finds none with the same number": (
        PENDING + CORDONED, ("--scale", "3"), 1,
        "if you scale to 3 replicas: 1 of 4 replicas would stay Pending; skew of zone 1 -> 1",
    ),
    "a new node lets the rolling update go on": (
        PENDING + CORDONED, ("--add-nodes", "zone=d"), 0,
        "if you add 1 node with zone=d: 1 pod would be removed, 3 would run; skew of zone 1 -> 1",
    ),
    "the new pod finds a node": (
        PENDING, ("--what-if",), 0,
        "as it is: 1 pod would be removed, 3 would run; skew of zone 0 -> 0",
    ),
    "the new pod is not ready": (
        UNREADY, ("--what-if",), 0, "as it is: all 4 replicas would run; skew of zone 1 -> 1"
    ),
    "fewer replicas are a scale-down": (
        PENDING + CORDONED, ("--scale", "2"), 0,
        "if you scale to 2 replicas: 2 pods would be removed, 2 would run; skew of zone 1 -> 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fate", FATES)
def test_fate(fate: str, folder: Path, run: Run) -> None:
    facts, options, code, sentence = FATES[fate]

    found, what_if = explain(folder, run, facts, *options)

    assert (found, what_if["sentence"]) == (code, sentence)


def test_the_answer_says_why_pods_stay(folder: Path, run: Run) -> None:
    _, what_if = explain(folder, run, PENDING + CORDONED, "--what-if")

    assert (what_if["replicas"], what_if["running"], what_if["pending"]) == (3, 3, 1)
    assert what_if["notes"] == [
        (
            "a rolling update is running (maxSurge 1, maxUnavailable 0), with 4 pods for a number "
            "of 3: its controller removes old pods only if 3 stay available"
        )
    ]


def test_another_zone_does_not_replace_a_lost_one(folder: Path, run: Run) -> None:
    code, what_if = explain(folder, run, PENDING + CORDONED, "--without", "zone=c")

    assert (code, what_if["running"], what_if["pending"]) == (1, 2, 2)
