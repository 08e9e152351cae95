from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.nominees import (
    PriorityClassObject,
    find_priority,
    is_nominated,
    read_nominees,
)
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.policy.api.versions import Version

V1_36 = Version(1, 36)

Json = dict[str, Any]


def api_pod(name: str = "db", spec: Json | None = None, **members: Any) -> ApiPod:
    """A pod that is nominated for n1."""
    status = {"phase": "Pending", "nominatedNodeName": "n1", **members.pop("status", {})}
    metadata = {"name": name, "namespace": "shop", **members}
    return msgspec.convert({"metadata": metadata, "spec": spec or {}, "status": status}, ApiPod)


# specification and status of a pod, whether it is nominated
NOMINATED: dict[str, tuple[Json, Json, bool]] = {
    "a pod that waits": ({}, {}, True),
    "a pod with a node": ({"nodeName": "n1"}, {}, False),
    "no nomination": ({}, {"nominatedNodeName": None}, False),
    "a pod that has ended": ({}, {"phase": "Failed"}, False),
}


@pytest.mark.parametrize(("spec", "status", "expected"), NOMINATED.values(), ids=NOMINATED.keys())
def test_nominated_pods_wait_for_a_node(spec: Json, status: Json, *, expected: bool) -> None:
    assert is_nominated(api_pod(spec=spec, status=status)) is expected


def test_a_pod_template_is_not_nominated() -> None:
    assert not is_nominated(ApiPod())


def test_pods_of_the_same_or_a_higher_priority_keep_their_room() -> None:
    pods = [api_pod(f"db-{value}", {"priority": value}) for value in (-1, 0, 5, 6)]
    pods += [api_pod("none"), api_pod("bound", {"nodeName": "n1", "priority": 9})]

    def keeping(priority: int) -> list[str]:
        return [pod.name for pod in read_nominees(pods, priority, V1_36).get("n1", ())]

    assert keeping(5) == ["db-5", "db-6"]
    assert keeping(0) == ["db-0", "db-5", "db-6", "none"]
    assert keeping(7) == []


def test_nominees_are_grouped_by_node_and_count_even_if_they_are_being_deleted() -> None:
    deleted = api_pod("a", deletionTimestamp="2026-01-01T00:00:00Z")
    other = api_pod("b", status={"nominatedNodeName": "n2"})

    found = read_nominees([deleted, other], 0, V1_36)

    assert {node: [pod.name for pod in pods] for node, pods in found.items()} == {
        "n1": ["a"], "n2": ["b"]
    }  # fmt: skip
    assert not found["n1"][0].is_terminating


CLASSES = [
    msgspec.convert({"metadata": {"name": name}, **members}, PriorityClassObject)
    for name, members in {
        "high": {"value": 100},
        "usual": {"value": 20, "globalDefault": True},
        "low": {"value": 10, "globalDefault": True},
        "zero": {},
    }.items()
]

# specification, classes, priority
PRIORITIES: dict[str, tuple[Json, list[PriorityClassObject] | None, int | None]] = {
    "a stored pod": ({"priority": 7, "priorityClassName": "high"}, CLASSES, 7),
    "a class": ({"priorityClassName": "high"}, CLASSES, 100),
    "a class without a value": ({"priorityClassName": "zero"}, CLASSES, 0),
    "the lowest of several defaults": ({}, CLASSES, 10),
    "no default": ({}, CLASSES[:1], 0),
    "no class can be read": ({}, None, 0),
    "a class that cannot be read": ({"priorityClassName": "high"}, None, None),
    "a class that does not exist": ({"priorityClassName": "none"}, CLASSES, None),
    "a class of every cluster": ({"priorityClassName": "system-node-critical"}, None, 2000001000),
}


@pytest.mark.parametrize(
    ("spec", "classes", "expected"), PRIORITIES.values(), ids=PRIORITIES.keys()
)
def test_the_priority_of_a_pod(
    spec: Json, classes: list[PriorityClassObject] | None, expected: int | None
) -> None:
    assert find_priority(api_pod(spec=spec), classes) == expected
