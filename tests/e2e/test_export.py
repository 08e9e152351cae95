"""Pods get from exported policies what evenspread gives them, wherever the export claims so."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.build import FakeFacts
from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.exported import (
    BY_POLICY,
    BY_WEBHOOK,
    CASE,
    CASES,
    PROFILES,
    applied,
    limit,
    requested_policy,
)
from tests.e2e.objects import constraints, controlled_by, rounds, service, workload
from tests.e2e.replica import Registered, Replica, by_url
from webhook.export.mutating import export_mutating
from webhook.policy.api.versions import Version, parse_version
from webhook.policy.model import LabelSelector, LabelSelectorRequirement
from webhook.policy.selectors import matches

WORKLOADS = rounds(30, 300)
KINDS = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "DaemonSet")
CLAIMED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
LABELS = {"app": ("a", "b", "c"), "tier": ("front", "back"), "env": ("x", "y")}
SCHEDULERS = ("default-scheduler", "other", "third", "fourth")
OWN = [
    {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"own": "x"}},
    }
    for key in ("zone", "rack")
]
PROBES: Mapping[str, Sequence[tuple[str, Mapping[str, str], str]]] = {
    "": [("StatefulSet", {}, "default-scheduler")],
    "chosen": [
        ("ReplicaSet", {"tier": "front", "env": "x"}, "default-scheduler"),
        ("StatefulSet", {}, "default-scheduler"),
        ("ReplicaSet", {}, "third"),
        ("ReplicaSet", {}, "default-scheduler"),
    ],
}
"""Case -> a pod for each of its profiles: controller, labels and scheduler."""

PATIENCE_S = 300.0  # for the pods of all workloads, on a busy machine


class Namespaces(NamedTuple):
    """The two namespaces of a case, with the same workloads."""

    policy: str
    webhook: str


def server_version(plane: ControlPlane) -> Version:
    return parse_version(plane.api.call("GET", "/version")["gitVersion"])


@pytest.fixture(scope="module")
def namespaces(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Namespaces]]:
    """By case; policies and a server are in force for its profiles."""
    folder = tmp_path_factory.mktemp("export")
    requested = requested_policy(folder, PROFILES, server_version(control_plane))
    exported = export_mutating(requested.policy, FakeFacts())
    with ExitStack() as stack:
        started = stack.enter_context(Replica(folder, control_plane.apiserver.kubeconfig, PROFILES))
        started.wait()
        node = kubelet.join(control_plane.api, "evenspread-export")  # for the pods of DaemonSets
        stack.callback(control_plane.api.delete, node)
        stack.enter_context(Registered(control_plane, by_url(started, "export", BY_WEBHOOK)))
        stack.enter_context(applied(control_plane, limit(exported.manifests, BY_POLICY)))
        made = {
            case: Namespaces(
                control_plane.create_namespace({**BY_POLICY, CASE: case}),
                control_plane.create_namespace({**BY_WEBHOOK, CASE: case}),
            )
            for case in CASES
        }
        for case in CASES:
            wait_for_policies(control_plane, made[case].policy, case)
        yield made


def wait_for_policies(plane: ControlPlane, namespace: str, case: str) -> None:
    """API servers read policies through a cache, and refresh what they evaluate each second."""
    for kind, labels, scheduler in PROBES.get(case, PROBES[""]):
        pod = owned_pod("probe", namespace, {"app": "a", **labels}, kind, schedulerName=scheduler)
        until(partial(probe, plane, pod), "the policy to be in force")


def probe(plane: ControlPlane, pod: Json) -> list[Json]:
    return constraints(plane.api.create(pod, dryRun="All"))


def owned_pod(name: str, namespace: str, labels: Mapping[str, str], kind: str, **spec: Any) -> Json:
    """A pod with the reference of a controller that need not exist."""
    pod = workload("Pod", name, namespace, labels, **spec)
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


def some_workload(rng: Random, number: int) -> Json:
    """One of any kind, whose selector names it and some of its labels, in any form."""
    kind = KINDS[number % len(KINDS)]
    name = f"w{number}"
    some = {key: rng.choice(values) for key, values in LABELS.items() if rng.random() < 0.7}
    labels = {"own": name, **some}
    pairs = {key: value for key, value in labels.items() if key == "own" or rng.random() < 0.3}
    selector: Json = pairs if kind == "ReplicationController" else {"matchLabels": pairs}
    if kind != "ReplicationController" and rng.random() < 0.4:
        selector["matchExpressions"] = [
            rng.choice(
                (
                    {"key": "own", "operator": "In", "values": [name, "other"]},
                    {"key": "none", "operator": "DoesNotExist"},
                    {"key": "app", "operator": "NotIn", "values": ["z"]},
                )
            )
        ]
    spec: dict[str, Any] = {}
    if rng.random() < 0.4:
        spec["topologySpreadConstraints"] = rng.sample(OWN, rng.choice((1, 2)))
    if rng.random() < 0.3:
        spec["schedulerName"] = rng.choice(SCHEDULERS)
    if rng.random() < 0.1:
        labels["evenspread.io/skip"] = rng.choice(("true", "false"))
    made = workload(kind, name, "", labels, selector=selector, **spec)
    if kind in CLAIMED:
        made["spec"]["replicas"] = 2
    if kind == "StatefulSet":
        made["spec"]["podManagementPolicy"] = "Parallel"
    return made


def some_service(rng: Random, number: int) -> Json:
    selector = {key: rng.choice(values) for key, values in LABELS.items() if rng.random() < 0.5}
    if rng.random() < 0.2:
        selector["own"] = f"w{rng.randrange(WORKLOADS)}"
    return service(f"s{number}", "", selector or None)


def create(plane: ControlPlane, obj: Json, namespace: str) -> None:
    plane.api.create({**obj, "metadata": {**obj["metadata"], "namespace": namespace}})


def pods_of(plane: ControlPlane, namespace: str, workloads: int) -> list[Json]:
    """The pods of a namespace, once there is one of each workload, and two of most."""

    def found() -> list[Json]:
        pods = plane.api.items("v1", "Pod", namespace)
        counted = Counter(pod["metadata"]["labels"]["own"] for pod in pods)
        enough = [counted[f"w{n}"] >= count_of_pods(n) for n in range(workloads)]
        return pods if all(enough) else []

    return until(found, "the pods of all workloads", patience_s=PATIENCE_S)


def count_of_pods(number: int) -> int:
    return 1 if KINDS[number % len(KINDS)] in ("Job", "DaemonSet") else 2


def selected(constraint: Json, pod: Json, pods: list[Json]) -> Counter[str]:
    """Whose pods a constraint counts: workload -> number of its pods."""
    written = constraint.get("labelSelector") or {}
    labels = pod["metadata"]["labels"]
    keys = constraint.get("matchLabelKeys", ())
    expressions = (
        *(
            LabelSelectorRequirement(one["key"], one["operator"], tuple(one.get("values") or ()))
            for one in written.get("matchExpressions") or ()
        ),
        *(LabelSelectorRequirement(key, "In", (labels[key],)) for key in keys if key in labels),
    )
    selector = LabelSelector(dict(written.get("matchLabels") or {}), expressions)
    return Counter(
        pod["metadata"]["labels"]["own"]
        for pod in pods
        if matches(selector, pod["metadata"]["labels"])
    )


def effects(pods: list[Json]) -> dict[str, list[tuple[Any, ...]]]:
    """Workload -> what its pods' constraints demand, and of which pods."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for pod in pods:
        listed = [
            (
                *(
                    one.get(member)
                    for member in (
                        *("topologyKey", "maxSkew", "whenUnsatisfiable", "minDomains"),
                        *("nodeAffinityPolicy", "nodeTaintsPolicy"),
                    )
                ),
                selected(one, pod, pods),
            )
            for one in constraints(pod)
        ]
        name = pod["metadata"]["labels"]["own"]
        assert found.setdefault(name, listed) == listed  # the pods of a workload are alike
    return found


@pytest.mark.parametrize("case", CASES)
def test_pods_get_the_same_constraints_from_a_policy(
    control_plane: ControlPlane, namespaces: Mapping[str, Namespaces], case: str
) -> None:
    rng, both = Random(case), namespaces[case]
    for number in range(WORKLOADS // 5):
        made = some_service(rng, number)
        for namespace in both:
            create(control_plane, made, namespace)
    for number in range(WORKLOADS):
        made = some_workload(rng, number)
        for namespace in both:
            create(control_plane, made, namespace)

    by_policy, by_webhook = (
        effects(pods_of(control_plane, namespace, WORKLOADS)) for namespace in both
    )

    differences = {
        name: (KINDS[int(name[1:]) % len(KINDS)], found, by_webhook[name])
        for name, found in by_policy.items()
        if found != by_webhook[name]
    }
    unclaimed = {name for name, (kind, *_) in differences.items() if kind not in CLAIMED}
    assert differences.keys() == unclaimed
    assert all(len(differences[name][1]) < len(differences[name][2]) for name in unclaimed)
    assert sum(len(found) for found in by_policy.values()) > WORKLOADS / 3


def test_a_pod_whose_policy_cannot_be_evaluated_is_created(
    control_plane: ControlPlane, namespaces: Mapping[str, Namespaces]
) -> None:
    """Labels of a size that exceeds the limits of CEL must not stop a pod."""
    labels = {f"l{n}": "x" * 63 for n in range(2000)}
    pod = owned_pod("large", namespaces["merging"].policy, labels, "ReplicaSet")

    stored = control_plane.api.create(pod, dryRun="All")

    assert len(stored["metadata"]["labels"]) == len(labels)


def test_a_rollout_that_changes_labels_selects_fewer_pods(
    control_plane: ControlPlane, namespaces: Mapping[str, Namespaces]
) -> None:
    """As the export says: evenspread counts the old pods of the StatefulSet too."""
    counted: list[Counter[str]] = []
    for namespace in namespaces["soft"]:
        chosen: Json = {"matchLabels": {"own": "rolling"}}
        made = workload(
            "StatefulSet", "rolling", namespace, {"own": "rolling", "v": "1"}, selector=chosen
        )
        owner = control_plane.api.create({**made, "spec": {**made["spec"], "replicas": 0}})
        pods: list[Json] = []
        for version in ("1", "2"):
            pod = workload("Pod", f"rolling-{version}", namespace, {"own": "rolling", "v": version})
            pod["metadata"]["ownerReferences"] = [controlled_by(owner)]
            pods.append(control_plane.api.create(pod, dryRun="All"))
        counted.append(selected(constraints(pods[1])[0], pods[1], pods))

    assert counted == [{"rolling": 1}, {"rolling": 2}]


def test_policies_of_an_older_version_are_in_force(
    new_control_plane: NewControlPlane, tmp_path: Path
) -> None:
    """A server that emulates 1.35 evaluates no policy: it watches v1, which it does not serve."""
    plane = new_control_plane(
        apiserver_flags=("--runtime-config=admissionregistration.k8s.io/v1beta1=true",),
        controllers=False,
        scheduler=False,
        service_accounts=False,
    )
    requested = requested_policy(tmp_path, PROFILES, Version(1, 35))
    exported = export_mutating(requested.policy, FakeFacts())

    assert {one["apiVersion"] for one in exported.manifests} == {
        "admissionregistration.k8s.io/v1beta1"
    }
    with applied(plane, exported.manifests):
        namespace = plane.create_namespace({CASE: "soft"})
        wait_for_policies(plane, namespace, "soft")
