"""
Which nodes the hard constraints of a pod allow.

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
    """How a filter answers; an unresolvable answer is one that evicting pods would not change."""

    SUCCESS = "Success"
    SKIP = "Skip"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


class FilterStatus(msgspec.Struct, frozen=True):
    """
    What the plugin says about one node.

    Attributes:
        code: Success, and Skip if the pod has no hard constraints, let the node pass.
        reason: In kube-scheduler's words; empty if the node passes.
        spread: The constraint that rejected the node, the first in order; None if it passes.
        skew: The skew that was too large; None if there is none to blame.
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
        """Write it as ``Success`` or ``Unschedulable: reason``."""
        return f"{self.code}: {self.reason}" if self.reason else str(self.code)


SUCCESS = FilterStatus(Code.SUCCESS)
SKIP = FilterStatus(Code.SKIP)


def filter_nodes(topology: Topology, hard: tuple[PodTally, ...]) -> dict[str, FilterStatus]:
    """
    Ask the hard constraints about every node; O(nodes x constraints).

    Args:
        topology: The nodes that were counted.
        hard: The tallies of all hard constraints of the pod, in order.

    Returns:
        Node name -> status, in the order of the nodes.
    """
    if not hard:
        return {node.name: SKIP for node in topology.nodes}
    return {node.name: filter_node(node, hard) for node in topology.nodes}


def filter_node(node: Node, hard: tuple[PodTally, ...]) -> FilterStatus:
    """Ask the hard constraints, of which there is one at least, about one node."""
    for tally in hard:
        spread = tally.spread
        value = node.labels.get(spread.topology_key)
        if value is None:
            return FilterStatus(Code.UNRESOLVABLE, MISSING_KEY_REASON, spread)
        skew = tally.skew(value)
        if skew > spread.max_skew:
            return FilterStatus(Code.UNSCHEDULABLE, SKEW_REASON, spread, skew)
    return SUCCESS
