"""Suggested changes of a what-if are judged by all replicas that stay Pending."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

WORKLOAD = """\
apiVersion: apps/v1
kind: %s
metadata: {name: db, namespace: shop}
spec:
  replicas: %s
  podManagementPolicy: %s
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: db}}
"""
POD = """\
---
apiVersion: v1
kind: Pod
metadata:
  name: db-%s
  namespace: shop
  labels: {app: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}]
spec: {nodeName: %s}
"""


def explain(folder: Path, run: Run, subject: str, text: str) -> Any:
    (folder / "x.yaml").write_text(text)
    ran = run("explain", subject, "--what-if", "-n", "shop", "--facts", "x.yaml", "-o", "json")
    return ran.documents[0]


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_all_pending_pods_of_a_stateful_set_judge_changes(
    folder: Path, run: Run, policy: str
) -> None:
    nodes = "".join(NODE % (f"{z}1", f"{z}1", z, str(z == "c").lower()) for z in "abc")
    pods = POD % (0, "a1") + POD % (2, "b1")

    answer = explain(folder, run, "sts/db", nodes + WORKLOAD % ("StatefulSet", 5, policy) + pods)

    changes = answer["explanation"]["changes"]
    assert answer["whatIf"]["pending"] == 3
    assert {(change["placed"], change["awaited"]) for change in changes} == {(3, 3)}
    assert "raise maxSkew of constraint 0 (zone) from 1 to 3" in {
        change["sentence"] for change in changes
    }


def test_too_many_nodes_and_replicas_are_noted(folder: Path, run: Run) -> None:
    zones = ("a", "b", "c")
    nodes = (NODE % (f"n{i}", f"n{i}", zones[i % 3], str(i % 3 == 2).lower()) for i in range(150))

    answer = explain(folder, run, "rs/db", "".join(nodes) + WORKLOAD % ("ReplicaSet", 200, "x"))

    change = answer["explanation"]["changes"][0]
    assert (change["placed"], change["awaited"]) == (None, 198)
    assert answer["whatIf"]["notes"][-1].startswith("the suggested changes place the next pod; for")
