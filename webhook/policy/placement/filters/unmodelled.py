"""
What kube-scheduler considers for a pod and the filters do not model: ``find_unmodelled``.

It names only what the pod uses, besides what concerns any pod.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from webhook.policy.paths import find_value, is_array, is_object
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod

PROFILE = "extenders, out-of-tree plugins and added affinity of the scheduler's profile"
"""No pod shows whether its scheduler has these."""

OTHER_SCHEDULER = "another scheduler"
DEVICES = "extended resources of a DeviceClass (DynamicResources)"

Json = dict[str, Any]


def find_unmodelled(
    template: Any, pod: FilterPod, cluster: SchedulingCluster, schedulers: Collection[str]
) -> tuple[str, ...]:
    """
    Find what is not modelled for a pod.

    Args:
        template: The pod or pod template, as decoded from JSON; parts of wrong types are ignored.
        schedulers: Names of the schedulers that are known.
    """
    spec = find_value(template, ("spec",))
    used = [text for text, is_used in _USES.items() if is_object(spec) and is_used(spec)]
    if find_value(template, ("spec", "schedulerName")) not in (None, "", *schedulers):
        used.insert(0, OTHER_SCHEDULER)
    has_name = {name for room in cluster.allocatable.values() for name in room.scalars}
    # The scheduler takes a resource that no device plugin provides from a DeviceClass, if it knows.
    if any("/" in name and name not in has_name for name in pod.requests.scalars):
        used.append(DEVICES)
    return (PROFILE, *used)


def _uses_node_features(spec: Json) -> bool:
    """
    Whether a pod needs a feature that not every kubelet has.

    Source: component-helpers nodedeclaredfeatures/features ``InferForScheduling``.
    """
    containers = (*_members(spec, "containers"), *_members(spec, "initContainers"))
    rules = (rule for one in containers for rule in _members(one, "restartPolicyRules"))
    restarts_all = any(rule.get("action") == "RestartAllContainers" for rule in rules)
    mounts = (mount for one in containers for mount in _members(one, "volumeMounts"))
    has_options = any(mount.get("bindMountOptions") for mount in mounts)
    is_shared = spec.get("hostNetwork") is True and spec.get("hostUsers") is False
    return restarts_all or has_options or is_shared


_USES: Mapping[str, Callable[[Json], bool]] = MappingProxyType(
    {
        "resource claims (DynamicResources)": lambda spec: bool(spec.get("resourceClaims")),
        "features that nodes declare (NodeDeclaredFeatures)": _uses_node_features,
        "gangs (GangScheduling)": lambda spec: bool(
            spec.get("schedulingGroup") or spec.get("workloadRef")
        ),
    }
)
"""What is not modelled -> whether a pod's specification uses it."""


def _members(value: Json, name: str) -> Iterator[Json]:
    """Yield the objects of a list; nothing if the value is no list."""
    held = value.get(name)
    yield from filter(is_object, held if is_array(held) else ())
