"""Rolling updates finish or stop as the arithmetic says, and say so for every choice."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.explain.rollingupdate.rollouts import (
    APART,
    ONE_CPU,
    PORT_80,
    apart_by,
    both,
    builder,
    cluster,
    observe,
    of_ordinals,
    of_sets,
    rolling,
    with_cpu,
    workload,
)
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.nodeedits import Cordon
from webhook.explain.rollingupdate.report import StopBounds
from webhook.explain.rollingupdate.setup import ReplicaSetNames, prepare_sets
from webhook.explain.rollingupdate.simulation import simulate
from webhook.explain.rollingupdate.sizes import (
    BlueGreen,
    Recreate,
    RollingUpdate,
    RolloutStrategy,
)
from webhook.explain.rollingupdate.statefulsets import StatefulSetPlan
from webhook.policy.model import (
    HOSTNAME,
    SCHEDULE_ANYWAY,
    ZONE,
    Constraint,
    LabelSelector,
    Node,
)
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.podlabels import TEMPLATE_HASH

HOST = spread_over(HOSTNAME)
NONE = LabelSelector({"app": "none"})
SOFT = replace(APART, when_unsatisfiable=SCHEDULE_ANYWAY)
HOST_APART = spread_over(HOSTNAME, match_label_keys=(TEMPLATE_HASH,))
UNEVEN = (node("a1", "a"), node("a2", "a"), node("a3", "a"), node("b1", "b"))
THREE = (node("n1", "a"), node("n2", "b"), node("n3", "c"))
CLOSED = (*THREE[:2], replace(THREE[2], unschedulable=True))

Fate = tuple[bool, bool, bool]
"""Whether a rollout finishes with the first choices, can finish, and can stop."""

Skews = list[tuple[int, int, int]]
"""At the end with the first choices, at least, and at most."""

# nodes, strategy and constraints; the fate, the number of steps, and the skews
FATES: dict[
    str,
    tuple[tuple[Node, ...], RolloutStrategy, tuple[Constraint, ...], tuple[Fate, int, Skews]],
] = {
    "nothing to keep": (THREE, rolling(3), (), ((True, True, False), 4, [])),
    "uneven zones and nodes, all counted together": (
        UNEVEN, rolling(3), (spread_over(), HOST), ((False, False, True), 1, [(1, 1, 1), (1, 1, 1)])
    ),
    "the same with each revision apart": (
        UNEVEN, rolling(3), (APART, HOST_APART), ((True, True, False), 4, [(1, 1, 1), (1, 1, 1)])
    ),
    "the zones alone apart": (
        UNEVEN, rolling(3), (APART, HOST), ((False, True, True), 2, [(1, 1, 1), (1, 1, 1)])
    ),
    "a pod that may be missing makes room": (
        UNEVEN, rolling(3, 1, 1), (spread_over(), HOST),
        ((True, True, False), 3, [(1, 1, 1), (1, 1, 1)]),
    ),
    "a node for each pod": (
        THREE, rolling(3), (HOST,), ((True, True, False), 4, [(2, 0, 2)])
    ),
    "a closed domain keeps the surge out": (
        CLOSED, rolling(2), (spread_over(),), ((False, False, True), 1, [(1, 1, 1)])
    ),
    "a closed domain does not count for a soft constraint": (
        CLOSED, rolling(2), (SOFT,), ((True, True, False), 3, [(0, 0, 0)])
    ),
    "recreated pods find their places": (
        UNEVEN, Recreate(3), (spread_over(), HOST), ((True, True, False), 1, [(1, 1, 1), (1, 1, 1)])
    ),
    "twice as many pods": (
        THREE, BlueGreen(3), (spread_over(),), ((True, True, False), 2, [(0, 0, 0)])
    ),
    "twice as many pods have no place": (
        CLOSED, BlueGreen(2), (spread_over(),), ((False, False, True), 1, [(1, 1, 1)])
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "strategy", "constraints", "expected"), FATES.values(), ids=FATES.keys()
)
def test_fate(
    nodes: tuple[Node, ...],
    strategy: RolloutStrategy,
    constraints: tuple[Constraint, ...],
    expected: tuple[Fate, int, Skews],
) -> None:
    forecast, _ = simulate(of_sets(nodes, strategy, *constraints))

    fate = forecast.finishes, forecast.can_finish, forecast.can_stop
    skews = [(skew.after, skew.least, skew.most) for skew in forecast.skews]
    assert (fate, len(forecast.steps), skews) == expected
    assert forecast.all_tried
    assert bool(forecast.reason) is not forecast.finishes


# nodes and CPUs of each, limits of the rollout of two pods, what these take; why it stops
FILTERS: dict[str, tuple[tuple[Node, ...], int, RollingUpdate, dict[str, Any], str]] = {
    "a CPU for each pod": (THREE[:2], 1, rolling(2), {"requests": ONE_CPU}, "Insufficient cpu"),
    "a CPU for the surge": (THREE, 1, rolling(2), {"requests": ONE_CPU}, ""),
    "no surge": (THREE[:2], 1, rolling(2, 0, 1), {"requests": ONE_CPU}, ""),
    "a port for each pod": (THREE[:2], 9, rolling(2), {"ports": PORT_80}, "free ports"),
    "a port for the surge": (THREE, 9, rolling(2), {"ports": PORT_80}, ""),
    "a host for each pod": (
        THREE[:2], 9, rolling(2), {"anti_affinity": apart_by(HOSTNAME)}, "anti-affinity rules"
    ),
    "a host for the surge": (THREE, 9, rolling(2), {"anti_affinity": apart_by(HOSTNAME)}, ""),
    "a zone for each pod": (
        (*THREE[:2], node("b2", "b")), 9, rolling(2), {"anti_affinity": apart_by(ZONE)},
        "anti-affinity rules",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "cpu", "strategy", "taken", "reason"), FILTERS.values(), ids=FILTERS.keys()
)
def test_all_filters_decide(
    nodes: tuple[Node, ...], cpu: int, strategy: RollingUpdate, taken: dict[str, Any], reason: str
) -> None:
    forecast, _ = simulate(of_sets(nodes, strategy, room=with_cpu(nodes, cpu), **taken))

    stops = bool(reason)
    assert (forecast.finishes, forecast.can_finish, forecast.can_stop) == (
        not stops, not stops, stops
    )  # fmt: skip
    assert reason in forecast.reason
    assert forecast.all_tried


def test_nodes_with_more_room_than_pods_need_are_alike() -> None:
    nodes = [node(f"n{i}", "abc"[i % 3]) for i in range(60)]
    room = {one.name: Resources(9000 * at, pods=50 + at) for at, one in enumerate(nodes, start=9)}

    forecast, _ = simulate(of_sets(nodes, rolling(6), spread_over(), room=room, requests=ONE_CPU))

    assert forecast.all_tried


def test_a_rollout_may_stop_with_more_or_fewer_pods() -> None:
    stops, _ = simulate(of_sets(UNEVEN, rolling(3), APART, HOST))
    finishes, _ = simulate(of_sets(THREE, rolling(3), HOST))

    assert stops.stops_with == StopBounds(1, 1)
    assert finishes.stops_with is None


def test_the_steps_show_old_and_new_pods_by_zone() -> None:
    forecast, end = simulate(of_sets(THREE, rolling(3), HOST, spread_over()))

    shown = [
        [(domain.value, domain.old, domain.new) for domain in step.domains]
        for step in (forecast.start, *forecast.steps[:2])
    ]
    assert shown == [
        [("a", 1, 0), ("b", 1, 0), ("c", 1, 0)],
        [("a", 1, 1), ("b", 1, 0), ("c", 1, 0)],
        [("a", 0, 2), ("b", 1, 0), ("c", 1, 0)],
    ]
    assert [step.action for step in forecast.steps] == [
        "new 0 -> 1", "new 1 -> 2, old 3 -> 2", "new 2 -> 3, old 2 -> 1", "old 1 -> 0"
    ]  # fmt: skip
    assert end.census.count("shop", spread_over().label_selector) == {"n1": 2, "n2": 1}


def test_a_rollout_that_stops_ends_with_the_pod_that_has_no_node() -> None:
    forecast, end = simulate(of_sets(UNEVEN, rolling(3), spread_over(), HOST))

    last = forecast.steps[-1]
    assert (last.old, last.new, last.pending) == (3, 0, 1)
    assert end.placement().passing == ()
    assert end.pod.labels[TEMPLATE_HASH] == "2"
    assert forecast.reason.startswith("a new pod cannot be placed: zone (maxSkew 1) allows only b")


def test_a_pod_that_is_not_ready_stops_a_rollout_that_may_miss_none() -> None:
    pods = [*observe({"n1": 1}), *observe({"n2": 1}, first=1, ready="False")]
    setup = of_sets(THREE[:2], rolling(2, 0, 1), pods=pods)

    forecast, _ = simulate(setup)

    assert forecast.finishes, "the pod that is not ready is deleted first"
    assert [step.old for step in forecast.steps] == [1, 0]


def test_after_a_rollout_the_pod_of_the_next_ordinal_is_placed() -> None:
    forecast, end = simulate(of_ordinals(THREE, StatefulSetPlan("web"), 2, spread_over()))

    assert forecast.finishes
    assert end.pod.labels["ordinal"] == "2"
    assert sorted(end.placement().passing) == ["n3"]


def test_a_pod_that_never_gets_ready_is_the_reason() -> None:
    sick = observe({"n1": 1}, name="web", ready="False")

    forecast, _ = simulate(of_ordinals(THREE, StatefulSetPlan("web"), 1, pods=sick))

    assert forecast.reason == "it waits for web-0, which is not ready"


def test_an_old_pod_without_a_place_is_named_if_it_has_an_ordinal() -> None:
    nowhere = replace(THREE[0], unschedulable=True)
    plan = StatefulSetPlan("web", start=3)

    named, _ = simulate(of_ordinals([nowhere], plan, 1))
    unnamed, _ = simulate(of_sets([nowhere], rolling(1, 0, 0)))

    assert named.reason.startswith("it waits for web-3, which cannot be placed")
    assert unnamed.reason.startswith("an old pod cannot be placed")


@pytest.mark.parametrize("constraints", [(), (spread_over(label_selector=NONE),)])
def test_the_constraint_of_the_old_template_measures_the_skew_at_the_start(
    constraints: tuple[Constraint, ...],
) -> None:
    """Not that of a Pending pod, which may be older."""
    pods, revisions, own = observe({"": 1, "n1": 2}), both(APART), builder(constraints, "1")(0)
    older = replace(workload(pods), pending={"web-1-0": own})

    setup = prepare_sets(
        cluster(THREE, revisions, pods), older, rolling(3), revisions, ReplicaSetNames()
    )
    forecast, _ = simulate(setup)

    assert [kind.new == own for kind in setup.kinds] == [True, False, False, False]
    assert [skew.before for skew in forecast.skews] == [3]


def test_many_choices_are_rough_or_incomplete() -> None:
    nodes = [node(f"n{i}", "abc"[i % 3]) for i in range(9)]
    rough, _ = simulate(of_sets(nodes, rolling(10, 3, 2), spread_over()))
    many = [node(f"n{i}", "abc"[i % 3]) for i in range(40)]
    incomplete, _ = simulate(of_sets(many, rolling(40, 10, 10), spread_over(), HOST))

    assert (rough.all_tried, rough.can_stop) == (True, False)
    assert (incomplete.all_tried, incomplete.finishes) == (False, True)
    assert incomplete.notes[-1].startswith("there are too many choices to try all of them")


def test_edits_are_named() -> None:
    forecast, _ = simulate(of_sets(THREE, rolling(3), spread_over()), [Cordon("n9")])

    assert forecast.sentence.startswith("if you cordon node n9: a rollout of 3 replicas")
