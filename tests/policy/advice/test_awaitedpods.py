"""What places all pods that a workload awaits, compared with kube-scheduler in every order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.orders import count_placed
from tests.policy.advice.subjects import (
    GPU,
    audit,
    check_rule,
    deployed,
    node,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.awaitedpods import AwaitedPods, count_awaited, count_places_of
from webhook.policy.advice.ordersearch import DomainLimit
from webhook.policy.advice.recreation import RecreatedPods
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DEPLOYMENT, REPLICA_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, GroupKind, Node

OLD = replace(running("a1", "b1"), replaced=True)

SCALED = ReplicaRange(4, 9, "HorizontalPodAutoscaler/web")

# subject, pods without a node
AWAITED: dict[str, tuple[Subject, int]] = {
    "no pod": (deployed(replicas=3), 3),
    "some pods": (replace(deployed(replicas=3), running=(running("a1", ""),)), 2),
    "all pods, and a rollout to come": (
        replace(deployed(replicas=2), running=(running("a1", "b1"),)), 1
    ),
    "pods that a rollout replaces": (
        replace(deployed(replicas=3), running=(OLD, running("a1"))), 2
    ),
    "an unknown number": (deployed(replicas=None), 1),
    "the fewest of an autoscaler": (replace(deployed(replicas=None), scaling=SCALED), 4),
    "more than the fewest of an autoscaler": (replace(deployed(replicas=6), scaling=SCALED), 6),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "number"), AWAITED.values(), ids=AWAITED.keys())
def test_pods_without_a_node_are_awaited(judged: Subject, number: int) -> None:
    assert count_awaited(judged) == number


BUSY = [*zones("a1", "b1"), node("c1", "zone-c"), node("d1")]
SHOP = {"matchLabels": {"app": "shop"}}

# constraint, nodes that the pods can go to, places of at most five
PLACES: dict[str, tuple[Json, list[str], int]] = {
    "every domain": (spread(), ["a1", "b1", "c1"], 5),
    "one domain of three": (spread(), ["a1"], 0),
    "the emptiest domain": (spread(), ["c1"], 2),
    "two domains": (spread(), ["a1", "c1"], 3),
    "no domain": (spread(), ["d1"], 5),
    "domains that are too few": (spread(minDomains=4), ["a1", "b1", "c1"], 1),
    "a constraint that counts no pod of its own": (spread(labelSelector=SHOP), ["a1"], 5),
}


@pytest.mark.parametrize(("written", "names", "places"), PLACES.values(), ids=PLACES.keys())
def test_a_constraint_has_places_on_some_nodes(
    written: Json, names: list[str], places: int
) -> None:
    judged, context = deployed(written), audit(BUSY, [running("a1", "b1")])
    assert context.cluster is not None
    (tally,) = context.cluster.tally_known(judged.next_pod, judged.constraints, context.gates).hard

    assert count_places_of(tally, [one for one in BUSY if one.name in names], 5) == places


TWO = {0: DomainLimit(1, (1, 0)), 1: DomainLimit(1, (1, 0, 0))}
CELLS = [(0, 0), (0, 1)]


def test_a_raise_may_be_no_help() -> None:
    awaited = AwaitedPods(TWO, CELLS, 3)
    few, many = (
        RecreatedPods.read(replace(deployed(replicas=number), kind=REPLICA_SET), audit())
        for number in (2, 9)
    )

    assert awaited.find_raise({0: 2}, many) is None
    assert awaited.find_raise({}, many) is None
    assert awaited.find_raise({1: 2}, few) is None
    assert not awaited.fit(without=1)
    assert awaited.fit(without=0) is False


def test_what_cannot_be_searched_is_not_raised() -> None:
    limits = {
        0: DomainLimit(1, (0,) * 3),
        1: DomainLimit(3, (0,) * 7),
        2: DomainLimit(2, (0,) * 12),
    }
    awaited = AwaitedPods(limits, [(i % 3, i % 7, i) for i in range(12)], 40)
    judged = replace(deployed(replicas=40), kind=REPLICA_SET)

    assert awaited.fit() is None
    assert awaited.find_raise({0: 1}, RecreatedPods.read(judged, audit())) is None


HOST = spread(topologyKey=HOSTNAME)
FEW_RACKS = [
    node("b1", "b", rack="2"), node("c1", "c", rack="1"), node("c2", "c", rack="2"),
    node("a1", "a", rack="2"),
]  # fmt: skip
TWICE = [spread(), spread(nodeTaintsPolicy="Honor")]
SOFT = "whenUnsatisfiable: ScheduleAnyway"

# a workload, its nodes, the constraint to change and how
CHANGES: dict[str, tuple[Subject, list[Node], tuple[int, str]]] = {
    "the constraint that TSC109 raises": (
        replace(deployed(spread(), HOST), running=(running("a1", "b1", "b1"),)),
        zones("a1", "b1", "b2"), (1, "maxSkew: 2"),
    ),
    "the constraint that TSC109 makes soft": (
        replace(
            deployed(spread(), spread(topologyKey="rack")),
            running=(running("c1", "c1", "a1", "a1", "b1"),),
        ),
        FEW_RACKS, (1, SOFT),
    ),
    "a constraint that is not enough, if none is": (
        replace(
            deployed(*TWICE, HOST, spread(topologyKey=HOSTNAME, nodeTaintsPolicy="Honor")),
            kind=REPLICA_SET, running=(running("a1", "b1", "b1"),),
        ),
        zones("a1", "b1", "b2"), (0, SOFT),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "nodes", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_a_constraint_is_changed(
    judged: Subject, nodes: list[Node], expected: tuple[int, str]
) -> None:
    (violation,) = check_rule("TSC106", judged, audit(nodes, judged.running))

    index, instead = expected
    assert violation.field.startswith(judged.field(index))
    assert violation.instead == instead


def test_constraints_that_count_other_pods_only_can_be_raised() -> None:
    others = spread(topologyKey=HOSTNAME, labelSelector={"matchLabels": {"app": "shop"}})
    shop = running("a1", "a1", "a1", labels={"app": "shop"})
    own = running("b1", "b1", "b1", "b1")
    judged = replace(deployed(spread(), others, replicas=9), running=(own,))

    (violation,) = check_rule("TSC106", judged, audit(zones("a1", "b1"), [shop, own]))

    assert violation.field.endswith("[1].maxSkew")
    assert violation.instead == "maxSkew: 3"


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    """Draw nodes of zones and racks, some of which are tainted."""
    return [
        node(f"n{number}", draw(st.sampled_from("ab")), *draw(st.sampled_from([(), (), (GPU,)])),
             rack=draw(st.sampled_from("12")))
        for number in range(draw(st.integers(2, 4)))
    ]  # fmt: skip


@st.composite
def some_constraints(draw: st.DrawFn) -> list[Json]:
    """Draw hard constraints on different keys."""
    keys = draw(st.lists(st.sampled_from([ZONE, HOSTNAME, "rack"]), min_size=1, unique=True))
    taints = st.sampled_from(["Honor", "Ignore"])
    return [
        spread(topologyKey=key, maxSkew=draw(st.integers(1, 2)), nodeTaintsPolicy=draw(taints))
        for key in keys
    ]


@given(
    some_nodes(),
    some_constraints(),
    st.lists(st.integers(0, 3), max_size=4),
    st.integers(1, 3),
    st.sampled_from([REPLICA_SET, DEPLOYMENT, STATEFUL_SET]),
)
def test_a_suggested_raise_places_all_awaited_pods(
    nodes: list[Node], written: list[Json], where: list[int], more: int, kind: GroupKind
) -> None:
    before = [nodes[number % len(nodes)].name for number in where]
    replicas = len(before) + more
    pods = (running(*before),) if before else ()
    judged = replace(subject(workload(*written, kind=kind, replicas=replicas)), running=pods)

    for violation in check_rule("TSC106", judged, audit(nodes, pods)):
        name, _, value = violation.instead.partition(": ")
        if name != "maxSkew":
            continue
        index = int(violation.field.partition("[")[2].partition("]")[0])
        least = judged.constraints[index].max_skew

        def is_enough(max_skew: int, index: int = index) -> bool:
            changed = [*judged.constraints]
            changed[index] = replace(changed[index], max_skew=max_skew)
            placed = count_placed(judged, nodes, more, constraints=changed, before=before)
            anew = count_placed(judged, nodes, replicas, constraints=changed)
            return placed == {more} and (kind == REPLICA_SET or anew == {replicas})

        assert [is_enough(skew) for skew in range(least, int(value) + 1)] == [
            *[False] * (int(value) - least), True,
        ]  # fmt: skip
