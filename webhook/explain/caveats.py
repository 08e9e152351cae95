"""
Caveats of an explanation: what kube-scheduler considers for a pod and placement does not model.

``find_caveats`` is the entry point. It names only what the pod uses, besides what concerns any pod.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from webhook.policy.paths import FieldPath, find_value, is_array, is_object

ALWAYS_IGNORED = ("resources", "anti-affinity of other pods")
"""Any pod needs one of the pods that a node allows, and other pods may keep it away."""

_NODE_VOLUMES = frozenset({"persistentVolumeClaim", "ephemeral"})
"""Volumes that must be where the pod is. Source: plugins/volumebinding ``PreFilter``."""

_DISKS = frozenset(
    {"csi", "awsElasticBlockStore", "azureDisk", "gcePersistentDisk", "iscsi", "rbd"}
)
"""Volumes with limits for a node. Source: plugins/volumerestrictions, plugins/nodevolumelimits."""

Json = dict[str, Any]


def find_caveats(template: Any, *, has_claims: bool = False) -> tuple[str, ...]:
    """
    Find what is not modelled for a pod.

    Args:
        template: The pod or pod template, as decoded from JSON; parts of wrong types are ignored.
        has_claims: Whether each pod gets volumes of its own, from volumeClaimTemplates.
    """
    spec = find_value(template, ("spec",))
    used = (text for text, is_used in _USES.items() if is_object(spec) and is_used(spec))
    found = (*ALWAYS_IGNORED, *used)
    return (*found, VOLUMES) if has_claims and VOLUMES not in found else found


VOLUMES = "volumes (VolumeBinding, VolumeZone, NodeVolumeLimits)"


def _uses_host_ports(spec: Json) -> bool:
    containers = (*_members(spec, "containers"), *_members(spec, "initContainers"))
    ports = [port for container in containers for port in _members(container, "ports")]
    return any(port.get("hostPort") for port in ports) or (
        spec.get("hostNetwork") is True and bool(ports)
    )


def _uses_volumes(spec: Json) -> bool:
    volumes = _members(spec, "volumes")
    return any(not (_NODE_VOLUMES | _DISKS).isdisjoint(volume) for volume in volumes)


def _uses_pod_affinity(spec: Json) -> bool:
    return any(find_value(spec, ("affinity", kind)) for kind in ("podAffinity", "podAntiAffinity"))


def _has(*path: str) -> Callable[[Json], bool]:
    field: FieldPath = path
    return lambda spec: bool(find_value(spec, field))


_USES: Mapping[str, Callable[[Json], bool]] = MappingProxyType(
    {
        "host ports (NodePorts)": _uses_host_ports,
        VOLUMES: _uses_volumes,
        "pod affinity (InterPodAffinity)": _uses_pod_affinity,
        "preferred node affinity": _has(
            "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"
        ),
        "resource claims (DynamicResources)": _has("resourceClaims"),
        "scheduling gates": _has("schedulingGates"),
        "preemption": _has("priorityClassName"),
    }
)
"""What is not modelled -> whether a pod's specification uses it."""


def _members(value: Json, name: str) -> Iterator[Json]:
    """Yield the objects of a list; nothing if the value is no list."""
    held = value.get(name)
    yield from filter(is_object, held if is_array(held) else ())
