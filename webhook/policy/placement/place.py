"""
Where a pod can go, and why: what kube-scheduler's PodTopologySpread plugin answers, as a value.

``place_pod`` asks the parts in the scheduler's order. It changes nothing and remembers nothing but
what its ``Topology`` does, so "what if" is the same question with other nodes, pods or constraints.

Source: kube-scheduler plugins/podtopologyspread.
"""

from collections.abc import Mapping

import msgspec

from webhook.policy.placement.census import Census
from webhook.policy.placement.filtering import FilterStatus, filter_nodes
from webhook.policy.placement.nodes import Demands, NodeRejection, SchedulingPod, find_rejection
from webhook.policy.placement.scoring import Scores, score_nodes
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod, PodTally, tally_pods
from webhook.policy.placement.topology import Topology


class ConstraintTallies(msgspec.Struct, frozen=True):
    """
    How pods are spread at the moment, as a pod's constraints see it.

    Attributes:
        spreads: What the pod asks for.
        hard: The tallies of its hard constraints, in order.
        soft: The tallies of its soft constraints, in order.
    """

    spreads: SpreadConstraints
    hard: tuple[PodTally, ...]
    soft: tuple[PodTally, ...]


class Placement(msgspec.Struct, frozen=True):
    """
    Where a pod can go.

    Attributes:
        tallies: The counts that everything follows from.
        statuses: Node name -> what the plugin's filter says, in the order of the nodes.
        refused: Name of each node that another filter rejects -> why.
        scores: Of the nodes that pass; None if there is no soft constraint, or no node at all.
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
        """Names of the nodes that the plugin would choose from, in order; empty if none passes."""
        if self.scores is None:
            return self.passing
        scores = self.scores.normalised
        highest = max(scores.values(), default=0)
        return tuple(name for name, points in scores.items() if points == highest)


def incoming_pod(pod: SchedulingPod, namespace: str = "") -> IncomingPod:
    """
    A pod as its constraints look at it.

    Args:
        pod: The pod, or a template.
        namespace: Of the workload, for a template; a pod's own goes first.
    """
    own = pod.metadata.namespace if pod.metadata else ""
    return IncomingPod(own or namespace, pod.labels, pod.demands)


def tally_constraints(
    pod: IncomingPod, spreads: SpreadConstraints, topology: Topology, census: Census
) -> ConstraintTallies:
    """
    Count what a pod's constraints count, without a verdict on every node.

    Takes O(nodes that have counted pods) for each constraint whose domains the topology remembers,
    O(nodes) for each other one.

    Args:
        pod: The pod; it is not among those counted.
        spreads: What it asks for, from ``spreads.resolve``.
        topology: The nodes.
        census: The pods.
    """
    return ConstraintTallies(
        spreads,
        tally_pods(pod, spreads.hard, topology, census),
        tally_pods(pod, spreads.soft, topology, census, requires_keys=spreads.requires_keys),
    )


def place_pod(
    measured: ConstraintTallies,
    topology: Topology,
    refused: Mapping[str, NodeRejection] | None = None,
) -> Placement:
    """
    Where a pod can go; O(nodes x constraints).

    Args:
        measured: The counts.
        topology: The nodes that were counted.
        refused: Nodes that other filters reject, from ``find_rejections``; None for this plugin
            alone.
    """
    statuses = filter_nodes(topology, measured.hard)
    refused = refused or {}
    passing = [
        node for node in topology.nodes if statuses[node.name].passes and node.name not in refused
    ]
    scores = None
    if measured.soft and topology.nodes:
        scores = score_nodes(measured.soft, passing, requires_keys=measured.spreads.requires_keys)
    return Placement(measured, statuses, refused, scores)


def find_rejections(topology: Topology, demands: Demands) -> dict[str, NodeRejection]:
    """Name of each node that another filter of the scheduler would reject -> why; O(nodes)."""
    return {
        node.name: found
        for node in topology.nodes
        if (found := find_rejection(node, demands)) is not None
    }
