"""
Match the tolerations of pods with the taints of nodes.

``find_untolerated`` is the entry point. A taint with PreferNoSchedule lowers the score of a node
but never excludes the node.

Source: k8s.io/api core/v1 toleration.go, component-helpers scheduling/corev1 helpers.go.
"""

import msgspec

from webhook.policy.model import Taint

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""The taint of a cordoned node; a pod that tolerates it may go there. Source: core/v1."""

EXCLUDING = frozenset({"NoSchedule", "NoExecute"})  # effects that reject new pods


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


def find_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]
) -> Taint | None:
    """
    Find the first NoSchedule or NoExecute taint that no toleration matches; None if there is none.

    Source: helpers.go ``FindMatchingUntoleratedTaint``.
    """
    for taint in taints:
        if taint.effect in EXCLUDING and not any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            return taint
    return None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """
    Whether a toleration matches a taint; an unknown operator matches no taint.

    Source: toleration.go ``ToleratesTaint``.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Exists":
            return True
        case "Equal":
            return (toleration.value or "") == taint.value
        case _:
            return False


def render_taint(taint: Taint) -> str:
    """Format a taint as ``kubectl taint`` takes it: ``key=value:effect`` or ``key:effect``."""
    pair = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{pair}:{taint.effect}"
