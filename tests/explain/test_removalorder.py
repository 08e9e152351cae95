"""Pods are ordered as the controller compares them, and grouped where it has no order."""

from itertools import permutations
from math import log2

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explain.observed import HOUR, NODES, NOW
from tests.explain.observed import make_pod as pod
from webhook.explain.removalorder import (
    RemovalGroup,
    deletion_cost,
    find_readiness,
    is_ready,
    order_pods,
    removal_key,
)
from webhook.policy.placement.census import ObservedPod

SIDECARS = [{"name": "proxy", "restartCount": 3}, {"name": "once", "restartCount": 9}]

FIRST = {
    "not assigned before assigned": (pod("a", "", cost="7"), pod("b", phase="Pending")),
    "Pending before Running": (pod("a", phase="Pending"), pod("b", "n2")),
    "Unknown before Running": (pod("a", phase="Unknown"), pod("b", "n2")),
    "not ready before ready": (pod("a", ready="False"), pod("b", "n2")),
    "a lower cost first": (pod("a", cost="-5"), pod("b", "n2", cost="-4")),
    "a wrong cost is 0": (pod("a", cost="1e9"), pod("b", "n2", cost="1")),
    "no time of readiness first": (pod("a", since=None), pod("b", "n2")),
    "Go's zero time first": (pod("a", since="0001-01-01T00:00:00Z"), pod("b", "n2")),
    "ready for less time": (pod("a", since=HOUR), pod("b", "n2", created=HOUR)),
    "more restarts": (pod("a", restarts=2), pod("b", "n2", restarts=1)),
    "more restarts of a sidecar": (pod("a", sidecars=SIDECARS), pod("b", "n2")),
    "newer": (pod("a", created=HOUR), pod("b", "n2")),
    "of one order of magnitude, by uid": (
        pod("a", since="2026-01-01T00:00:01Z", uid="1"), pod("b", "n2", uid="2")
    ),
    "readiness before restarts": (pod("a", ready="False"), pod("b", "n2", restarts=7)),
    "a cost before doubling": (pod("a", "n2", cost="1"), pod("b", "n1", cost="2")),
}  # fmt: skip


@pytest.mark.parametrize(("first", "second"), FIRST.values(), ids=FIRST)
def test_the_first_is_removed_first(first: ObservedPod, second: ObservedPod) -> None:
    for pods in permutations((first, second)):
        assert order_pods(pods, pods, NOW) == [RemovalGroup((first,)), RemovalGroup((second,))]


COSTS = {"": 0, "7": 7, "-7": -7, "0": 0, "07": 0, "-07": -7, "+7": 0, "x": 0, "4294967296": 0}


@pytest.mark.parametrize(("written", "cost"), COSTS.items())
def test_a_deletion_cost_is_parsed_as_go_does(written: str, cost: int) -> None:
    assert deletion_cost(pod("a", cost=written)) == cost


def test_a_pod_without_a_status_is_not_ready() -> None:
    assert not is_ready(ObservedPod())
    assert find_readiness(ObservedPod()) is None


READY = {"True": True, "False": False, "Unknown": False}


@pytest.mark.parametrize(("status", "expected"), READY.items())
def test_the_condition_shows_whether_a_pod_is_ready(status: str, *, expected: bool) -> None:
    assert find_readiness(pod("a", ready=status)) is expected


def test_what_is_compared_before_the_pods_on_a_node() -> None:
    assert removal_key(pod("a", cost="5")) == (2, 1, 5)
    assert removal_key(pod("a", phase="Pending", ready="False")) == (0, 0, 0)


def test_of_several_conditions_the_first_counts() -> None:
    conditions = [{"type": "Ready", "status": status} for status in ("False", "True")]
    both = msgspec.convert({"status": {"conditions": conditions}}, ObservedPod)

    assert not is_ready(both)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_equal_pods_are_one_group_by_name(order: tuple[int, ...]) -> None:
    pods = (pod("a", "n3"), pod("b", "n1"), pod("c", "n2"))

    assert order_pods([pods[at] for at in order], pods, NOW) == [RemovalGroup(pods)]


def test_pods_in_a_circle_are_one_group() -> None:
    pods = (
        pod("a", "n1", uid="1"),
        pod("b", "n2", uid="2", since="2026-01-01T00:00:01Z"),
        pod("c", "n3", uid="3", restarts=1),
    )

    (group,) = order_pods(pods, pods, NOW)

    assert sorted(one.metadata.name or "" for one in group.pods) == ["a", "b", "c"]
    assert not group.equal


TIMES = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", HOUR)
random_pods = st.builds(
    pod,
    name=st.uuids().map(str),
    node=st.sampled_from(NODES),
    ready=st.sampled_from(("True", "False")),
    since=st.sampled_from((None, *TIMES)),
    created=st.sampled_from((None, *TIMES)),
    restarts=st.integers(0, 1),
    uid=st.none() | st.sampled_from("abcdefgh"),
)


@given(st.lists(random_pods, max_size=9))
def test_groups_are_those_that_no_sort_can_mix(pods: list[ObservedPod]) -> None:
    groups = order_pods(pods, pods, NOW)

    assert sorted(map(id, pods)) == sorted(id(one) for group in groups for one in group.pods)
    ordered = [one for group in groups for one in group.pods]
    ends = {sum(len(group.pods) for group in groups[:number]) for number in range(len(groups) + 1)}
    for end in range(len(ordered) + 1):
        before, after = ordered[:end], ordered[end:]
        separated = all(goes_first(one, other, pods) for one in before for other in after)
        assert separated == (end in ends)


def goes_first(one: ObservedPod, other: ObservedPod, pods: list[ObservedPod]) -> bool:
    """Compare pods of one phase and cost. Source: controller_utils.go ``Less``."""
    if is_ready(one) != is_ready(other):
        return is_ready(other)
    crowds = [sum(it.spec.node_name == pod_.spec.node_name for it in pods) for pod_ in (one, other)]
    if crowds[0] != crowds[1]:
        return crowds[0] > crowds[1]
    if is_ready(one) and since(one) != since(other):
        return is_later(since(one), since(other), one, other)
    if restarts(one) != restarts(other):
        return restarts(one) > restarts(other)
    created, later = one.metadata.creation_timestamp, other.metadata.creation_timestamp
    return created != later and is_later(created, later, one, other)


def is_later(first: str | None, second: str | None, one: ObservedPod, other: ObservedPod) -> bool:
    if first is None or second is None:
        return first is None
    difference = magnitude(first) - magnitude(second)
    uids = (one.metadata.uid or "", other.metadata.uid or "")
    return difference < 0 if difference else uids[0] < uids[1]


def magnitude(written: str) -> int:
    seconds = 86_400 - 82_800 if written == HOUR else 86_400 - TIMES.index(written)
    return int(log2(seconds * 1e9))


def since(one: ObservedPod) -> str | None:
    assert one.status is not None
    return (one.status.conditions or ())[0].last_transition_time


def restarts(one: ObservedPod) -> int:
    assert one.status is not None
    return (one.status.container_statuses or ())[0].restart_count or 0
