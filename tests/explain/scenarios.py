"""Pods and clusters in short-hand, and Hypothesis strategies for random ones."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from tests.policy.placement import clusters
from tests.policy.placement.clusters import GPU, WEB_POD, gates, node, running, spread_over
from webhook.explain.scenario import Scenario
from webhook.policy.model import DO_NOT_SCHEDULE, ZONE, Constraint, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.placement.topology import Topology

FOUR_NODES = (node("n1", "a"), node("n2", "b"), node("n3", "c", taints=[GPU]), node("n4"))
"""Nodes of three zones, of which one is tainted, and one without a zone."""

NO_KEY = f"node(s) lack a topology key {ZONE}"
TAINTED = "node(s) had untolerated taint gpu:NoSchedule"


def scenario(
    nodes: Iterable[Node],
    *constraints: Constraint,
    pods: Mapping[str, int] | None = None,
    demands: Demands | None = None,
) -> Scenario:
    """Make that of the next web pod."""
    pod = FilterPod(WEB_POD.namespace, WEB_POD.labels, demands or Demands())
    spreads = resolve_constraints(constraints, pod.labels, gates())
    return Scenario(pod, spreads, cluster_of(nodes, running(pods or {})))


def one_zone(**changes: Any) -> Scenario:
    """Place a fourth web pod beside three in two zones of ``FOUR_NODES``."""
    return scenario(FOUR_NODES, spread_over(**changes), pods={"n1": 2, "n2": 1})


def cluster_of(nodes: Iterable[Node], census: Census) -> SchedulingCluster:
    """Make a cluster whose nodes have room for any pod, from nodes and the pods that count."""
    placed = PlacedPods()
    placed.census = census
    return SchedulingCluster(Topology(nodes), placed=placed)


def with_census(scenario: Scenario, census: Census) -> Scenario:
    """Return a scenario with other pods."""
    return replace(scenario, cluster=cluster_of(scenario.topology.nodes, census))


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw a pod with hard constraints and a small cluster, some of whose nodes are cordoned."""
    drawn = draw(clusters.incoming)
    pod = FilterPod(drawn.namespace, drawn.labels, drawn.demands)
    some = st.lists(
        clusters.constraints, max_size=3, unique_by=lambda constraint: constraint.topology_key
    )
    constraints = tuple(
        replace(constraint, when_unsatisfiable=DO_NOT_SCHEDULE) for constraint in draw(some)
    )
    nodes = [
        replace(node, unschedulable=draw(st.booleans())) for node in draw(clusters.node_lists())
    ]
    census = Census()
    for namespace, labels, name in draw(clusters.placed_pods):
        census.add(namespace, labels, name)
    spreads = resolve_constraints(constraints, pod.labels, gates())
    return Scenario(pod, spreads, cluster_of(nodes, census))


blocked = scenarios().filter(lambda scenario: not scenario.placement().passing)
"""Situations in which the pod finds no node."""
