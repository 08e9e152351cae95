"""
A new pod as the admission plugins of kube-apiserver change it: ``PodAdmission``.

RuntimeClasses and LimitRanges are read only for a pod that they matter to. What cannot be read is
named; it is no error.
"""

from functools import cached_property
from typing import NamedTuple

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cluster.scheduling.defaults import fill_in_defaults
from webhook.cluster.scheduling.limitranges import (
    LimitRangeObject,
    apply_limit_ranges,
    lacks_requests,
)
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.runtimeclasses import (
    RuntimeClassObject,
    apply_runtime_class,
    find_conflicts,
    node_labels_of,
)
from webhook.policy.kinds import LIMIT_RANGE, RUNTIME_CLASS

LIMIT_RANGES = "LimitRanges, which may not be listed"


class AdmittedPod(NamedTuple):
    """A new pod after its admission, and what is not known of that."""

    pod: ApiPod
    unread: tuple[str, ...] = ()


class PodAdmission:
    """The admission of new pods to a cluster; each kind of objects is read once."""

    def __init__(self, cluster: ClusterReader) -> None:
        """Store the cluster; ``admit`` reads it."""
        self._cluster = cluster
        self._ranges: dict[str, list[LimitRangeObject] | None] = {}

    def prepare(self, namespace: str) -> None:
        """Read all that pods of a namespace may need, so that ``admit`` reads nothing later."""
        self._list_ranges(namespace)
        _ = self._classes

    def admit(self, pod: ApiPod, namespace: str) -> AdmittedPod:
        """
        Admit a pod that does not exist; one with a uid has been admitted.

        Args:
            namespace: Of the workload; the pod's own takes precedence.
        """
        if _is_stored(pod):
            return AdmittedPod(pod)
        inside = (pod.metadata and pod.metadata.namespace) or namespace
        limited = self._apply_limit_ranges(fill_in_defaults(pod), inside)
        admitted = self._apply_runtime_class(limited.pod)
        return AdmittedPod(admitted.pod, (*limited.unread, *admitted.unread))

    def list_conflicts(self, pod: ApiPod) -> list[str]:
        """List why kube-apiserver refuses a new pod: labels that its RuntimeClass contradicts."""
        name = (pod.spec and pod.spec.runtime_class_name) or ""
        known = self._classes.get(name) if name and not _is_stored(pod) else None
        return list(find_conflicts(pod, known)) if known else []

    def list_class_labels(self, pod: ApiPod) -> frozenset[tuple[str, str]]:
        """List the node labels that the RuntimeClass of a pod adds to its nodeSelector."""
        name = (pod.spec and pod.spec.runtime_class_name) or ""
        known = self._classes.get(name) if name else None
        return frozenset(node_labels_of(known).items()) if known else frozenset()

    def _apply_limit_ranges(self, pod: ApiPod, namespace: str) -> AdmittedPod:
        if not lacks_requests(pod):
            return AdmittedPod(pod)
        ranges = self._list_ranges(namespace)
        if ranges is None:
            return AdmittedPod(pod, (LIMIT_RANGES,))
        return AdmittedPod(apply_limit_ranges(pod, ranges))

    def _list_ranges(self, namespace: str) -> list[LimitRangeObject] | None:
        if namespace not in self._ranges:
            found = self._cluster.decode_objects(LIMIT_RANGE, LimitRangeObject, namespace)
            self._ranges[namespace] = found and sorted(found, key=lambda one: one.name)
        return self._ranges[namespace]

    def _apply_runtime_class(self, pod: ApiPod) -> AdmittedPod:
        name = (pod.spec and pod.spec.runtime_class_name) or ""
        if not name:
            return AdmittedPod(pod)
        known = self._classes.get(name)
        if known is None:
            return AdmittedPod(pod, (f"RuntimeClass {name}, which could not be read",))
        return AdmittedPod(apply_runtime_class(pod, known))

    @cached_property
    def _classes(self) -> dict[str, RuntimeClassObject]:
        found = self._cluster.decode_objects(RUNTIME_CLASS, RuntimeClassObject)
        return {one.name: one for one in found or ()}


def _is_stored(pod: ApiPod) -> bool:
    return bool(pod.metadata and pod.metadata.uid)
