"""
What a pod requires of a node, and why a node is rejected.

``find_rejection`` answers for the filters besides PodTopologySpread, ``find_mismatch`` for what a
constraint's node inclusion policies look at, ``find_untolerated`` for taints. A taint with
PreferNoSchedule lowers the score of a node but never excludes the node.

Source: kube-scheduler plugins/nodeunschedulable, plugins/tainttoleration, plugins/nodeaffinity;
k8s.io/api core/v1 toleration.go, component-helpers scheduling/corev1 helpers.go.
"""

from dataclasses import dataclass
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from webhook.policy.model import Labels, Node, PodSpec, PodTemplate, Taint, replace_null_labels
from webhook.policy.placement.nodeaffinity import (
    Affinity,
    NodeSelectorTerm,
    join_terms,
    required_terms,
    term_matches,
)
from webhook.policy.placement.passingtaints import is_passing

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""The taint of a cordoned node; a pod that tolerates it may go there. Source: core/v1."""

EXCLUDING = frozenset({"NoSchedule", "NoExecute"})  # effects that reject new pods


def lasting_taints(node: Node) -> tuple[Taint, ...]:
    """Return the taints that reject pods whatever the state of the node, in order."""
    return tuple(
        taint for taint in node.taints if taint.effect in EXCLUDING and not is_passing(taint.key)
    )


class Toleration(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A taint that a pod tolerates; for every field None is the same as empty.

    Attributes:
        key: Empty matches any key.
        operator: Equal or Exists; empty means Equal.
        value: Compared by Equal.
        effect: Empty matches any effect.
    """

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _PassingToleration(Toleration, frozen=True, gc=False):
    """Tolerates all taints for a state of the node that passes; no pod can declare it."""


_TOLERATING_PASSING = _PassingToleration()


def uncordon(node: Node) -> Node:
    """Return a node as ``kubectl uncordon`` leaves it: without the taint of the cordon, too."""
    taints = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE.key)
    return replace(node, unschedulable=False, taints=taints)


def find_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]
) -> Taint | None:
    """
    Find the first NoSchedule or NoExecute taint that no toleration matches; None if there is none.

    Source: helpers.go ``FindMatchingUntoleratedTaint``.
    """
    if not taints:  # as most nodes
        return None
    excluding = (taint for taint in taints if taint.effect in EXCLUDING)
    untolerated = (
        taint for taint in excluding if not any(tolerates(t, taint) for t in tolerations)
    )
    return next(untolerated, None)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """
    Whether a toleration matches a taint; an unknown operator matches no taint.

    Source: toleration.go ``ToleratesTaint``.
    """
    if isinstance(toleration, _PassingToleration):
        return is_passing(taint.key)
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    operator = toleration.operator or "Equal"
    is_equal = operator == "Equal" and (toleration.value or "") == taint.value
    return operator == "Exists" or is_equal


def render_taint(taint: Taint) -> str:
    """Format a taint as ``kubectl taint`` takes it: ``key=value:effect`` or ``key:effect``."""
    pair = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{pair}:{taint.effect}"


class Demands(msgspec.Struct, frozen=True, gc=False):
    """
    What a pod requires of a node; hashable, and equal for pods with equal requirements.

    Attributes:
        pairs: Labels that the node must have, sorted.
        terms: Terms of which one must match; None if there is no required affinity.
        tolerations: Tolerated taints; None if taints are ignored.
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

    def joined(self, other: "Demands") -> "Demands":
        """Add what another pod requires of the labels of a node; the tolerations are kept."""
        pairs = tuple(sorted({*self.pairs, *other.pairs}))
        return Demands(pairs, join_terms(self.terms, other.terms), self.tolerations)

    @property
    def lasting(self) -> "Demands":
        """The demands that do not depend on a state of the node that passes, as if cordoned."""
        if self.tolerations is None:
            return self
        return Demands(self.pairs, self.terms, (*self.tolerations, _TOLERATING_PASSING))


class SchedulingSpec(PodSpec, frozen=True, rename="camel", gc=False):
    """A pod's specification with its requirements of nodes, which admission does not decode."""

    node_selector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None

    def __post_init__(self) -> None:
        """Turn nulls into zero values."""
        PodSpec.__post_init__(self)
        if self.node_selector:
            replace_null_labels(self.node_selector)


class SchedulingPod(PodTemplate, frozen=True, rename="camel", gc=False):
    """A pod or pod template with the fields that placement looks at."""

    spec: SchedulingSpec | None = None

    @property
    def demands(self) -> Demands:
        """What the pod requires of a node."""
        spec = self.spec or SchedulingSpec()
        return Demands(
            tuple(sorted((spec.node_selector or {}).items())),
            required_terms(spec.affinity),
            spec.tolerations or (),
        )


def tolerates_cordons(demands: Demands) -> bool:
    """Whether a pod may go to cordoned nodes."""
    return find_untolerated((UNSCHEDULABLE,), demands.tolerations or ()) is None


class RejectionReason(StrEnum):
    """Why a node is rejected, in kube-scheduler's words where it has any."""

    MISSING_KEY = "node(s) lack a topology key"
    CORDON = "node(s) were unschedulable"
    TAINT = "node(s) had untolerated taint"
    AFFINITY = "node(s) didn't match Pod's node affinity/selector"


@dataclass(frozen=True)
class NodeRejection:
    """
    Why a pod cannot go to a node, or a node does not count.

    ``about`` is the missing topology key, or the taint as kubectl writes it; otherwise empty.
    """

    reason: RejectionReason
    about: str = ""


_CORDON = NodeRejection(RejectionReason.CORDON)
_AFFINITY = NodeRejection(RejectionReason.AFFINITY)  # shared: caches hold it for thousands of nodes


def find_rejection(node: Node, demands: Demands) -> NodeRejection | None:
    """
    Find why the filters besides PodTopologySpread reject a node; None if they do not.

    The order is the scheduler's: cordon, taints, affinity. Resources, ports, volumes and pod
    affinity are not modelled.
    """
    if node.unschedulable and find_untolerated((UNSCHEDULABLE,), demands.tolerations or ()):
        return _CORDON
    return find_mismatch(node, demands)


def find_mismatch(node: Node, demands: Demands) -> NodeRejection | None:
    """Find why a node does not satisfy the demands; None if it does. Cordons are ignored."""
    if demands.tolerations is not None:
        taint = find_untolerated(node.taints, demands.tolerations)
        if taint is not None:
            return NodeRejection(RejectionReason.TAINT, render_taint(taint))
    return None if admits_node(demands, node) else _AFFINITY


def admits_node(demands: Demands, node: Node) -> bool:
    """
    Whether nodeSelector and required affinity allow a node; taints are ignored.

    Source: nodeaffinity.go ``RequiredNodeAffinity.Match``.
    """
    labels = node.labels
    for key, value in demands.pairs:  # a generator would take twice as long
        if labels.get(key) != value:
            return False
    return demands.terms is None or any(term_matches(term, node) for term in demands.terms)
