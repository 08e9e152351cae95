import pytest

from tests.policy.placement.clusters import WEB, WEB_POD, cluster, gates, node, running, spread_over
from webhook.policy.defaulting.profiles import HOSTNAME
from webhook.policy.model import Constraint
from webhook.policy.placement.filtering import Code, filter_nodes
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.placement.tallies import PodTally, tally_pods
from webhook.policy.placement.topology import Topology

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
    "no constraint": ((), ["Skip", "Skip", "Skip"]),
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

    assert [str(status) for status in filter_nodes(topology, hard).values()] == statuses


def test_a_rejection_names_the_constraint_and_the_skew() -> None:
    topology, _ = cluster({"a": 3, "b": 1})
    hard = tallies(topology, {"a": 3, "b": 1}, spread_over())

    rejected, passed = filter_nodes(topology, hard).values()

    assert (rejected.code, rejected.spread, rejected.skew) == (
        Code.UNSCHEDULABLE,
        hard[0].spread,
        3,
    )
    assert passed.passes
    assert not rejected.passes


def test_a_node_that_is_no_domain_has_no_pods() -> None:
    topology = Topology([node("n1", "a", rack="r1"), node("n2", "b")])
    hard = tallies(topology, {"n1": 1, "n2": 9}, spread_over(), spread_over("rack"))

    assert hard[0].skew("b") == 0
    assert filter_nodes(topology, hard)["n2"].code is Code.UNRESOLVABLE
