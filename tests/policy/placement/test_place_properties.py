"""Properties of placing pods."""

from collections import Counter
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.placement.clusters import (
    cluster,
    constraints,
    incoming,
    node_lists,
    placed_pods,
    spread_over,
)
from tests.policy.placement.test_place import IN_FORCE, placed, replicas
from webhook.policy.model import Constraint, LabelSelector, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import (
    find_mismatch,
)
from webhook.policy.placement.place import (
    place_pod,
    tally_constraints,
)
from webhook.policy.placement.spreads import (
    SpreadConstraint,
    resolve_constraints,
)
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.placement.topology import Topology
from webhook.policy.selectors import matches

own_constraints = st.lists(constraints, max_size=3).map(tuple)
Pods = list[tuple[str, dict[str, str], str]]


def census_of(pods: Pods) -> Census:
    census = Census()
    for namespace, labels, name in pods:
        census.add(namespace, labels, name)
    return census


def plainly_counted(
    pod: IncomingPod,
    spread: SpreadConstraint,
    spreads: tuple[SpreadConstraint, ...],
    nodes: list[Node],
    pods: Pods,
) -> Counter[str]:
    """Domain -> pods of one constraint, by looking at every node and every pod."""
    demands = pod.demands.honoring(affinity=spread.honors_affinity, taints=spread.honors_taints)
    counted: Counter[str] = Counter()
    for variant in nodes:
        has_keys = all(other.topology_key in variant.labels for other in spreads)
        if has_keys and find_mismatch(variant, demands) is None:
            counted[variant.labels[spread.topology_key]] += sum(
                (namespace, name) == (pod.namespace, variant.name)
                and spread.selector not in (None, LabelSelector())
                and matches(spread.selector, labels)
                for namespace, labels, name in pods
            )
    return counted


def plainly_allowed(
    pod: IncomingPod, spreads: tuple[SpreadConstraint, ...], nodes: list[Node], pods: Pods
) -> list[str]:
    """Names of the nodes that pass, straight from the definition of the skew."""
    allowed = {variant.name: True for variant in nodes}
    for spread in spreads:
        counted = plainly_counted(pod, spread, spreads, nodes, pods)
        trusted = counted and len(counted) >= spread.min_domains
        minimum = min(counted.values()) if trusted else 0
        for variant in nodes:
            value = variant.labels.get(spread.topology_key)
            skew = counted[value or ""] + matches(spread.selector, pod.labels) - minimum
            allowed[variant.name] &= value is not None and skew <= spread.max_skew
    return [name for name, passes in allowed.items() if passes]


@given(incoming, own_constraints, node_lists(), placed_pods)
def test_groups_and_memory_change_no_verdict(
    pod: IncomingPod, own: tuple[Constraint, ...], nodes: list[Node], pods: Pods
) -> None:
    spreads = resolve_constraints(own, pod.labels, IN_FORCE)
    topology = Topology(nodes)

    first, again = (
        place_pod(tally_constraints(pod, spreads, topology, census_of(pods)), topology)
        for _ in range(2)
    )

    assert list(first.passing) == plainly_allowed(pod, spreads.hard, nodes, pods)
    assert first == again


@given(incoming, own_constraints, node_lists(), placed_pods, st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_pods_does_not_matter(
    pod: IncomingPod, own: tuple[Constraint, ...], nodes: list[Node], pods: Pods, random: Random
) -> None:
    shuffled = random.sample(nodes, len(nodes)), random.sample(pods, len(pods))

    one, other = (
        placed(Topology(order), census_of(seen), *own, pod=pod)
        for order, seen in ((nodes, pods), shuffled)
    )

    assert one.statuses == other.statuses
    assert (one.scores is None) is (other.scores is None)
    assert one.scores is None or (
        other.scores is not None and one.scores.normalized == other.scores.normalized
    )


@given(incoming, constraints, node_lists(), placed_pods, st.integers(1, 3))
def test_a_larger_max_skew_never_closes_a_node(
    pod: IncomingPod, own: Constraint, nodes: list[Node], pods: Pods, wider: int
) -> None:
    relaxed = msgspec.structs.replace(own, max_skew=own.max_skew + wider)

    before, after = (
        placed(Topology(nodes), census_of(pods), variant, pod=pod).passing
        for variant in (own, relaxed)
    )

    assert set(before) <= set(after)


@given(incoming, own_constraints, node_lists(), placed_pods)
def test_only_passing_nodes_are_scored(
    pod: IncomingPod, own: tuple[Constraint, ...], nodes: list[Node], pods: Pods
) -> None:
    found = placed(Topology(nodes), census_of(pods), *own, pod=pod)

    if found.scores is not None:
        assert tuple(found.scores.raw) == tuple(found.scores.normalized) == found.passing
    assert set(found.best) <= set(found.passing)


@given(st.integers(1, 5), st.integers(0, 20), st.integers(1, 3))
def test_replicas_placed_one_after_another_keep_the_skew(
    zones: int, number: int, max_skew: int
) -> None:
    topology, _ = cluster({str(number): 0 for number in range(zones)})

    total = replicas(topology, number, spread_over(max_skew=max_skew))

    assert sum(total.values()) == number
    counts = [total.get(str(number), 0) for number in range(zones)]
    assert max(counts) - min(counts) <= max_skew
