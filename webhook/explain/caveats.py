"""
Caveats of an explanation: what kube-scheduler considers for a pod and placement does not model.

``find_caveats`` is the entry point. It names only what the pod uses, besides what concerns any pod.
"""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from webhook.policy.paths import FieldPath, find_value, is_array, is_object
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.unmodelled import PROFILE, find_unmodelled

ALWAYS_IGNORED = (PROFILE,)
"""No pod shows whether its scheduler has these."""

NEW_VOLUMES = "volumes of volumeClaimTemplates"

Json = dict[str, Any]


def find_caveats(
    template: Any,
    pod: FilterPod,
    cluster: SchedulingCluster,
    schedulers: Collection[str],
    *,
    has_claims: bool = False,
) -> tuple[str, ...]:
    """
    Find what is not modelled for a pod.

    Args:
        template: The pod or pod template, as decoded from JSON; parts of wrong types are ignored.
        pod: The same as a value.
        schedulers: Names of the schedulers that are known.
        has_claims: Whether each pod gets volumes of its own, from volumeClaimTemplates, and the
            names of their claims are not known.
    """
    spec = find_value(template, ("spec",))
    used = (text for text, is_used in _USES.items() if is_object(spec) and is_used(spec))
    found = (*find_unmodelled(template, pod, cluster, schedulers), *used)
    return (*found, NEW_VOLUMES) if has_claims else found


def _has(*path: str) -> Callable[[Json], bool]:
    field: FieldPath = path
    return lambda spec: bool(find_value(spec, field))


def _compares_taints(spec: Json) -> bool:
    """Whether a toleration has an operator of the gate TaintTolerationComparisonOperators."""
    listed = spec.get("tolerations")
    found = filter(is_object, listed if is_array(listed) else ())
    return any(one.get("operator") in ("Gt", "Lt") for one in found)


_USES: Mapping[str, Callable[[Json], bool]] = MappingProxyType(
    {
        "preferred node affinity": _has(
            "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"
        ),
        "tolerations with Gt or Lt": _compares_taints,
        "scheduling gates": _has("schedulingGates"),
        "preemption": _has("priorityClassName"),
    }
)
"""What decides besides the filters -> whether a pod's specification uses it."""
