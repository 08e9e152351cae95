"""
Pods without a node that are nominated for one: ``read_nominees``.

They keep the room on that node from pods of the same or a lower priority. ``find_priority`` finds
the priority of the pod to place.

Source: kube-scheduler backend/queue/nominator.go; component-helpers corev1 ``PodPriority``.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from webhook.cluster.scheduling.podobjects import ApiPod, ApiPodStatus, FilterSpec
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.wire import ClusterScopedObject
from webhook.policy.api.versions import Version
from webhook.policy.placement.census import FINISHED
from webhook.policy.placement.filters.filterpods import FilterPod

_SYSTEM_CLASSES: Mapping[str, int] = MappingProxyType(
    {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
)
"""The classes of every cluster. Source: pkg/apis/scheduling/v1 helpers.go."""


class PriorityClassObject(ClusterScopedObject, frozen=True, rename="camel", gc=False):
    """A PriorityClass, v1."""

    value: int | None = None
    global_default: bool | None = None


def find_priority(pod: ApiPod, classes: Iterable[PriorityClassObject] | None) -> int | None:
    """
    Find the priority of a pod, stored or new; None if it is not known.

    Args:
        classes: None if they cannot be read.

    Source: plugin/pkg/admission/priority ``computePriority``.
    """
    spec, known = pod.spec or FilterSpec(), list(classes or ())
    if spec.priority is not None:
        return spec.priority
    if not spec.priority_class_name:
        return min((one.value or 0 for one in known if one.global_default), default=0)
    values = {**_SYSTEM_CLASSES, **{one.name: one.value or 0 for one in known}}
    return values.get(spec.priority_class_name)


def is_nominated(pod: ApiPod) -> bool:
    """Whether a pod without a node has one for which it is nominated, and has not ended."""
    spec, status = pod.spec or FilterSpec(), pod.status or ApiPodStatus()
    is_waiting = not spec.node_name and status.phase not in FINISHED
    return is_waiting and bool(status.nominated_node_name)


def read_nominees(
    pods: Iterable[ApiPod], priority: int, version: Version
) -> dict[str, list[FilterPod]]:
    """
    Read the pods that keep room from a pod of a priority, by the nodes that they are nominated for.

    Args:
        pods: Without the pod to place.
        version: Of the scheduler.
    """
    found: dict[str, list[FilterPod]] = {}
    for pod in filter(is_nominated, pods):
        spec, status = pod.spec or FilterSpec(), pod.status or ApiPodStatus()
        if (spec.priority or 0) >= priority:
            # Constraints count them even if they are being deleted.
            read = replace(read_pod(pod, version), is_terminating=False)
            found.setdefault(status.nominated_node_name or "", []).append(read)
    return found
