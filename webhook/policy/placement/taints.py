"""
Taints of nodes and tolerations of pods.

PreferNoSchedule ranks nodes and keeps no pod away: it matches here, and excludes nothing.

Source: k8s.io/api core/v1 toleration.go, component-helpers scheduling/corev1 helpers.go.
"""

import msgspec

from webhook.policy.model import Taint

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""The taint of a cordoned node; whoever tolerates it may go there. core/v1 well_known_taints.go."""

EXCLUDING = frozenset({"NoSchedule", "NoExecute"})  # effects that keep a new pod away


class Toleration(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    A taint that a pod puts up with; for every field None is the same as empty.

    Attributes:
        key: Empty for any key.
        operator: Equal or Exists; empty means Equal.
        value: What Equal compares with.
        effect: Empty for any effect.
    """

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


def find_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]
) -> Taint | None:
    """
    The first NoSchedule or NoExecute taint that no toleration matches; None if there is none.

    Source: helpers.go ``FindMatchingUntoleratedTaint``.
    """
    for taint in taints:
        if taint.effect in EXCLUDING and not any(tolerates(each, taint) for each in tolerations):
            return taint
    return None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """
    Whether a toleration matches a taint; one with an unknown operator matches none.

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
    """A taint as ``kubectl taint`` reads it: ``key=value:effect``, ``key:effect``."""
    pair = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{pair}:{taint.effect}"
