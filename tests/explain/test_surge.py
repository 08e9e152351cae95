"""Pods beyond the replicas stay while a rolling update finds no node for new ones."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explain.observed import NOW, make_pod
from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.explain.removal import RemovalOrder, WorkloadPods
from webhook.explain.removalorder import is_ready
from webhook.explain.runningupdate import RunningUpdate
from webhook.explain.surge import ReplacedPods, continue_update
from webhook.policy.placement.census import ObservedPod
from webhook.policy.rolloutlimits import RolloutLimits

OLD, NEW = "web-1", "web-2"
ONE_MORE = RolloutLimits(1, 0)
ABC = [(OLD, name, "True") for name in ("n1", "n2", "n3")]

Observed = Sequence[tuple[str, str, str]]
"""ReplicaSet, node (empty without one) and readiness of pods."""


def observe(pods: Observed) -> tuple[ObservedPod, ...]:
    return tuple(
        make_pod(f"{owner}-{number}", name, owner=owner, ready=ready)
        for number, (owner, name, ready) in enumerate(pods)
    )


def settle(
    pods: Observed,
    replicas: int = 3,
    *,
    limits: RolloutLimits = ONE_MORE,
    blocked: bool = False,
    lost: frozenset[str] = frozenset(),
) -> ReplacedPods:
    """Settle pods in zones a to c; a fourth zone with a tainted node may block new ones."""
    nodes = [node(f"n{number}", zone) for number, zone in enumerate("abc", start=1)]
    blocker = [node("n4", "d", taints=[GPU])] if blocked else []
    counted = Counter(name for _, name, _ in pods if name)
    left = [one for one in nodes if one.name not in lost]
    before = scenario([*left, *blocker], spread_over(), pods=counted)
    own = observe(pods)
    workload = WorkloadPods(
        name="web", pods=own, related=own, order=RemovalOrder.REPLICA_SET, newest=NEW, now=NOW
    )
    return continue_update(before, workload, RunningUpdate(replicas, limits), lost, replicas)


def names(done: ReplacedPods) -> list[str]:
    return [pod.metadata.name or "" for pod in done.surplus.pods]


def test_a_new_pod_without_a_node_keeps_the_old_ones() -> None:
    done = settle([*ABC, (NEW, "", "False")], blocked=True)

    assert (names(done), done.placement.placed, done.pending, done.desired) == ([], {}, 1, 4)
    assert done.surplus.notes == tuple(RunningUpdate(3, ONE_MORE).describe(3, 4))


def test_a_new_pod_is_placed_beside_the_old_ones_and_replaces_one() -> None:
    on_a = [(NEW, "n1", "True"), (NEW, "", "False")]

    done = settle([*ABC, *on_a], 4)

    assert len(names(done)) == 1
    assert done.placement.placed == {"n2": 1}
    assert (done.pending, done.desired) == (0, 4)


@pytest.mark.parametrize("closed", ["n1", "n2", "n3"])
def test_the_old_pod_that_shares_the_node_of_a_new_one_is_removed(closed: str) -> None:
    pods = [one for one in reversed(ABC) if one[1] != closed]

    done = settle([*pods, (NEW, "", "False")], replicas=2, lost=frozenset({closed}))

    (removed,) = done.surplus.pods
    assert done.placement.placed == {removed.spec.node_name: 1}


def test_a_new_pod_that_is_not_ready_keeps_the_old_ones() -> None:
    done = settle([*ABC, (NEW, "n1", "False")])

    assert (names(done), done.placement.placed, done.pending, done.desired) == ([], {}, 0, 4)


@pytest.mark.parametrize(("name", "ready"), [("n1", "False"), ("", "False")])
def test_old_pods_that_are_not_available_go_first(name: str, ready: str) -> None:
    done = settle([*ABC[1:], (OLD, name, ready), (NEW, "n1", "True")])

    assert (names(done), done.placement.placed, done.pending) == (["web-1-2"], {}, 0)


def test_an_old_pod_that_waits_is_placed_if_it_is_kept() -> None:
    done = settle([*ABC[:2], (OLD, "", "False"), (NEW, "n1", "False")])

    assert (names(done), done.placement.placed, done.pending) == ([], {"n3": 1}, 0)


def test_pods_of_lost_nodes_wait() -> None:
    done = settle([*ABC, (NEW, "", "False")], lost=frozenset({"n3"}))

    assert len(names(done)) == 0
    assert (done.placement.placed.total(), done.pending, done.desired) == (1, 0, 3)


def test_a_removed_pod_makes_room_for_another_new_one() -> None:
    waiting = [(NEW, "", "False")] * 2
    stays = [(OLD, "n1", "True"), (OLD, "n1", "True"), (OLD, "n1", "True")]

    done = settle([*stays, *waiting], limits=RolloutLimits(2, 0))

    assert (len(names(done)), done.pending, done.desired) == (2, 0, 3)
    assert done.placement.placed == {"n2": 1, "n3": 1}


PODS = st.lists(
    st.tuples(
        st.sampled_from([OLD, NEW]),
        st.sampled_from(["", "n1", "n2", "n3"]),
        st.sampled_from(["True", "False"]),
    ),
    min_size=1,
    max_size=9,
)


@given(PODS, st.integers(0, 4), st.integers(0, 2), st.booleans(), st.sampled_from(["", "n1"]))
def test_pods_are_neither_lost_nor_made_unavailable(
    pods: Observed, surge: int, unavailable: int, blocked: bool, lost: str
) -> None:
    replicas = max(1, len(pods) - surge)
    limits = RolloutLimits(surge, unavailable)
    gone = frozenset({lost} - {""})

    done = settle(pods, replicas, limits=limits, blocked=blocked, lost=gone)

    removed = {*names(done)}
    own = observe(pods)
    running = [pod for pod in own if pod.spec.node_name and pod.spec.node_name not in gone]
    kept = [pod for pod in running if (pod.metadata.name or "") not in removed]
    placed = done.placement.placed.total()
    assert len(kept) + placed + done.pending == done.desired >= min(replicas, len(pods))
    assert not any(name.startswith(NEW) for name in removed)
    before, after = (sum(map(is_ready, found)) for found in (running, kept))
    assert after + placed >= min(before, replicas - limits.resolve(replicas).unavailable)
