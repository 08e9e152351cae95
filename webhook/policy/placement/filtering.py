"""
Filter nodes by the hard constraints of a pod.

``filter_nodes`` judges all nodes, ``filter_node`` one. Counting pods is not done here.

Source: kube-scheduler plugins/podtopologyspread/filtering.go ``Filter``.
"""

from enum import StrEnum

import msgspec

from webhook.policy.model import Node
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.tallies import PodTally
from webhook.policy.placement.topology import Topology

SKEW_REASON = "node(s) didn't match pod topology spread constraints"
MISSING_KEY_REASON = f"{SKEW_REASON} (missing required label)"


class Code(StrEnum):
    """Result code of a scheduler plugin; preempting pods cannot change an unresolvable one."""

    SUCCESS = "Success"
    SKIP = "Skip"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


class FilterStatus(msgspec.Struct, frozen=True):
    """
    Result of the plugin's filter for one node.

    Attributes:
        code: The node passes with Success, and with Skip if the pod has no hard constraints.
        reason: In kube-scheduler's words; empty if the node passes.
        spread: The first constraint in order that rejects the node; None if the node passes.
        skew: The skew that exceeds maxSkew; None if the node passes or lacks the topology key.
    """

    code: Code
    reason: str = ""
    spread: SpreadConstraint | None = None
    skew: int | None = None

    @property
    def passes(self) -> bool:
        """Whether the pod may go to the node."""
        return self.spread is None

    def __str__(self) -> str:
        """Format the status as ``Success`` or ``Unschedulable: reason``."""
        return f"{self.code}: {self.reason}" if self.reason else str(self.code)


SUCCESS = FilterStatus(Code.SUCCESS)
SKIP = FilterStatus(Code.SKIP)


def filter_nodes(topology: Topology, hard: tuple[PodTally, ...]) -> dict[str, FilterStatus]:
    """
    Apply the hard constraints to every node; O(nodes x constraints).

    Returns:
        Node name -> status, in the order of the nodes.
    """
    if not hard:
        return {node.name: SKIP for node in topology.nodes}
    return {node.name: filter_node(node, hard) for node in topology.nodes}


def filter_node(node: Node, hard: tuple[PodTally, ...]) -> FilterStatus:
    """Apply the hard constraints, at least one, to one node."""
    for tally in hard:
        spread = tally.spread
        value = node.labels.get(spread.topology_key)
        # A node without the key is in no domain. Preempting its pods would not give it one.
        if value is None:
            return FilterStatus(Code.UNRESOLVABLE, MISSING_KEY_REASON, spread)
        # The pod's own tolerations and affinity play no part here: a node that does not count can
        # still pass, by the pods of its domain. Other filters reject it if the pod cannot go there.
        skew = tally.skew(value)
        if skew > spread.max_skew:
            return FilterStatus(Code.UNSCHEDULABLE, SKEW_REASON, spread, skew)
    return SUCCESS
