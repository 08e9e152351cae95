"""A pod that is being deleted does not keep its successor, or a what-if, from its node."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

NODES = NODE % ("a1", "a1", "zone-a", "false") + NODE % ("b1", "b1", "zone-b", "false")
SPEC = "{containers: [{name: c, ports: [{containerPort: 80, hostPort: 80}]}], %s}"
TEMPLATE = "{metadata: {labels: {app: web}}, spec: %s}" % (SPEC % "nodeSelector: {}")
OWNED = """\
apiVersion: apps/v1
kind: %s
metadata: {name: web, namespace: shop, uid: u1}
spec: {replicas: 2, %s: {%s}, selector: {matchLabels: {app: web}}, template: %s}
---
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web-%s
  namespace: shop
  labels: {app: web}
  ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, uid: u1, controller: true}]
  %s
spec: %s
---
"""
DELETED = "deletionTimestamp: '2026-11-27T10:00:30Z'"
REPLICA_SET = """\
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-h
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u1, controller: true}]
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: %s}
---
"""
DOWN = "unschedulable: false, taints: [{key: node.kubernetes.io/unreachable, effect: NoExecute}]"


def write(folder: Path, kind: str, strategy: str = "", *, is_down: bool = False) -> None:
    """Write two nodes, and a workload with a pod on each, the second of which is being deleted."""
    owner = ("ReplicaSet", "web-h") if kind == "Deployment" else (kind, "web")
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    first = POD % (0, *owner, "annotations: {}", SPEC % "nodeName: a1")
    second = POD % (1, *owner, DELETED, SPEC % "nodeName: b1")
    nodes = DOWN.join(NODES.rsplit("unschedulable: false", 1)) if is_down else NODES
    sets = REPLICA_SET % TEMPLATE if kind == "Deployment" else ""
    text = f"{nodes}{OWNED % (kind, field, strategy, TEMPLATE)}{sets}{first}{second}"
    (folder / "shop.yaml").write_text(text)


RECREATE = "type: Recreate"
ROLLING = "rollingUpdate: {maxSurge: 0, maxUnavailable: 1}"
WHAT_IF, ROLLOUT = ("--what-if",), ("--what-if", "rollout")

AFTER = "is not created before the end of web-1, which is being deleted"
AWAITS = "web-1 is being deleted: no new pod takes its place before its end"
SUPPOSES = "web-1 is being deleted: its end is supposed to precede the simulation"


class Case(NamedTuple):
    """Options, and the exit code with a part of the text."""

    kind: str
    strategy: str
    options: tuple[str, ...]
    code: int
    text: str
    is_down: bool = False


CASES = {
    "the next pod of a StatefulSet": Case(
        "StatefulSet", "", (), 0, f"{AFTER}; then it can be placed on 1 of 2 nodes"
    ),
    "the replicas of a StatefulSet": Case("StatefulSet", "", WHAT_IF, 0, AWAITS),
    "the rollout of a StatefulSet": Case("StatefulSet", "", ROLLOUT, 0, " finishes in "),
    "a StatefulSet on a node that is down": Case(
        "StatefulSet", "", (), 1, f"{AFTER} on a node that is not ready; then it cannot", True
    ),
    "the next pod of a Deployment": Case("Deployment", ROLLING, (), 1, "cannot be placed"),
    "the replicas of a Deployment": Case("Deployment", ROLLING, WHAT_IF, 0, SUPPOSES),
    "a rolling update": Case("Deployment", ROLLING, ROLLOUT, 0, " finishes in "),
    "a rolling update with a node that is down": Case(
        "Deployment", ROLLING, ROLLOUT, 1, " stops ", True
    ),
    "Recreate": Case("Deployment", RECREATE, ROLLOUT, 0, AWAITS),
    "the pod of a DaemonSet": Case("DaemonSet", "", (), 0, "1 pod missing, which can be placed"),
    "a DaemonSet later": Case("DaemonSet", "", WHAT_IF, 0, AWAITS),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_pod_that_is_being_deleted(case: Case, folder: Path, run: Run) -> None:
    write(folder, case.kind, case.strategy, is_down=case.is_down)

    ran = run("explain", f"{case.kind}/web", "-n", "shop", "--facts", "shop.yaml", *case.options)

    assert case.text in ran.out
    assert ran.code == case.code
