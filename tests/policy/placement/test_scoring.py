from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.placement.clusters import (
    GPU,
    WEB,
    WEB_POD,
    cluster,
    gates,
    node,
    running,
    spread_over,
    write_status,
)
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, Constraint, Node
from webhook.policy.placement.scoring import (
    FilterStatus,
    Scores,
    filter_node,
    normalize_scores,
    round_half_up,
    score_nodes,
)
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.placement.tallies import PodTally, tally_pods
from webhook.policy.placement.topology import Topology


def soft(key: str = ZONE, **changed: object) -> Constraint:
    return spread_over(key, when_unsatisfiable=SCHEDULE_ANYWAY, **changed)


def scored(
    topology: Topology, pods: dict[str, int], *constraints: Constraint, requires_keys: bool = True
) -> Scores:
    spreads = resolve_constraints(constraints, WEB, gates()).soft
    tallies = tally_pods(WEB_POD, spreads, topology, running(pods), requires_keys=requires_keys)
    return score_nodes(tallies, topology.nodes, requires_keys=requires_keys)


def test_the_fuller_a_domain_the_worse_its_nodes() -> None:
    topology = Topology([node("n1", "a"), node("n2", "b"), node("n3", "b")])

    found = scored(topology, {"n1": 1, "n2": 2, "n3": 1}, soft())

    assert found.raw == {"n1": 1, "n2": 4, "n3": 4}  # ln 4 = 1.39, 3 ln 4 = 4.16
    assert found.normalized == {"n1": 100, "n2": 25, "n3": 25}


def test_a_larger_max_skew_makes_differences_in_scores_smaller() -> None:
    topology = Topology([node("n1", "a"), node("n2", "b")])

    found = scored(topology, {"n1": 1}, soft(max_skew=5))

    assert found.raw == {"n1": 5, "n2": 4}
    assert found.normalized == {"n1": 80, "n2": 100}


def test_nodes_that_lack_a_key_are_ignored() -> None:
    topology = Topology([node("n1", "a"), node("n2")])

    found = scored(topology, {"n1": 1, "n2": 1}, soft())

    assert found.raw == {"n1": 1, "n2": 0}  # ln 3 = 1.10
    assert found.normalized == {"n1": 100, "n2": 0}


def test_with_system_defaults_a_missing_value_is_one_more_domain() -> None:
    topology = Topology([node("n1", "a"), node("n2"), node("n3")])

    found = scored(topology, {"n1": 1, "n2": 1}, soft(), requires_keys=False)

    assert found.raw == {"n1": 1, "n2": 0, "n3": 0}  # ln 4 = 1.39


def test_for_the_hostname_the_pods_on_the_node_itself_count() -> None:
    nodes = [node("n1"), node("n2", taints=[GPU]), Node("n3", {HOSTNAME: "n2"})]

    found = scored(Topology(nodes), {"n1": 1, "n2": 2}, soft(HOSTNAME, node_taints_policy="Honor"))

    assert found.raw == {"n1": 2, "n2": 3, "n3": 0}  # ln 5 = 1.61


def test_only_eligible_nodes_count_in_other_domains() -> None:
    topology = Topology([node("n1", "a"), node("n2", "b", taints=[GPU])])

    found = scored(topology, {"n1": 1, "n2": 2}, soft(node_taints_policy="Honor"))

    assert found.raw == {"n1": 1, "n2": 0}


def test_constraints_add_up() -> None:
    topology = Topology([node("n1", "a", rack="r1"), node("n2", "b", rack="r1")])

    found = scored(topology, {"n1": 1}, soft(), soft("rack"))

    assert found.raw == {"n1": round(log(4) + log(3)), "n2": round(log(3))}


def test_a_missing_key_leaves_the_other_constraints() -> None:
    topology = Topology([node("n1", "a", rack="r1"), node("n2", rack="r2")])

    found = scored(topology, {"n2": 2}, soft(), soft("rack"), requires_keys=False)

    assert found.raw == {"n1": 0, "n2": round(2 * log(4))}


def test_no_node_means_no_score() -> None:
    found = scored(Topology([]), {}, soft())

    assert (found.raw, found.normalized, found.best) == ({}, {}, ())


def test_the_best_nodes_have_the_highest_score() -> None:
    topology = Topology([node("n1", "a"), node("n2", "b"), node("n3", "c")])

    assert scored(topology, {"n1": 1}, soft()).best == ("n2", "n3")


NORMALISED = {
    "all are empty": ({"a": 0, "b": 0}, {"a": 100, "b": 100}),
    "all are equal": ({"a": 7, "b": 7}, {"a": 100, "b": 100}),
    "the division is cut off": ({"a": 1, "b": 2, "c": 3}, {"a": 100, "b": 66, "c": 33}),
    "nothing to rank": ({}, {}),
}


@pytest.mark.parametrize(("raw", "points"), NORMALISED.values(), ids=NORMALISED.keys())
def test_normalise(raw: dict[str, int], points: dict[str, int]) -> None:
    assert normalize_scores(raw) == points


@pytest.mark.parametrize(
    ("number", "rounded"), [(0.0, 0), (0.5, 1), (1.5, 2), (2.5, 3), (0.49999999999999994, 0)]
)
def test_a_half_is_rounded_up(number: float, rounded: int) -> None:
    assert round_half_up(number) == rounded


@given(st.dictionaries(st.text("abc"), st.integers(0, 10_000)))
def test_fewer_pods_are_never_worth_less(raw: dict[str, int]) -> None:
    points = normalize_scores(raw)

    assert all(0 <= score <= 100 for score in points.values())
    assert all(points[a] >= points[b] for a in raw for b in raw if raw[a] <= raw[b])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_domains_with_as_many_pods_are_worth_the_same(pods: list[int]) -> None:
    names = [f"n{number}" for number in range(len(pods))]
    topology = Topology(node(name, f"zone-{name}") for name in names)

    found = scored(topology, dict(zip(names, pods, strict=True)), soft())

    by_pods = {number: found.raw[name] for name, number in zip(names, pods, strict=True)}
    assert [by_pods[number] for number in pods] == [found.raw[name] for name in names]


SKEWED = "Unschedulable: node(s) didn't match pod topology spread constraints"
LACKING = (
    "UnschedulableAndUnresolvable: node(s) didn't match pod topology spread constraints "
    "(missing required label)"
)


def tallies(
    topology: Topology, pods: dict[str, int], *constraints: Constraint
) -> tuple[PodTally, ...]:
    return tally_pods(
        WEB_POD, resolve_constraints(constraints, WEB, gates()).hard, topology, running(pods)
    )


# constraints, statuses of n1 (zone a, rack r1, two pods), n2 (zone b, one pod), n3 (no zone)
CHECKS: dict[str, tuple[tuple[Constraint, ...], list[str]]] = {
    "no constraint": ((), ["Success", "Success", "Success"]),
    "one constraint": ((spread_over(),), [SKEWED, "Success", LACKING]),
    "a wider skew": ((spread_over(max_skew=2),), ["Success", "Success", LACKING]),
    "the first rejection counts, skew first": (
        (spread_over(HOSTNAME), spread_over()), [SKEWED, "Success", LACKING]
    ),
    "a node without one of the keys is no domain of the others": (
        (spread_over("rack"), spread_over()), ["Success", LACKING, LACKING]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("constraints", "statuses"), CHECKS.values(), ids=CHECKS.keys())
def test_check(constraints: tuple[Constraint, ...], statuses: list[str]) -> None:
    topology = Topology([node("n1", "a", rack="r1"), node("n2", "b"), node("n3")])
    hard = tallies(topology, {"n1": 2, "n2": 1}, *constraints)

    assert [write_status(filter_node(found, hard)) for found in topology.nodes] == statuses


def test_a_rejection_names_the_constraint_and_the_skew() -> None:
    topology, _ = cluster({"a": 3, "b": 1})
    hard = tallies(topology, {"a": 3, "b": 1}, spread_over())

    rejected, passed = (filter_node(found, hard) for found in topology.nodes)

    assert (rejected.spread, rejected.skew) == (hard[0].spread, 3)
    assert passed.passes
    assert not rejected.passes


def test_a_node_that_is_no_domain_has_no_pods() -> None:
    topology = Topology([node("n1", "a", rack="r1"), node("n2", "b")])
    hard = tallies(topology, {"n1": 1, "n2": 9}, spread_over(), spread_over("rack"))

    assert hard[0].skew("b") == 0
    assert filter_node(topology.nodes[1], hard) == FilterStatus(hard[1].spread)
