"""Pending pods that are older than the template stay Pending if their controller keeps them."""

from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import Run

NODES = "---\n".join(
    f"apiVersion: v1\nkind: Node\nmetadata: {{name: n{zone}, labels: {{zone: {zone}}}}}\n"
    for zone in "ab"
)
CONSTRAINT = (
    "{maxSkew: 1, topologyKey: KEY, whenUnsatisfiable: DoNotSchedule,"
    " labelSelector: {matchLabels: {app: db}}}"
)
WORKLOAD = f"""\
---
apiVersion: apps/v1
kind: KIND
metadata: {{name: db, namespace: shop, uid: u}}
spec:
  replicas: 2
  MORE
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec:
      topologySpreadConstraints: [{CONSTRAINT.replace("KEY", "zone")}]
      containers: [{{name: c, image: i}}]
"""
POD = f"""\
---
apiVersion: v1
kind: Pod
metadata:
  name: db-0
  namespace: shop
  labels: {{app: db}}
  ownerReferences: [{{apiVersion: apps/v1, kind: KIND, name: db, uid: u, controller: true}}]
spec:
  topologySpreadConstraints: [{CONSTRAINT}]
  containers: [{{name: c, image: i}}]
status: {{phase: Pending}}
"""
SENTENCE = (
    "db-0 has other constraints than the template now has, with which no node accepts it, and "
    "stays Pending until it is deleted"
)

OF_DEPLOYMENT = "{apiVersion: apps/v1, kind: Deployment, name: db, uid: u, controller: true}"

PARALLEL = "podManagementPolicy: Parallel"

# kind, a field of the workload, topology keys of the pod and of the template: is the pod kept?
CASES: dict[str, tuple[tuple[str, str, str, str], bool]] = {
    "a StatefulSet": (("StatefulSet", "serviceName: db", "zones", "zone"), True),
    "a ReplicaSet": (("ReplicaSet", "minReadySeconds: 0", "zones", "zone"), True),
    "a parallel StatefulSet": (("StatefulSet", PARALLEL, "zones", "zone"), False),
    "a key that nodes have": (("StatefulSet", "serviceName: db", "zone", "zone"), False),
    "a template with another wrong key": (
        ("StatefulSet", "serviceName: db", "zones", "zonal"),
        False,
    ),
}


def cluster(kind: str, more: str, key: str, of_template: str) -> str:
    workload = WORKLOAD.replace("topologyKey: zone", f"topologyKey: {of_template}")
    written = workload.replace("MORE", more) + POD.replace("KEY", key)
    return NODES + written.replace("KIND", kind)


@pytest.mark.parametrize(("made", "kept"), CASES.values(), ids=CASES.keys())
def test_pods_that_a_controller_keeps(
    folder: Path, run: Run, made: tuple[str, str, str, str], *, kept: bool
) -> None:
    (folder / "all.yaml").write_text(cluster(*made))
    words = ("explain", f"{made[0]}/db", "-n", "shop", "--facts", "all.yaml")

    placed, what_if = run(*words), run(*words, "--what-if")

    assert (SENTENCE in placed.out) is kept
    assert (f"{SENTENCE}, which is supposed here" in what_if.out) is kept
    is_pending = made[-1] == "zonal"
    assert (placed.code, what_if.code) == (kept or is_pending, is_pending)


@pytest.mark.parametrize(("owner", "kept"), [("new", True), ("old", False)])
def test_a_deployment_keeps_no_pod_of_an_older_replica_set(
    folder: Path, run: Run, owner: str, *, kept: bool
) -> None:
    deployment = WORKLOAD.replace("KIND", "Deployment").replace("MORE", "paused: false")
    sets = "".join(
        WORKLOAD.replace("KIND", "ReplicaSet")
        .replace("MORE", "minReadySeconds: 0")
        .replace("name: db,", f"name: {name},")
        .replace("uid: u}", f"uid: {name}, ownerReferences: [{OF_DEPLOYMENT}]}}")
        .replace("topologyKey: zone", f"topologyKey: {key}")
        for name, key in (("old", "zones"), ("new", "zone"))
    )
    pod = POD.replace(
        "kind: KIND, name: db, uid: u", f"kind: ReplicaSet, name: {owner}, uid: {owner}"
    )
    (folder / "all.yaml").write_text(NODES + deployment + sets + pod.replace("KEY", "zones"))

    ran = run("explain", "deploy/db", "-n", "shop", "--facts", "all.yaml")

    assert (SENTENCE in ran.out, ran.code) == (kept, int(kept))


def test_programs_get_the_names(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(cluster("StatefulSet", "serviceName: db", "zones", "zone"))

    ran = run("explain", "sts/db", "-n", "shop", "--facts", "all.yaml", "-o", "json")

    assert msgspec.json.decode(ran.out)["kept"] == ["db-0"]
