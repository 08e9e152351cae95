"""Our patch, applied by a library of others, is what a real API server stores."""

import copy
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonpatch
import pytest

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import constraints, rounds, service, workload
from tests.e2e.recorder import Recorder, recording
from tests.e2e.replica import Registered, Replica
from tests.faults.plugin import FaultReport

PODS = rounds(40, 1000)
MARK = {"evenspread.test/patched": "yes"}
CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: cluster
  merge: PerTopologyKey
  completeSelectors: true
  scaleDown: KeepSpread
  defaultConstraints:
  - {maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 5, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [rev]}
"""
GATES = "NodeInclusionPolicyInPodTopologySpread=false"  # so that fields are removed, too

KEYS = ("app", "tier", "example.com/part", "rev")
VALUES = ("web", "db", "")
TOPOLOGY_KEYS = ("zone", "rack", "kubernetes.io/hostname")
SERVER_SET = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
"""Metadata that an API server sets when it stores an object."""
CHANGED = re.compile(r"/spec/topologySpreadConstraints|/metadata/(annotations|labels)")
"""What our patch may change, also below."""
LABEL = "/metadata/labels/evenspread.io~1scale-down"


@pytest.fixture
def recorder(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Recorder]:
    settings = {"feature_gates": GATES, "allow_locked_gates": True}
    replica = Replica(tmp_path, control_plane.apiserver.kubeconfig, CONFIG, **settings)
    with (
        replica,
        recording(replica.wait(), "patched", MARK) as (started, made),
        Registered(control_plane, made),
    ):
        yield started


def some_labels(rng: Random) -> dict[str, str]:
    keys = rng.sample(KEYS, rng.randint(0, 3))
    return {"app": "it", **{key: rng.choice(VALUES) for key in keys}}


def some_constraint(rng: Random, topology_key: str) -> Json:
    hard = rng.random() < 0.5
    made: Json = {
        "maxSkew": rng.randint(1, 3),
        "topologyKey": topology_key,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    if rng.random() < 0.8:
        made["labelSelector"] = {"matchLabels": some_labels(rng)}
    rare: dict[str, Any] = {
        "nodeAffinityPolicy": rng.choice(("Honor", "Ignore")),
        "nodeTaintsPolicy": rng.choice(("Honor", "Ignore")),
    }
    if hard:
        rare["minDomains"] = rng.randint(1, 3)
    if "labelSelector" in made and "rev" not in made["labelSelector"]["matchLabels"]:
        rare["matchLabelKeys"] = ["rev"]
    return made | {key: value for key, value in rare.items() if rng.random() < 0.4}


def create_owner(plane: ControlPlane, namespace: str) -> Json:
    """Create a ReplicaSet that selects none of the pods, and refer to it."""
    made = workload("ReplicaSet", "it", namespace, {"app": "none"})
    made["spec"]["replicas"] = 0
    uid = plane.api.create(made)["metadata"]["uid"]
    about = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "it", "uid": uid}
    return {**about, "controller": True}


def some_pod(rng: Random, name: str, namespace: str, owner: Json) -> Json:
    spec: Json = {"automountServiceAccountToken": False}
    if rng.random() < 0.7:
        keys = rng.sample(TOPOLOGY_KEYS, rng.randint(0, 3))
        spec["topologySpreadConstraints"] = [some_constraint(rng, key) for key in keys]
    pod = workload("Pod", name, namespace, some_labels(rng), **spec)
    if rng.random() < 0.3:
        pod["metadata"]["annotations"] = {"example.com/theirs": "kept"}
    if rng.random() < 0.5:
        pod["metadata"]["ownerReferences"] = [owner]
    return pod


def merged(pod: Json) -> Json:
    """
    What the API server does with constraints after admission: it merges matchLabelKeys.

    Source: KEP-3243.
    """
    changed = copy.deepcopy(pod)
    for constraint in constraints(changed):
        selector = constraint.get("labelSelector")
        for key in constraint.get("matchLabelKeys", ()):
            if selector is not None and key in pod["metadata"]["labels"]:
                values = [pod["metadata"]["labels"][key]]
                added = {"key": key, "operator": "In", "values": values}
                selector.setdefault("matchExpressions", []).append(added)
    return changed


def comparable(pod: Json) -> Json:
    """A pod without what the API server sets, and the owner, which may release it meanwhile."""
    left_out = (*SERVER_SET, "ownerReferences")
    metadata = {key: value for key, value in pod["metadata"].items() if key not in left_out}
    return {**pod, "metadata": metadata, "status": None}


@pytest.mark.fault(24)
def test_the_patch_applied_is_what_is_stored(
    control_plane: ControlPlane, recorder: Recorder, fault_report: FaultReport
) -> None:
    api, namespace = control_plane.api, control_plane.create_namespace(MARK)
    api.create(service("it", namespace, {"app": "it"}))
    tried = workload("Pod", "tried", namespace, {"app": "it"})
    until(lambda: constraints(api.create(tried, dryRun="All")), "the Service to be known")
    owner = create_owner(control_plane, namespace)
    rng, operations, paths = Random(24), Counter[str](), set[str]()
    for number in range(PODS):
        pod = some_pod(rng, f"pod-{number}", namespace, owner)

        created = api.create(pod)

        review = recorder.mutations[pod["metadata"]["name"]]
        patched = jsonpatch.JsonPatch(review.patch).apply(review.request["object"])
        assert comparable(api.read(created)) == comparable(merged(patched)), pod
        operations.update(operation["op"] for operation in review.patch)
        paths.update(operation["path"] for operation in review.patch)
        api.delete(created)
    assert operations.keys() >= {"add", "remove"}
    assert LABEL in paths
    assert all(map(CHANGED.match, paths))
    counts = ", ".join(f"{count} {name}" for name, count in sorted(operations.items()))
    fault_report.record(
        load="none",
        calls=PODS,
        failed=0,
        outcome=f"{PODS} generated pods stored as patched by an RFC 6902 library ({counts})",
    )
