"""Where replicas are is shown beside what constraints count."""

from msgspec.structs import replace

from tests.explain.observed import make_pod
from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.keynames import SHORT_NAMES
from webhook.explain.removalchoice import RemovalChoice, SkewBounds
from webhook.explain.removalorder import RemovalGroup
from webhook.explain.replicaskew import (
    DomainReplicas,
    SkewChange,
    add_bounds,
    add_replicas,
    describe_skews,
)
from webhook.policy.model import ZONE

NODES = (node("n1", "a"), node("n2", "b"), node("n3"))
CHANGE = SkewChange(0, ZONE, 0, 1)


def locate(before: dict[str, int], after: dict[str, int], counted: dict[str, int]) -> SkewChange:
    (tally,) = scenario(NODES, spread_over(), pods=counted).placement().tallies.hard
    return add_replicas(CHANGE, (tally, tally), NODES, (before, after))


def test_pods_of_a_workload_that_are_not_counted_are_uneven() -> None:
    change = locate({}, {"n1": 3, "n3": 1, "n2": 0, "gone": 7}, {"n2": 1})

    assert (change.replicas_before, change.replicas_after) == (0, 3)
    assert change.domains == (
        DomainReplicas("", 1, 0), DomainReplicas("a", 3, 0), DomainReplicas("b", 0, 1),
    )  # fmt: skip
    assert change.counts_others


def test_pods_on_nodes_without_the_key_have_no_skew() -> None:
    change = locate({"n3": 2}, {"n3": 4, "n1": 1}, {})

    assert (change.replicas_before, change.replicas_after) == (0, 1)
    assert DomainReplicas("", 4, 0) in change.domains


def test_counted_pods_that_are_the_replicas() -> None:
    change = locate({"n1": 1}, {"n1": 2, "n2": 1}, {"n1": 2, "n2": 1})

    assert (change.replicas_before, change.replicas_after) == (1, 1)
    assert not change.counts_others


def test_the_skews_have_bounds_where_it_is_not_determined_which_pods_go() -> None:
    # One of three equal pods goes. The constraint also counts a pod of another workload in b, and
    # pods on nodes without the key are in no domain.
    pods = tuple(make_pod(name, node) for name, node in [("w1", "n1"), ("w2", "n1"), ("w3", "n3")])
    (tally,) = scenario(NODES, spread_over(), pods={"n1": 1, "n2": 1}).placement().tallies.hard
    after = {"n1": 1, "n3": 1}
    choice = RemovalChoice(RemovalGroup(pods), 1)

    change = add_bounds(CHANGE, (tally, tally), NODES, after, choice)

    assert (change.bounds, change.replicas_bounds) == (SkewBounds(0, 1), SkewBounds(1, 2))


def test_skews_in_a_sentence() -> None:
    alike = replace(CHANGE, replicas_before=0, replicas_after=1)

    assert describe_skews([alike], SHORT_NAMES) == "; skew of zone 0 -> 1"
    assert describe_skews([replace(CHANGE, replicas_after=3)], SHORT_NAMES) == (
        "; skew of its own pods by zone 0 -> 3, of the counted pods 0 -> 1"
    )


def test_bounds_in_a_sentence() -> None:
    bounds = SkewBounds(0, 2)
    change = replace(CHANGE, bounds=bounds, replicas_after=1, replicas_bounds=bounds)

    assert describe_skews([change], SHORT_NAMES) == "; skew of zone 0 -> 1 (0 to 2)"
    certain = replace(change, bounds=SkewBounds(1, 1), replicas_bounds=SkewBounds(1, 1))
    assert describe_skews([certain], SHORT_NAMES) == "; skew of zone 0 -> 1"
