"""Pods are removed in the order of their controllers; what is not determined is reported."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.explain.observed import DAY, HOUR, NODES, NOW
from tests.explain.observed import make_pod as pod
from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.newpods import NewPod, PodSuccession
from webhook.explain.removal import (
    BURST,
    RemovalOrder,
    Surplus,
    WorkloadPods,
    find_owner,
)
from webhook.explain.removalchoice import RemovalChoice
from webhook.explain.removalorder import RemovalGroup
from webhook.explain.revisionsizes import RevisionSize
from webhook.explain.runningupdate import RunningUpdate
from webhook.policy.placement.census import ObservedPod
from webhook.policy.podlabels import COMPLETION_INDEX
from webhook.policy.rolloutlimits import RolloutLimits

EMPTY = scenario((node("n1", "a"),), spread_over())


def workload(
    *pods: ObservedPod, order: RemovalOrder = RemovalOrder.REPLICA_SET, **changes: Any
) -> WorkloadPods:
    made: dict[str, Any] = {
        "name": "web",
        "pods": pods,
        "related": pods,
        "now": NOW,
        "order": order,
    }
    return WorkloadPods(**(made | changes))


def names(surplus: Surplus) -> list[str]:
    return [pod.metadata.name or "" for pod in surplus.pods]


def test_a_node_with_more_related_pods_goes_first() -> None:
    pods = (pod("a", "n2"), pod("b", "n1"))
    related = (*pods, pod("other", "n1", owner="web-2"))

    assert names(workload(*pods, related=related).find_surplus(1)) == ["b"]


def test_pods_that_a_step_places_and_removes_change_what_shares_a_node() -> None:
    pods = (pod("a", "n1"), pod("b", "n1"), pod("c", "n2"))
    before = workload(*pods)

    after = before.follow({"n2": 2}, pods[:1])

    assert names(before.find_first_ranked(pods, 1)) in (["a"], ["b"])
    assert names(after.find_first_ranked(pods[1:], 1)) == ["c"]
    assert after.follow({}, pods).joined == {}


def test_related_pods_that_have_ended_do_not_count() -> None:
    pods = (pod("a", "n2", created=HOUR), pod("b", "n1"))
    related = (*pods, pod("other", "n1", phase="Succeeded"))

    assert names(workload(*pods, related=related).find_surplus(1)) == ["a"]


def test_pods_without_readiness_are_compared_by_what_follows() -> None:
    pods = (pod("a", ready="False", since=HOUR, created=DAY), pod("b", "n2", ready="False",
            since=DAY, created=HOUR))  # fmt: skip

    assert names(workload(*pods).find_surplus(1)) == ["b"]


def test_pods_without_a_node_go_first() -> None:
    pods = (pod("a", ready="False", phase="Pending"), pod("b", ""), pod("c", "n2"))

    assert names(workload(*pods).find_surplus(2)) == ["b"]


def test_after_a_burst_the_other_pods_are_ordered_anew() -> None:
    crowded = [pod(f"a{number}", "n1") for number in range(BURST + 2)]
    others = [pod("b1", "n2"), pod("b2", "n2"), pod("b3", "n2")]

    surplus = workload(*crowded, *others).find_surplus(4)

    assert len(surplus.pods) == BURST + 1
    assert surplus.pods[-1].spec.node_name == "n2"
    assert surplus.notes[0].endswith("they are equal in all that it compares: b1, b2, b3")
    assert len(workload(*crowded, *others).find_surplus(0).pods) == BURST + 5


def test_pods_that_go_before_each_other_in_a_circle_are_named() -> None:
    one, other = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
    pods = (
        pod("a", "n1", since=one, uid="1"),
        pod("b", "n2", since=other, uid="2"),
        pod("c", "n3", since=one, uid="3", restarts=1),
    )

    (note,) = workload(*pods).find_surplus(2).notes

    assert note == (
        "which 1 of these 3 pods the controller removes is not determined, since the result of "
        "its sort depends on the order before: a, b, c"
    )


def test_pods_of_lost_nodes_are_not_removed_again() -> None:
    pods = (pod("a", "n9", ready="False"), pod("b"), pod("c", "n2", restarts=1))

    left = workload(*pods).lose_nodes({"n9"})

    assert names(left.find_surplus(1)) == ["c"]
    assert names(left.find_surplus(2)) == []


def test_ties_are_named() -> None:
    pods = [pod(name, f"n{number}") for number, name in enumerate("abc", start=1)]

    note = (
        "which 2 of these 3 pods the controller removes is not determined, since they are "
        "equal in all that it compares: a, b, c"
    )
    choice = RemovalChoice(RemovalGroup(tuple(pods)), 2)
    assert workload(*pods).find_surplus(1) == Surplus(tuple(pods[:2]), (note,), choice)


def test_to_remove_all_nothing_is_undetermined() -> None:
    pods = [pod(name, f"n{number}") for number, name in enumerate("abc", start=1)]

    assert workload(*pods).find_surplus(0) == Surplus(tuple(pods))


def test_pods_of_older_replica_sets_go_first() -> None:
    pods = (pod("a", owner="web-2", ready="False"), pod("b", "n2", owner="web-1"))

    surplus = workload(*pods, newest="web-2").find_surplus(1)

    assert names(surplus) == ["b"]
    assert surplus.notes[0].startswith("a rollout is running: pods of older ReplicaSets are ")


def test_each_replica_set_of_a_rollout_that_waits_keeps_its_size() -> None:
    new = NewPod(EMPTY.pod, EMPTY.spreads)
    sets = (RevisionSize("web-1", 1, new), RevisionSize("web-2", 2, new))
    pods = tuple(pod(name, owner=f"web-{name[0]}") for name in ("1a", "1b", "2a"))
    web = workload(*pods, newest="web-2", sets=sets)

    surplus = web.find_surplus(1)

    assert names(surplus) == ["1a"]
    assert [note.partition(" the controller")[0] for note in surplus.notes] == [
        "which 1 of these 2 pods"
    ]
    assert web.find_new_pods(Surplus()).taken == frozenset()
    assert (web.count_desired(1), workload(*pods).count_desired(1)) == (3, 1)


# nodes of the pods of web-1, which are removed, and of web-2; size of web-2, the last pod that is
# removed, and whose choice is not determined
RACES: dict[str, tuple[tuple[str, ...], tuple[str, ...], int, str, list[str]]] = {
    "a pod that the other one removes shares a node": (("n1",), ("n1", "n2"), 1, "2n1", ["web-2"]),
    "it does not": (("n3",), ("n1", "n2"), 1, "2n2", []),
    "one of two pods": (("n1", "n2"), ("n1", "n2", "n3"), 2, "2n2", ["web-2"]),
    "nothing is left to choose": (("n1",), ("n1",), 0, "2n1", []),
    "another order": (("n1",), ("n1", "n2"), 0, "2n2", []),
}


@pytest.mark.parametrize(("old", "new", "size", "last", "noted"), RACES.values(), ids=RACES.keys())
def test_replica_sets_that_remove_pods_at_the_same_time(
    old: tuple[str, ...], new: tuple[str, ...], size: int, last: str, noted: list[str]
) -> None:
    next_pod = NewPod(EMPTY.pod, EMPTY.spreads)
    sets = (RevisionSize("web-1", 0, next_pod), RevisionSize("web-2", size, next_pod))
    pods = (
        *(pod(f"1{node}", node, owner="web-1") for node in old),
        *(pod(f"2{node}", node, owner="web-2", restarts=int(node == "n2")) for node in new),
    )

    surplus = workload(*pods, sets=sets).find_surplus(size)

    assert names(surplus)[-1] == last
    assert list(surplus.notes) == [
        f"which pods of {name} are removed is not determined: the ReplicaSets remove pods "
        "independently, and each counts those of the others on a node until they are deleted"
        for name in noted
    ]


def test_pods_beyond_the_replicas_may_be_those_of_a_rolling_update() -> None:
    pods = tuple(pod(name) for name in "abcd")
    web = workload(*pods, update=RunningUpdate(3, RolloutLimits(1, 0)))

    assert [web.is_updating(replicas) for replicas in (1, 2, 3, 4)] == [False, False, True, False]
    assert not workload(*pods).is_updating(3)


def test_a_pod_without_a_replica_set_has_no_owner() -> None:
    alone = replace(pod("a"), metadata=replace(pod("a").metadata, owner_references=()))

    assert (find_owner(pod("a")), find_owner(alone)) == ("web-1", "")


def test_of_an_unknown_controller_the_order_is_assumed() -> None:
    pods = (pod("a"), pod("b", "n2", restarts=1))

    surplus = workload(*pods, order=RemovalOrder.UNKNOWN).find_surplus(1)

    assert names(surplus) == ["b"]
    assert surplus.notes == (
        "which pods the controller removes is not known: the order of ReplicaSets is used",
    )


SETS: dict[str, tuple[int, int, list[str]]] = {
    "the highest ordinals": (0, 1, ["web-2", "web-1"]),
    "a gap is filled, and the highest goes": (0, 2, ["web-2"]),
    "none": (0, 3, []),
    "from the first ordinal on": (1, 1, ["web-2", "web-0"]),
}


@pytest.mark.parametrize(("start", "replicas", "removed"), SETS.values(), ids=SETS)
def test_a_stateful_set_removes_by_ordinal(start: int, replicas: int, removed: list[str]) -> None:
    others = (pod("web-x"), pod("other-9"))
    pods = [pod(f"web-{ordinal}", ready="False") for ordinal in (0, 1, 2)]

    surplus = workload(*pods, *others, order=RemovalOrder.ORDINAL, start=start).find_surplus(
        replicas
    )

    assert (names(surplus), surplus.notes) == (removed, ())


def test_pods_without_a_status_are_equal() -> None:
    bare = msgspec.convert({"spec": {"nodeName": "n1"}}, ObservedPod)

    surplus = workload(bare, bare).find_surplus(1)

    assert (len(surplus.pods), len(surplus.notes)) == (1, 1)


TIMES = st.sampled_from((None, DAY, HOUR, "2026-01-03T00:00:00Z", "2026-01-01T00:00:00"))
random_pods = st.builds(
    pod,
    name=st.uuids().map(str),
    node=st.sampled_from(NODES),
    phase=st.sampled_from(("Pending", "Unknown", "Running")),
    ready=st.sampled_from(("True", "False")),
    since=TIMES,
    cost=st.sampled_from((None, "1", "-1")),
    created=TIMES,
    restarts=st.integers(0, 2),
    uid=st.none() | st.uuids().map(str),
)


@given(st.lists(random_pods, max_size=9), st.integers(0, 9))
def test_the_surplus_without_a_note_is_the_same_for_any_order_of_pods(
    pods: list[ObservedPod], replicas: int
) -> None:
    surplus = workload(*pods).find_surplus(replicas)
    other = workload(*pods[::-1]).find_surplus(replicas)

    assert len(surplus.pods) == max(0, len(pods) - replicas)
    assert bool(other.notes) == bool(surplus.notes)
    assert surplus.notes or set(names(other)) == set(names(surplus))


def test_new_pods_take_the_ordinals_without_a_pod_on_a_node_that_stays() -> None:
    pods = [pod("web-0"), pod("web-1", "lost"), pod("web-2", ""), pod("web-3"), pod("other")]
    stateful_set = workload(*pods, order=RemovalOrder.ORDINAL).lose_nodes({"lost"})

    surplus = stateful_set.find_surplus(3)

    assert names(surplus) == ["web-3"]
    new_pods = stateful_set.find_new_pods(surplus)
    assert new_pods.taken - {-1} == {0}
    assert new_pods.waiting == {2}
    assert workload(*pods).find_new_pods(surplus).waiting == frozenset()


def test_a_job_removes_no_pod_and_new_ones_take_the_indexes_without_a_pod() -> None:
    written = {"web-a": "0", "web-b": "2", "web-7": "x"}
    pods = [
        replace(bare, metadata=replace(bare.metadata, labels={COMPLETION_INDEX: index}))
        for bare, index in ((pod(name), index) for name, index in written.items())
    ]
    job = workload(*pods, order=RemovalOrder.INDEX)

    assert job.find_surplus(1) == Surplus()
    assert job.find_new_pods(Surplus()).taken - {-1} == {0, 2}


UNREADY = pod("web-0", ready="False")
# pods, desired replicas, whether pods are created in parallel, whether there is a note
WAITING: dict[str, tuple[tuple[ObservedPod, ...], int, bool, bool]] = {
    "a later pod is missing": ((UNREADY, pod("web-2", "n2")), 3, False, True),
    "a later pod is removed": ((UNREADY, pod("web-1", "n2")), 1, False, True),
    "nothing is left to do": ((UNREADY, pod("web-1", "n2")), 2, False, False),
    "all are ready": ((pod("web-0"),), 3, False, False),
    "an earlier pod is missing": ((pod("web-1", ready="False"),), 2, False, False),
    "the pod itself is removed": ((pod("web-1", ready="False"), pod("web-0")), 1, False, False),
    "its node is lost": ((pod("web-0", "lost", ready="False"),), 2, False, False),
    "in parallel": ((UNREADY,), 3, True, False),
}


@pytest.mark.parametrize("case", WAITING.values(), ids=WAITING.keys())
def test_a_stateful_set_waits_for_a_pod_that_is_not_ready(
    case: tuple[tuple[ObservedPod, ...], int, bool, bool],
) -> None:
    pods, replicas, is_parallel, is_noted = case
    succession = PodSuccession(is_parallel=is_parallel)
    found = workload(*pods, order=RemovalOrder.ORDINAL, succession=succession)
    found = found.lose_nodes({"lost"})
    surplus = found.find_surplus(replicas)

    notes = list(found.describe_waiting(replicas, surplus, found.find_new_pods(surplus)))

    assert bool(notes) is is_noted
    assert all(note.startswith("web-0 is not ready: with podManagementPolicy") for note in notes)


def test_a_pod_without_the_condition_and_other_controllers_wait_for_nothing() -> None:
    bare = msgspec.convert({"metadata": {"name": "web-0"}, "spec": {"nodeName": "n1"}}, ObservedPod)

    for found in (workload(bare, order=RemovalOrder.ORDINAL), workload(UNREADY)):
        new_pods = found.find_new_pods(Surplus())
        assert list(found.describe_waiting(3, Surplus(), new_pods)) == []


def test_an_ordered_set_removes_pods_last_and_none_while_a_replica_has_no_node() -> None:
    ordered = workload(order=RemovalOrder.ORDINAL)
    parallel = workload(order=RemovalOrder.ORDINAL, succession=PodSuccession(is_parallel=True))

    assert (ordered.removes_last, parallel.removes_last) == (True, False)
    assert not workload().removes_last
    held = Surplus((pod("web-2"),)).hold()
    assert (held.pods, len(held.notes)) == ((), 1)
    assert Surplus().hold() == Surplus()
