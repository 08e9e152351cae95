"""The pods whose end a controller awaits, and those that a what-if supposes to have ended."""

from typing import Any

import msgspec
import pytest

from tests.cli.inputs.targetcases import NOW
from webhook.cli.inputs.endingpods import find_ending, list_awaited
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.explain.endingpods import EndingPods
from webhook.policy.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    LEADER_WORKER_SET,
    STATEFUL_SET,
)
from webhook.policy.model import GroupKind, Node, Taint
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.filters.filterpods import FilterPod

SET: Any = {"spec": {}}
OTHER = {"spec": {"strategy": {"type": "RollingUpdate"}}}
RECREATE = {"spec": {"strategy": {"type": "Recreate"}}}
SURGE = {"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 1}}}}
NO_SURGE = {"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 0}}}}
GROUPS: Any = {
    "spec": {
        "replicas": 2,
        "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {"containers": []}}},
    }
}
NAMED: Any = {"metadata": {"name": "web"}}
WORKERS = ("spec", "leaderWorkerTemplate", "workerTemplate")
ALL = frozenset({"web-0", "web-1", "web-1-1"})

# kind, object, options, the pods that are awaited
AWAITED: dict[str, tuple[GroupKind, Any, dict[str, bool], frozenset[str]]] = {
    "the pod of the same ordinal": (STATEFUL_SET, SET, {}, frozenset({"web-1"})),
    "pods of all ordinals": (STATEFUL_SET, SET, {"simulates": True}, ALL),
    "the leader of a group": (LEADER_WORKER_SET, GROUPS, {}, frozenset({"web-0"})),
    "a rolling update": (DEPLOYMENT, OTHER, {"rolls_out": True}, frozenset()),
    "Recreate": (DEPLOYMENT, RECREATE, {"rolls_out": True}, ALL),
    "Recreate without a rollout": (DEPLOYMENT, RECREATE, {"simulates": True}, frozenset()),
    "a DaemonSet": (DAEMON_SET, SET, {}, ALL),
    "a DaemonSet without surge": (DAEMON_SET, NO_SURGE, {}, ALL),
    "a DaemonSet with surge": (DAEMON_SET, SURGE, {}, frozenset()),
    "a Job": (JOB, SET, {}, frozenset()),
}


def pod(name: str, phase: str = "Running", *, deleted: bool = True) -> ObservedPod:
    metadata = {"name": name, "deletionTimestamp": "2026-11-27T10:00:00Z" if deleted else None}
    return msgspec.convert({"metadata": metadata, "status": {"phase": phase}}, ObservedPod)


@pytest.mark.parametrize(
    ("kind", "value", "options", "awaited"), AWAITED.values(), ids=AWAITED.keys()
)
def test_the_pods_that_a_controller_awaits(
    kind: GroupKind, value: Any, options: dict[str, bool], awaited: frozenset[str]
) -> None:
    subject = ExplainSubject(kind, WORKERS, "shop", {**NAMED, **value}, exists=True)
    pods = [*map(pod, sorted(ALL)), pod("web-2", "Failed"), pod("web-3", deleted=False)]
    ordinal = 0 if kind == LEADER_WORKER_SET else 1

    assert list_awaited(subject, pods, ordinal, TargetOptions(now=NOW, **options)) == awaited


def test_a_worker_of_a_group_is_named_by_both_numbers() -> None:
    value = {**NAMED, **GROUPS}
    subject = ExplainSubject(LEADER_WORKER_SET, WORKERS, "shop", value, exists=True)

    found = list_awaited(subject, map(pod, ALL), 3, TargetOptions(now=NOW))

    assert found == {"web-1-1"}


DOWN = Node("n2", {}, (Taint("node.kubernetes.io/unreachable", "", "NoExecute"),))
NODES = {"n1": Node("n1", {}, (Taint("dedicated", "", "NoSchedule"),)), "n2": DOWN}
ENDING = [
    FilterPod(namespace, {}, name=name, node_name=node)
    for namespace, name, node in (
        ("shop", "web-1", "n1"),
        ("shop", "web-0", "n2"),
        ("shop", "api-1", "n1"),
        ("shop", "api-2", "n2"),
        ("ops", "web-1", "n1"),
        ("ops", "web-2", "unknown"),
    )
]

FOUND: dict[str, tuple[set[str], bool, list[int], EndingPods]] = {
    "nothing": (set(), False, [], EndingPods()),
    "those that are awaited": (
        {"web-0", "web-1"}, False, [0, 1], EndingPods(("web-0", "web-1"), ("web-0",))
    ),
    "those on nodes that are ready": (
        set(), True, [0, 2, 4], EndingPods(simulated=("api-1", "ops/web-1", "web-1"))
    ),
    "both": (
        {"web-1"}, True, [0, 2, 4], EndingPods(("web-1",), simulated=("api-1", "ops/web-1"))
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("awaited", "simulates", "gone", "names"), FOUND.values(), ids=FOUND.keys()
)
def test_the_pods_that_have_ended_before(
    awaited: set[str], simulates: bool, gone: list[int], names: EndingPods
) -> None:
    found = find_ending(ENDING, NODES, "shop", awaited, simulates=simulates)

    assert found.pods == [ENDING[index] for index in gone]
    assert found.names == names
