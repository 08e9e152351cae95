"""While a rollout waits, each ReplicaSet replaces its own pods, and all share a scaling."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

NODES = "".join(
    NODE % (f"{zone}1", f"{zone}1", zone, "true" if zone == "c" else "false") for zone in "abc"
)
ZONE = "topology.kubernetes.io/zone"
KINDS = {
    "Deployment": ("apps/v1", "pod-template-hash"),
    "Rollout": ("argoproj.io/v1alpha1", "rollouts-pod-template-hash"),
}
PAUSED: Any = {
    "spec": {
        "paused": True,
        "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    },
}
STEPS: Any = [{"setWeight": 25}, {"pause": {}}]
CANARY: Any = {
    "spec": {"strategy": {"canary": {"maxSurge": 0, "steps": STEPS}}},
    "status": {"stableRS": "old", "currentPodHash": "new", "currentStepIndex": 1},
}


def template(kind: str, revision: str, hashed: str = "") -> dict[str, Any]:
    key = KINDS[kind][1]
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": [key],
    }
    return {
        "metadata": {"labels": {"app": "web", **({key: hashed} if hashed else {})}},
        "spec": {
            "containers": [{"name": "c", "image": revision}],
            "topologySpreadConstraints": [spread],
        },
    }


def replica_set(kind: str, revision: str, size: int) -> dict[str, Any]:
    version, key = KINDS[kind]
    owner = {"apiVersion": version, "kind": kind, "name": "web", "controller": True}
    labels = {"app": "web", key: revision}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"web-{revision}",
            "namespace": "shop",
            "labels": labels,
            "ownerReferences": [owner],
            "annotations": {"deployment.kubernetes.io/max-replicas": "4"},
        },
        "spec": {
            "replicas": size,
            "selector": {"matchLabels": labels},
            "template": template(kind, revision, revision),
        },
    }


def pod(kind: str, name: str, revision: str, node: str) -> dict[str, Any]:
    made = template(kind, revision, revision)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{revision}"}
    metadata = {
        "name": name,
        "namespace": "shop",
        "ownerReferences": [owner | {"controller": True}],
        **made["metadata"],
    }
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return {**value, "spec": made["spec"] | ({"nodeName": node} if node else {})}


def explain(
    folder: Path, run: Run, kind: str, rollout: Any, sizes: dict[str, int], *options: str
) -> Any:
    """Explain a workload whose third old pod has no node, and whose new pods are on node a1."""
    workload = {
        "apiVersion": KINDS[kind][0],
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        **rollout,
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(kind, "new"),
            **rollout["spec"],
        },
    }
    values = [
        workload,
        *(replica_set(kind, name, size) for name, size in sizes.items()),
        *(pod(kind, f"old-{i}", "old", node) for i, node in enumerate(("a1", "b1", ""))),
        *(pod(kind, f"new-{i}", "new", "a1") for i in range(sizes.get("new", 0))),
    ]
    (folder / "x.yaml").write_text("\n---\n".join((NODES.strip(), *map(json.dumps, values))))
    ran = run("explain", f"{kind}/web", "-n", "shop", "--facts", "x.yaml", "-o", "json", *options)
    assert ran.err == ""
    return json.loads(ran.out)


WAITING = pytest.mark.parametrize(
    ("kind", "rollout"), [("Deployment", PAUSED), ("Rollout", CANARY)]
)


@WAITING
def test_a_missing_pod_has_the_revision_of_its_replica_set(
    folder: Path, run: Run, kind: str, rollout: Any
) -> None:
    sizes = {"old": 3, "new": 1}

    answer = explain(folder, run, kind, rollout, sizes, "--what-if")
    next_pod = explain(folder, run, kind, rollout, sizes)["explanation"]

    assert (answer["whatIf"]["replicas"], answer["whatIf"]["pending"]) == (4, 1)
    assert not next_pod["placeable"]
    (note,) = answer["whatIf"]["notes"]
    assert note.endswith("while the rollout waits: 3 pods of web-old, 1 pod of web-new")


@WAITING
def test_scaling_is_shared_among_the_replica_sets(
    folder: Path, run: Run, kind: str, rollout: Any
) -> None:
    found = explain(folder, run, kind, rollout, {"old": 3, "new": 1}, "--scale", "8")["whatIf"]

    # 6 old pods, of which zones a and b have one each and take no more, and 2 new ones
    assert (found["running"], found["placed"], found["pending"]) == (3, {"b1": 1}, 4)


@WAITING
def test_scaling_down_is_shared_too(folder: Path, run: Run, kind: str, rollout: Any) -> None:
    found = explain(folder, run, kind, rollout, {"old": 3, "new": 1}, "--scale", "2")["whatIf"]

    assert (found["removed"][0], len(found["removed"]), found["running"]) == ("old-2", 2, 2)


def test_the_only_replica_set_of_a_paused_deployment_has_the_next_pod(
    folder: Path, run: Run
) -> None:
    found = explain(folder, run, "Deployment", PAUSED, {"old": 3}, "--scale", "4")

    assert found["whatIf"]["pending"] == 2
    assert not found["explanation"]["placeable"]


def test_an_aborted_canary_has_pods_of_the_stable_revision(folder: Path, run: Run) -> None:
    aborted = {**CANARY, "status": {**CANARY["status"], "abort": True}}

    found = explain(folder, run, "Rollout", aborted, {"old": 4, "new": 0}, "--what-if")["whatIf"]

    assert (found["running"], found["pending"]) == (2, 2)


def test_a_simulated_rollout_goes_on(folder: Path, run: Run) -> None:
    found = explain(
        folder, run, "Deployment", PAUSED, {"old": 3, "new": 1}, "--what-if", "rollout"
    )["rollout"]

    assert "it is paused: the rollout begins after it is resumed" in found["notes"]
