"""The pods that real controllers make get the defaults that kube-scheduler would give them."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.expectation import expected, requirements
from tests.e2e.objects import LONG, VERSIONS, constraints, controlled_by, rounds, service, workload
from tests.e2e.replica import MARK, Registered, Replica, by_url
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL

WORKLOADS = rounds(300, 1200)
SERVICES = WORKLOADS // 5
KINDS = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "DaemonSet")
OWNERS = ("ReplicaSet", "StatefulSet", "ReplicationController")

DEFAULTS = [
    {"maxSkew": 3, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"},
    {
        "maxSkew": 5,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
    },
]
"""Of the profile ``cluster`` of CONFIG."""

OWN = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
LABELS = {"app": ("a", "b", "c"), "tier": ("front", "back"), "env": ("x", "y")}


@pytest.fixture
def node(control_plane: ControlPlane) -> Iterator[str]:
    """For DaemonSets, which make no pod without one."""
    made = kubelet.join(control_plane.api, "evenspread-defaulting")
    yield made["metadata"]["name"]
    control_plane.api.delete(made)


def some_labels(rng: Random, chance: float) -> dict[str, str]:
    return {key: rng.choice(values) for key, values in LABELS.items() if rng.random() < chance}


def some_workload(rng: Random, number: int, namespace: str) -> Json:
    """One of any kind, selecting by its own name and by some of its labels, in any form."""
    kind = KINDS[number % len(KINDS)]
    labels = {"own": f"w{number}", **some_labels(rng, 0.7)}
    pairs = {key: value for key, value in labels.items() if key == "own" or rng.random() < 0.3}
    spec: dict[str, Any] = {}
    if rng.random() < 0.15:
        spec["topologySpreadConstraints"] = [OWN]
    selector: Json = pairs if kind == "ReplicationController" else {"matchLabels": pairs}
    if kind != "ReplicationController" and rng.random() < 0.4:
        selector["matchExpressions"] = [
            rng.choice(
                (
                    {"key": "own", "operator": "Exists"},
                    {"key": "own", "operator": "In", "values": [f"w{number}", "other"]},
                    {"key": "none", "operator": "DoesNotExist"},
                    {"key": "app", "operator": "NotIn", "values": ["z"]},
                )
            )
        ]
    return workload(kind, f"w{number}", namespace, labels, selector=selector, **spec)


def some_service(rng: Random, number: int, namespace: str) -> Json:
    chosen = rng.random()
    selector = None if chosen < 0.1 else {} if chosen < 0.15 else some_labels(rng, 0.5)
    if rng.random() < 0.2 and selector is not None:
        selector["own"] = f"w{rng.randrange(WORKLOADS)}"
    return service(f"s{number}", namespace, selector or None)


def pods_of(plane: ControlPlane, namespace: str) -> dict[str, Json]:
    """The pods by the workload that they are of."""
    pods = plane.api.items("v1", "Pod", namespace)
    return {pod["metadata"]["labels"]["own"]: pod for pod in pods}


def test_pods_of_real_controllers_get_the_scheduler_s_selector(
    control_plane: ControlPlane, replica: Replica, hooked: str, node: str
) -> None:
    api, rng = control_plane.api, Random(4)
    known = replica.metric("cache_objects", kind="Service")
    services = [api.create(some_service(rng, i, hooked)) for i in range(SERVICES)]
    selecting = [service for service in services if service["spec"].get("selector")]
    until(
        lambda: replica.metric("cache_objects", kind="Service") == known + len(selecting),
        "the Services to be known",
    )
    for number in range(WORKLOADS):
        api.create(some_workload(rng, number, hooked))
    until(
        lambda: len(pods_of(control_plane, hooked)) == WORKLOADS,
        "a pod of each workload",
        patience_s=120,
    )

    owners = [owner for kind in OWNERS for owner in api.items(VERSIONS[kind], kind, hooked)]
    differences: list[tuple[str, Json]] = []
    seen: Counter[str] = Counter()
    for name, pod in pods_of(control_plane, hooked).items():
        listed = constraints(pod)
        if listed == [OWN]:
            seen["own"] += 1
            continue
        wanted = expected(pod, services, owners)
        found = [(constraint.pop("labelSelector"), constraint)[::-1] for constraint in listed]
        if [constraint for constraint, _ in found] != (DEFAULTS if wanted else []) or any(
            requirements(selector) != wanted for _, selector in found
        ):
            differences.append((name, pod))
        seen["defaults" if wanted else "nothing"] += 1

    assert differences == []
    assert min(seen[case] for case in ("own", "defaults", "nothing")) > 0, seen


def test_the_namespace_s_labels_choose_the_profile(
    control_plane: ControlPlane, replica: Replica
) -> None:
    namespace = control_plane.create_namespace({**MARK, "tier": "prod"})
    control_plane.api.create(
        workload("ReplicaSet", "web", namespace, {"app": "web"}, selector=None)
    )

    (pod,) = until(lambda: control_plane.api.items("v1", "Pod", namespace), "a pod")

    assert [constraint["maxSkew"] for constraint in constraints(pod)] == [2]


def test_a_custom_controller_adds_its_selector(
    control_plane: ControlPlane, replica: Replica, hooked: str
) -> None:
    rollout = control_plane.api.create(workload("Rollout", "web", hooked, {"app": "web"}))
    pod = workload("Pod", "web-1", hooked, {"app": "web", "more": "x"})
    pod["metadata"]["ownerReferences"] = [controlled_by(rollout)]

    stored = control_plane.api.create(pod)

    assert [constraint["labelSelector"] for constraint in constraints(stored)] == [
        {"matchLabels": {"app": "web"}}
    ] * 2
    assert "Rollout/web" in stored["metadata"]["annotations"]["evenspread.io/defaults"]


EAGER = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
fieldDefaults: all
featureGates:
  MatchLabelKeysInPodTopologySpread: false
  MatchLabelKeysInPodTopologySpreadSelectorMerge: false
profiles:
- name: eager
  merge: PerTopologyKey
  completeSelectors: true
  scaleDown: KeepSpread
  defaultConstraints:
  - {maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""
EAGERLY = {"evenspread.test/eager": "yes"}
HALF = {
    "maxSkew": 1,
    "topologyKey": "rack",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
    "matchLabelKeys": ["pod-template-hash"],
}
"""A constraint of which a gate would take something away."""
NULL = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
"""A constraint whose selector would be filled in."""


@pytest.fixture
def eager(control_plane: ControlPlane, rollouts: None, tmp_path: Path) -> Iterator[str]:
    """A namespace whose objects were stored before a server was called that changes all it can."""
    namespace = control_plane.create_namespace()
    with Replica(tmp_path, control_plane.apiserver.kubeconfig, EAGER) as started:
        started.wait()
        with Registered(control_plane, by_url(started, "eager", EAGERLY)):
            yield namespace


def hook(plane: ControlPlane, namespace: str) -> None:
    """Have the webhooks called for a namespace from now on."""
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    plane.api.merge(named, {"metadata": {"labels": EAGERLY}})
    tried = workload("Pod", "tried", namespace, {"app": "web"}, topologySpreadConstraints=[HALF])
    until(
        lambda: "matchLabelKeys" not in constraints(plane.api.create(tried, dryRun="All"))[0],
        "the webhooks to be called",
    )


def test_what_controllers_make_of_templates_settles_at_one_each(
    control_plane: ControlPlane, eager: str
) -> None:
    """A patched copy would look changed to its controller, which would make another, for ever."""
    api, listed = control_plane.api, [HALF, NULL]
    names = {"Deployment": "web", "CronJob": "cron"}
    for kind, name in names.items():
        obj = workload(kind, name, eager, {"app": "web"}, topologySpreadConstraints=listed)
        obj["spec"] |= {"paused": True} if kind == "Deployment" else {"schedule": "* * * * *"}
        api.create(obj)
    rollout = api.create(workload("Rollout", "web", eager, {"app": "web"}))
    hook(control_plane, eager)

    deployment = workload("Deployment", "web", eager, {})
    api.merge(deployment, {"spec": {"paused": None}})
    copy = workload("ReplicaSet", "copy", eager, {"app": "web"}, topologySpreadConstraints=listed)
    copy["metadata"]["ownerReferences"] = [controlled_by(rollout)]
    stored = api.create(copy)
    until(lambda: len(api.items("v1", "Pod", eager)) >= 2, "pods of both")
    if LONG:
        until(lambda: api.items("batch/v1", "Job", eager), "a Job", patience_s=90)
        time.sleep(60)  # for which it has to stay as it is

    sets = api.items("apps/v1", "ReplicaSet", eager)
    made = [*sets, *api.items("batch/v1", "Job", eager)]
    assert stored["spec"]["template"]["spec"]["topologySpreadConstraints"] == listed
    assert len(sets) == 2
    assert "collisionCount" not in api.read(deployment)["status"]
    labels = [pod["metadata"]["labels"] for pod in api.items("v1", "Pod", eager)]
    assert {label.get(SCALE_DOWN_LABEL) for label in labels} == {KEEP_SPREAD}
    assert [
        workload["spec"]["template"]["spec"]["topologySpreadConstraints"] for workload in made
    ] == [listed] * len(made)
