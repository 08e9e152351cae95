"""The least skew of a soft constraint beside hard ones, compared with every placement."""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

import pytest

from tests.policy.placement.clusters import GPU, gates, node, spread_over
from webhook.policy.advice.feasibility import FEASIBILITY_REPLICAS
from webhook.policy.advice.leastskew import LeastSkew, find_least_skew
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, Constraint, LabelSelector, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.place import ConstraintTallies, tally_constraints
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.placement.topology import Topology

WEB = IncomingPod("shop", {"app": "web"})
SOFT_HOST = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)
SOFT_ZONE = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
ZONES = spread_over()
HOSTS = spread_over(HOSTNAME)


def tally(
    nodes: Sequence[Node], placed: Sequence[str], *constraints: Constraint
) -> ConstraintTallies:
    census = Census()
    for name in placed:
        census.add(WEB.namespace, WEB.labels, name)
    spreads = resolve_constraints(constraints, WEB.labels, gates())
    topology = Topology(nodes)
    tallies = tally_constraints(WEB, spreads, topology, census)
    return tallies.reachable(topology, WEB.demands)


def find(
    nodes: Sequence[Node], placed: Sequence[str], *constraints: Constraint
) -> LeastSkew | None:
    tallies = tally(nodes, placed, *constraints)
    return find_least_skew(tallies.soft[0], tallies.hard, Topology(nodes), WEB.demands)


def node_of(name: str, rack: str = "") -> Node:
    return node(name, f"zone-{name[0]}", rack=rack)


def list_skews(nodes: Sequence[Node], pods: int, *constraints: Constraint) -> Iterator[int]:
    """Yield the skew of the soft constraint in every placement that the hard ones allow."""
    opened = [one.name for one in nodes if not one.taints]
    for placed in combinations_with_replacement(opened, pods):
        tallies = tally(nodes, placed, *constraints)
        if all(one.largest_skew <= one.spread.max_skew for one in tallies.hard):
            yield tallies.soft[0].largest_skew


UNEVEN = [node_of("a1"), node_of("b1"), node_of("b2"), node_of("b3")]
CLOSED = [*UNEVEN, node("c1", "zone-c", taints=[GPU])]

# nodes, constraints
NESTED: dict[str, tuple[list[Node], tuple[Constraint, ...]]] = {
    "nodes within hard zones": (UNEVEN, (ZONES, SOFT_HOST)),
    "nodes within hard zones of maxSkew 2": (UNEVEN, (spread_over(max_skew=2), SOFT_HOST)),
    "nodes within hard zones, too few": (UNEVEN, (spread_over(min_domains=3), SOFT_HOST)),
    "nodes within hard zones, one of which is closed": (CLOSED, (ZONES, SOFT_HOST)),
    "soft zones of hard nodes": (UNEVEN, (HOSTS, SOFT_ZONE)),
    "soft zones of hard nodes, one of which is closed": (CLOSED, (HOSTS, SOFT_ZONE)),
    "the same zones": (UNEVEN, (spread_over(max_skew=2), SOFT_ZONE)),
}


@pytest.mark.parametrize("pods", range(2, 7))
@pytest.mark.parametrize(("nodes", "constraints"), NESTED.values(), ids=NESTED.keys())
def test_the_least_skew_is_that_of_the_best_placement(
    nodes: list[Node], constraints: tuple[Constraint, ...], pods: int
) -> None:
    placed = ["b1"] * pods

    found = find(nodes, placed, *constraints)

    key = constraints[0].topology_key
    least = min(list_skews(nodes, pods, *constraints), default=0)
    assert found == (LeastSkew(least, key) if least > 1 else None)


def test_the_least_skew_may_exceed_the_present_one_while_the_hard_one_does_not_hold() -> None:
    """Ten pods of the third zone share its only node; three nodes share those of the first one."""
    pods = {"a1": 4, "a2": 4, "a3": 4, "b1": 6, "b2": 6, "c1": 6}
    placed = [name for name, number in pods.items() for _ in range(number)]

    found = find([node_of(name) for name in pods], placed, ZONES, SOFT_HOST)

    assert found == LeastSkew(7, ZONE)


def test_the_hard_constraint_that_allows_least_is_named() -> None:
    nodes = [node_of(one.name, rack=one.name) for one in UNEVEN]
    racks = spread_over("rack", max_skew=6)

    assert find(nodes, ["a1"] * 3 + ["b1"] * 3, racks, ZONES, SOFT_HOST) == LeastSkew(2, ZONE)


SIX = ["a1", "a1", "a1", "b1", "b2", "b3"]
CORDONED = [*UNEVEN[:3], Node("b3", {**UNEVEN[3].labels}, unschedulable=True)]
OVERLAPPING = [node_of("a1", rack="1"), node_of("a2", rack="2"), node_of("b1", rack="1")]

# nodes, pods, constraints
UNKNOWN: dict[str, tuple[list[Node], list[str], tuple[Constraint, ...]]] = {
    "no hard constraint": (UNEVEN, SIX, (SOFT_HOST,)),
    "a hard constraint that counts no pod": (
        UNEVEN, SIX, (spread_over(label_selector=LabelSelector()), SOFT_HOST)
    ),
    "a hard constraint that counts other pods": (
        UNEVEN, SIX, (spread_over(label_selector=LabelSelector({"app": "db"})), SOFT_HOST)
    ),
    "a pod on a cordoned node": (CORDONED, SIX, (ZONES, SOFT_HOST)),
    "a pod on a node that is gone": (UNEVEN, [*SIX, "gone"], (ZONES, SOFT_HOST)),
    "a node that does not count for the soft constraint": (
        [*UNEVEN, Node("b4", {ZONE: "zone-b"})], SIX, (ZONES, SOFT_HOST)
    ),
    "domains that overlap": (
        OVERLAPPING, ["a1", "a1", "a2"],
        (ZONES, spread_over("rack", when_unsatisfiable=SCHEDULE_ANYWAY)),
    ),
    "more pods than are looked at": (
        UNEVEN, ["a1"] * (FEASIBILITY_REPLICAS + 1), (ZONES, SOFT_HOST)
    ),
    "hard constraints that no placement keeps": (
        CLOSED, ["b1"] * 6, (ZONES, SOFT_HOST)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "placed", "constraints"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_is_not_known_is_not_reported(
    nodes: list[Node], placed: list[str], constraints: tuple[Constraint, ...]
) -> None:
    assert find(nodes, placed, *constraints) is None


def test_domains_that_are_left_out_of_the_soft_constraint_are_not_known() -> None:
    tallies = tally(UNEVEN, SIX, ZONES, SOFT_HOST)
    soft = tallies.soft[0]
    fewer = soft.within(soft.domains.keep({"a1", "b1"}))

    assert find_least_skew(fewer, tallies.hard, Topology(UNEVEN), WEB.demands) is None
