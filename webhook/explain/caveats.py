"""
Caveats of an explanation: what kube-scheduler considers for a pod and placement does not model.

``find_caveats`` is the entry point. It names only what the pod uses, besides what concerns any pod.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from webhook.explain.scenario import Scenario
from webhook.policy.advice.findings import join_names
from webhook.policy.paths import FieldPath, find_value, is_array, is_object
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.unmodelled import PROFILE, find_unmodelled
from webhook.policy.selectors import matches

ALWAYS_IGNORED = (PROFILE,)
"""No pod shows whether its scheduler has these."""

UNKNOWN_NODES = "domains of pods on nodes that are not known"
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


def find_unknown_nodes(
    scenario: Scenario, pods: Iterable[FilterPod], replicas: Collection[str]
) -> tuple[str, ...]:
    """
    Find pods on nodes that are not known, which count in no domain.

    kube-scheduler sees no such pod, but their controllers do.

    Args:
        pods: Those of the namespace that have a node.
        replicas: Names of the pods of the workload; others matter if a constraint selects them.
    """
    selectors = [one.selector for one in (*scenario.spreads.hard, *scenario.spreads.soft)]
    found = sorted(
        f"{pod.name} on {pod.node_name}"
        for pod in pods
        if pod.node_name not in scenario.cluster.nodes
        and (pod.name in replicas or any(matches(one, pod.labels) for one in selectors))
    )
    return (f"{UNKNOWN_NODES}: {join_names(found, most=5)}",) if found else ()


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
        "preferred pod affinity": _has(
            "affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution"
        ),
        "preferred pod anti-affinity": _has(
            "affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution"
        ),
        "tolerations with Gt or Lt": _compares_taints,
        "scheduling gates": _has("schedulingGates"),
        "preemption": _has("priorityClassName"),
    }
)
"""What decides besides the filters -> whether a pod's specification uses it."""
