"""
Run the steps of kube-scheduler's PodTopologySpread plugin for one pod, and return the result.

``tally_constraints`` counts, ``place_pod`` filters and scores. Both are pure but for the cache in
``Topology``, so a what-if is the same call with other nodes, pods or constraints.

Source: kube-scheduler plugins/podtopologyspread.
"""

from collections.abc import Mapping

import msgspec

from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands, NodeRejection, SchedulingPod, find_rejection
from webhook.policy.placement.scoring import FilterStatus, Scores, filter_node, score_nodes
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod, PodTally, tally_pods
from webhook.policy.placement.topology import Topology


class ConstraintTallies(msgspec.Struct, frozen=True):
    """The tallies of all constraints of a pod."""

    spreads: SpreadConstraints
    hard: tuple[PodTally, ...]
    soft: tuple[PodTally, ...]

    @property
    def by_index(self) -> list[PodTally]:
        """All tallies, in the order of the constraint list."""
        return sorted((*self.hard, *self.soft), key=lambda tally: tally.spread.index)


class PodPlacement(msgspec.Struct, frozen=True):
    """
    The nodes that a pod can go to, with the reasons and scores.

    Attributes:
        statuses: Node name -> result of the plugin's filter, in the order of the nodes.
        refused: Name of each node that another filter rejects -> why.
        scores: Scores of the nodes that pass; None without soft constraints, or without nodes.
    """

    tallies: ConstraintTallies
    statuses: Mapping[str, FilterStatus]
    refused: Mapping[str, NodeRejection]
    scores: Scores | None

    @property
    def passing(self) -> tuple[str, ...]:
        """Names of the nodes that pass all filters, in order."""
        return tuple(
            name
            for name, status in self.statuses.items()
            if status.passes and name not in self.refused
        )

    @property
    def best(self) -> tuple[str, ...]:
        """Names of the nodes with the highest score, in order; empty if no node passes."""
        if self.scores is None:
            return self.passing
        scores = self.scores.normalized
        highest = max(scores.values(), default=0)
        return tuple(name for name, points in scores.items() if points == highest)


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
    refused: Mapping[str, NodeRejection] | None = None,
) -> PodPlacement:
    """
    Filter and score the nodes that were counted for a pod; O(nodes x constraints).

    ``refused`` are nodes that other filters reject, from ``find_rejections``; None runs this plugin
    alone.
    """
    statuses = {node.name: filter_node(node, tallies.hard) for node in topology.nodes}
    refused = refused or {}
    # Only nodes that pass every filter are scored: they alone define the sizes of the soft
    # constraints' domains and the range of the scores.
    passing = [
        node for node in topology.nodes if statuses[node.name].passes and node.name not in refused
    ]
    scores = None
    if tallies.soft and topology.nodes:
        scores = score_nodes(tallies.soft, passing, requires_keys=tallies.spreads.requires_keys)
    return PodPlacement(tallies, statuses, refused, scores)


def find_rejections(topology: Topology, demands: Demands) -> dict[str, NodeRejection]:
    """Find the nodes that other filters of the scheduler reject: name -> why; O(nodes)."""
    return {
        node.name: found
        for node in topology.nodes
        if (found := find_rejection(node, demands)) is not None
    }
