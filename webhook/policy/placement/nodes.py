"""
What a pod asks of a node, and what stands between the two.

Source: kube-scheduler plugins/nodeunschedulable, plugins/tainttoleration, plugins/nodeaffinity.
"""

from enum import StrEnum
from typing import NamedTuple

import msgspec

from webhook.policy.model import Node, PodSpec, PodTemplate
from webhook.policy.placement.nodeaffinity import (
    Affinity,
    NodeSelectorTerm,
    required_terms,
    term_matches,
)
from webhook.policy.placement.taints import (
    UNSCHEDULABLE,
    Toleration,
    find_untolerated,
    render_taint,
)


class Demands(msgspec.Struct, frozen=True, gc=False):
    """
    What a pod asks of a node; hashable, and equal for pods that ask the same.

    Attributes:
        pairs: Labels the node must carry, sorted.
        terms: Of which one must match; None if there is no required affinity.
        tolerations: Of taints; None if taints are not looked at.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = ()

    def honoring(self, *, affinity: bool, taints: bool) -> "Demands":
        """Keep what a constraint's nodeAffinityPolicy and nodeTaintsPolicy honor."""
        return Demands(
            self.pairs if affinity else (),
            self.terms if affinity else None,
            self.tolerations if taints else None,
        )


class SchedulingSpec(PodSpec, frozen=True, rename="camel", gc=False):
    """
    A pod's specification with what it asks of nodes; admission does without these fields.

    Attributes:
        node_selector: Labels the node must carry; None asks for none.
        affinity: None asks for nothing.
        tolerations: None tolerates nothing.
    """

    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None


class SchedulingPod(PodTemplate, frozen=True, rename="camel", gc=False):
    """
    A pod, or the template of one, with all that placement looks at.

    Attributes:
        spec: None if the object has no such member.
    """

    spec: SchedulingSpec | None = None

    @property
    def demands(self) -> Demands:
        """What the pod asks of a node."""
        spec = self.spec or SchedulingSpec()
        return Demands(
            tuple(sorted((spec.node_selector or {}).items())),
            required_terms(spec.affinity),
            spec.tolerations or (),
        )


class RejectionReason(StrEnum):
    """Why a node is out of the question; the words are kube-scheduler's where it has some."""

    MISSING_KEY = "node(s) lack a topology key"
    CORDON = "node(s) were unschedulable"
    TAINT = "node(s) had untolerated taint"
    AFFINITY = "node(s) didn't match Pod's node affinity/selector"


class NodeRejection(NamedTuple):
    """
    What stands between a pod and a node.

    Attributes:
        reason: The kind of obstacle.
        about: The topology key that is missing, or the taint as kubectl writes it; else empty.
    """

    reason: RejectionReason
    about: str = ""


_CORDON = NodeRejection(RejectionReason.CORDON)
_AFFINITY = NodeRejection(
    RejectionReason.AFFINITY
)  # one for all nodes: it is remembered for thousands of them


def find_rejection(node: Node, demands: Demands) -> NodeRejection | None:
    """
    Why the filters besides PodTopologySpread would reject a node; None if they would not.

    They are asked in the scheduler's order: cordon, taints, affinity. Resources, ports, volumes
    and pod affinity are not modelled.
    """
    if node.unschedulable and find_untolerated((UNSCHEDULABLE,), demands.tolerations or ()):
        return _CORDON
    return find_mismatch(node, demands)


def find_mismatch(node: Node, demands: Demands) -> NodeRejection | None:
    """Why a node does not meet the demands; None if it does. A cordon is not looked at."""
    if demands.tolerations is not None:
        taint = find_untolerated(node.taints, demands.tolerations)
        if taint is not None:
            return NodeRejection(RejectionReason.TAINT, render_taint(taint))
    return None if admits(demands, node) else _AFFINITY


def admits(demands: Demands, node: Node) -> bool:
    """
    Whether nodeSelector and required affinity allow a node; taints are not looked at.

    Source: nodeaffinity.go ``RequiredNodeAffinity.Match``.
    """
    if any(node.labels.get(key) != value for key, value in demands.pairs):
        return False
    return demands.terms is None or any(term_matches(term, node) for term in demands.terms)
