"""
Gangs: pods that kube-scheduler places all together or not at all.

A pod belongs to a gang by ``spec.schedulingGroup``, which names its PodGroup, since Kubernetes
1.36, or by ``spec.workloadRef`` in 1.35. Only the presence of the field counts, not its type, since
templates of custom kinds may have fields of these names.

Source: KEP-4671; k8s.io/api core/v1 ``PodSpec``.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from webhook.policy.api.versions import Version
from webhook.policy.model import PodTemplate

_FIRST_VERSIONS: Mapping[str, Version] = MappingProxyType(
    {"schedulingGroup": Version(1, 36), "workloadRef": Version(1, 35)}
)
"""Field of a pod -> the first version whose API servers do not drop it."""


class _SchedulingGroup(msgspec.Struct, frozen=True, rename="camel"):
    """The reference of a pod to its PodGroup; None is the same as absent."""

    pod_group_name: str | None = None


def gang_field(pod: PodTemplate) -> str:
    """Return the name of the field that makes a pod part of a gang; empty if none does."""
    spec = pod.spec
    if spec is None or (spec.scheduling_group is None and spec.workload_ref is None):
        return ""
    return "workloadRef" if spec.scheduling_group is None else "schedulingGroup"


def is_known(field: str, version: Version) -> bool:
    """Whether a version of Kubernetes knows a field that ``gang_field`` returned."""
    return version >= _FIRST_VERSIONS[field]


def group_name(pod: PodTemplate) -> str:
    """Return the name of the PodGroup of a pod; empty if it names none."""
    spec = pod.spec
    if spec is None or spec.scheduling_group is None:
        return ""
    try:
        return msgspec.convert(spec.scheduling_group, _SchedulingGroup).pod_group_name or ""
    except msgspec.ValidationError:
        return ""
