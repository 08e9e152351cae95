"""
Place one pod as kube-scheduler does, with all figures of its PodTopologySpread plugin.

``place_in_cluster`` is the entry point: it runs all filters, ``find_passing`` only
finds names, if the result of the other filters is known. ``tally_constraints`` and
``place_pod`` are its parts, for the plugin alone. All are pure but for the cache in ``Topology``,
so a what-if is the same call with other nodes, pods or constraints.

Source: kube-scheduler plugins/podtopologyspread.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from webhook.policy.model import Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.nominated import add_nominated
from webhook.policy.placement.filters.rejections import FilterRejection
from webhook.policy.placement.filters.run import (
    LAST,
    NOTHING_KNOWN,
    FilterResult,
    NodeResults,
    filter_nodes,
    reject_status,
)
from webhook.policy.placement.nodes import Demands, SchedulingPod
from webhook.policy.placement.scoring import FilterStatus, Scores, filter_node, score_nodes
from webhook.policy.placement.spreads import SpreadConstraint, SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod, PodTally, tally_pods
from webhook.policy.placement.topology import Topology

NO_REJECTION = FilterResult((), {})
"""The result of no filter."""

NO_STATUS: Mapping[str, FilterStatus] = MappingProxyType({})


class ConstraintTallies(msgspec.Struct, frozen=True):
    """The tallies of all constraints of a pod."""

    spreads: SpreadConstraints
    hard: tuple[PodTally, ...]
    soft: tuple[PodTally, ...]

    @property
    def by_index(self) -> list[PodTally]:
        """All tallies, in the order of the constraint list."""
        return sorted((*self.hard, *self.soft), key=lambda tally: tally.spread.index)

    def reachable(self, topology: Topology, demands: Demands) -> "ConstraintTallies":
        """
        Restrict those of soft constraints to the domains that a pod with some demands can go to.

        kube-scheduler scores only nodes that pass the filters. A domain that the pod cannot enter
        stays empty, but that is no skew of a soft constraint. Room is left out of account.

        Source: kube-scheduler plugins/podtopologyspread/scoring.go ``initPreScoreState``.
        """
        required = self.require_keys(topology, demands) if self.soft else ()
        soft = (
            tally.within(topology.reachable(tally.spread.topology_key, required, demands))
            for tally in self.soft
        )
        return replace(self, soft=tuple(soft))

    def require_keys(self, topology: Topology, demands: Demands) -> tuple[str, ...]:
        """
        List the keys of a node whose domains count for soft constraints, as it passes the filters.

        Hard constraints on keys that leave the pod no node are no reason to count none.

        Source: kube-scheduler plugins/podtopologyspread/filtering.go ``Filter``, scoring.go
        ``PreScore``.
        """
        soft, hard = (
            tuple(tally.spread.topology_key for tally in kind) for kind in (self.soft, self.hard)
        )
        scored = soft if self.spreads.requires_keys else ()
        is_open = bool(hard and topology.reachable("", hard, demands).sizes)
        return (*scored, *hard) if is_open else scored


class PodPlacement(msgspec.Struct, frozen=True):
    """
    The nodes that a pod can go to, with the reasons and scores.

    Attributes:
        statuses: Node name -> result of the plugin's filter, in the order of the nodes.
        others: The result of the other filters.
        scores: Scores of the nodes that pass; None without soft constraints, or without nodes.
    """

    tallies: ConstraintTallies
    statuses: Mapping[str, FilterStatus]
    others: FilterResult
    scores: Scores | None

    @property
    def refused(self) -> Mapping[str, FilterRejection]:
        """Name of each node that another filter rejects -> why."""
        return self.others.rejections

    @property
    def passing(self) -> tuple[str, ...]:
        """Names of the nodes that pass all filters, in order."""
        return tuple(
            name
            for name, status in self.statuses.items()
            if status.passes and name not in self.refused
        )

    @property
    def result(self) -> FilterResult:
        """The result of all filters, in their order: that of the first one that rejects a node."""
        rejections: dict[str, FilterRejection] = {}
        for name, status in self.statuses.items():
            other = self.refused.get(name)
            is_before = other is not None and other.plugin != LAST
            found = other if is_before else reject_status(status) or other
            if found is not None:
                rejections[name] = found
        return FilterResult(self.passing, rejections, self.others.pod_rejection)

    @property
    def best(self) -> tuple[str, ...]:
        """Names of the nodes with the highest score, in order; empty if no node passes."""
        return self.passing if self.scores is None else self.scores.best


def incoming_pod(pod: SchedulingPod, namespace: str = "") -> IncomingPod:
    """
    Reduce a pod or a pod template to what its constraints look at.

    The namespace is that of the workload; the pod's own takes precedence.
    """
    namespace = (pod.metadata.namespace if pod.metadata else "") or namespace
    return IncomingPod(namespace, pod.labels, pod.demands)


def tally_constraints(
    pod: IncomingPod, spreads: SpreadConstraints, topology: Topology, census: Census
) -> ConstraintTallies:
    """
    Count the pods of all constraints of a pod, which does not count itself.

    Takes O(nodes) for each constraint, or O(nodes with counted pods) if the topology has its
    domains in the cache.
    """
    # Nodes need the keys of all hard constraints to count for a hard one, and those of all soft
    # constraints to count for a soft one; System defaults waive the latter.
    return ConstraintTallies(
        spreads,
        tally_pods(pod, spreads.hard, topology, census),
        tally_pods(pod, spreads.soft, topology, census, requires_keys=spreads.requires_keys),
    )


def place_pod(
    tallies: ConstraintTallies,
    topology: Topology,
    others: FilterResult = NO_REJECTION,
    known: Mapping[str, FilterStatus] = NO_STATUS,
) -> PodPlacement:
    """
    Filter and score the nodes that were counted for a pod; O(nodes x constraints).

    Args:
        others: The result of the other filters; without it, this plugin runs alone.
        known: Results of the plugin's filter for nodes with nominated pods.
    """
    statuses = {
        node.name: known.get(node.name) or filter_node(node, tallies.hard)
        for node in topology.nodes
    }
    refused = others.rejections
    # Only nodes that pass every filter are scored: they alone define the sizes of the soft
    # constraints' domains and the range of the scores.
    passing = [
        node for node in topology.nodes if statuses[node.name].passes and node.name not in refused
    ]
    scores = None
    if tallies.soft and topology.nodes:
        scores = score_nodes(tallies.soft, passing, requires_keys=tallies.spreads.requires_keys)
    return PodPlacement(tallies, statuses, others, scores)


def find_passing(
    pod: FilterPod, spreads: SpreadConstraints, cluster: SchedulingCluster, others: NodeResults
) -> tuple[str, ...]:
    """
    Find the names of the nodes that pass all filters, in order.

    Args:
        others: The results of the filters other than PodTopologySpread; nodes without one pass.
    """
    left = [node for node in cluster.topology.nodes if others.get(node.name) is None]
    tallies = tally_pods(pod, spreads.hard, cluster.topology, cluster.placed.census) if left else ()
    passing = [node for node in left if filter_node(node, tallies).passes]
    known = _filter_with_nominated(pod, spreads.hard, cluster, passing)
    return tuple(node.name for node in passing if node.name not in known or known[node.name].passes)


def _filter_with_nominated(
    pod: FilterPod,
    hard: tuple[SpreadConstraint, ...],
    cluster: SchedulingCluster,
    nodes: Iterable[Node],
) -> dict[str, FilterStatus]:
    """
    Run the plugin's filter for nodes with nominated pods; without these pods, no more nodes fail.

    Their namespace decides whether constraints count them.
    """
    found: dict[str, FilterStatus] = {}
    for node in nodes:
        nominated = cluster.nominated.get(node.name, ())
        if hard and any(one.namespace == pod.namespace for one in nominated):
            census = add_nominated(cluster, node.name).placed.census
            tallies = tally_pods(pod, hard, cluster.topology, census)
            found[node.name] = filter_node(node, tallies)
    return found


def place_in_cluster(
    pod: FilterPod,
    spreads: SpreadConstraints,
    cluster: SchedulingCluster,
    known: NodeResults = NOTHING_KNOWN,
) -> PodPlacement:
    """
    Place a pod, which is not among the placed ones, by all filters; O(nodes x constraints).

    Every filter but PodTopologySpread judges every node that no filter before it rejects, so that
    ``refused`` shows what rejects a node besides the constraints.

    Args:
        known: Results of the other filters for nodes that need not be filtered again.
    """
    topology = cluster.topology
    tallies = tally_constraints(pod, spreads, topology, cluster.placed.census)
    statuses = _filter_with_nominated(pod, spreads.hard, cluster, topology.nodes)
    return place_pod(tallies, topology, filter_nodes(pod, (), cluster, known), statuses)
