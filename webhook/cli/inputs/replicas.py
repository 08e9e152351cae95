"""
Replicas of a workload: the pods that its controllers manage, or would adopt.

Entry point: ``select_replicas``. A pod that the selector of a workload matches is no replica if
another controller manages it, or if no controller adopts it. It counts for constraints all the
same. Where a pod's controller is not among the facts, its name or a label shows the workload.

Source: kubernetes pkg/controller/controller_ref_manager.go ``ClaimPods``, statefulset
stateful_set_utils.go ``isMemberOf``, deployment/sync.go ``getNewReplicaSet``.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json
from webhook.policy import kinds
from webhook.policy.advice.subject import SELECTOR_REQUIRED
from webhook.policy.defaulting.forecast import POD_CONTROLLERS
from webhook.policy.model import GroupKind, OwnerReference
from webhook.policy.paths import find_value, is_object
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.podlabels import (
    LEADER_INDEX,
    REPLICATED_JOB,
    WORKER_INDEX,
    WORKER_SET_NAME,
    find_owner_by_hash,
    revision_key,
)
from webhook.policy.selectors import has_pairs, matches

_NAME_LABELS: Mapping[GroupKind, str] = MappingProxyType(
    {
        kinds.JOB_SET: "jobset.sigs.k8s.io/jobset-name",
        kinds.LEADER_WORKER_SET: WORKER_SET_NAME,
        kinds.KNATIVE_SERVICE: "serving.knative.dev/service",
        kinds.DEPLOYMENT_CONFIG: "deploymentconfig",
    }
)
"""Kind -> label of its pods that contains the name of the workload."""

_JOB_NAME = "job-name"  # k8s.io/api batch/v1 ``LegacyJobNameLabel``, which all versions add
_HASHED = frozenset({kinds.DEPLOYMENT, kinds.ROLLOUT})
_ordinal = re.compile(r"(?P<set>.*)-[0-9]+", re.ASCII).fullmatch


def select_replicas(
    subject: subjects.ExplainSubject, observed: Iterable[ObservedPod], cluster: ClusterReader
) -> list[ObservedPod]:
    """
    Select the pods of a workload.

    Args:
        observed: All pods of its namespace.
    """
    replicas = _Replicas(subject, cluster)
    return [pod for pod in observed if replicas.include(pod)]


class _Replicas:
    """Decides on pods; the objects between the workload and its pods are read on demand."""

    def __init__(self, subject: subjects.ExplainSubject, cluster: ClusterReader) -> None:
        self._subject = subject
        self._cluster = cluster
        self._selector = subjects.selector_of(subject)
        self._row = POD_CONTROLLERS.get(subject.kind)

    def include(self, pod: ObservedPod) -> bool:
        """Whether a pod belongs to the workload."""
        labels = pod.metadata.labels or {}
        if self._selector is not None and not matches(self._selector, labels):
            return False
        name_label = _NAME_LABELS.get(self._subject.kind)
        if name_label is not None:
            return labels.get(name_label) == self._subject.name and self._is_of_part(labels)
        if self._sets:
            return any(self._claims(one, pod) for one in self._sets)
        if pod.controller is not None:
            return self._is_controlled(pod.controller, labels)
        return self._adopts(pod.metadata.name or "", labels)

    def _is_of_part(self, labels: Mapping[str, str]) -> bool:
        """Whether a pod has the labels of the subject's template, among those of one object."""
        subject = self._subject
        if subject.kind == kinds.JOB_SET and REPLICATED_JOB in labels:
            return labels[REPLICATED_JOB] == self._part
        if subject.kind == kinds.LEADER_WORKER_SET and WORKER_INDEX in labels:
            leader = find_value(subject.value, (*subject.path[:-1], "leaderTemplate"))
            leads = labels[WORKER_INDEX] == LEADER_INDEX
            return not is_object(leader) or leads == (subject.path[-1] == "leaderTemplate")
        return True

    @cached_property
    def _part(self) -> str:
        return subjects.read_workload(self._subject).part

    @cached_property
    def _sets(self) -> list[subjects.ExplainSubject]:
        """The ReplicaSets of a Deployment or Rollout; none for others."""
        if self._subject.kind not in _HASHED:
            return []
        return [
            replace(self._subject, kind=kinds.REPLICA_SET, value=value)
            for value in self._created.values()
            if subjects.is_controlled_by(value, self._subject)
        ]

    def _claims(self, owner: subjects.ExplainSubject, pod: ObservedPod) -> bool:
        """Whether a ReplicaSet has a pod; without a selector it has those that it controls."""
        controller, selector = pod.controller, subjects.selector_of(owner)
        controls = controller is not None and controller.name == owner.name
        if selector is None:
            return controls
        selected = matches(selector, pod.metadata.labels or {})
        return selected and (controls or controller is None)

    def _is_controlled(self, controller: OwnerReference, labels: Mapping[str, str]) -> bool:
        subject, row = self._subject, self._row
        if (controller.kind, controller.name) == (subject.kind.kind, subject.name):
            return True
        if row is None or row.group_kind == subject.kind or controller.kind != row.kind:
            return False
        found = self._created.get(controller.name)
        if found is not None:
            return subjects.is_controlled_by(found, subject)
        if subject.kind in _HASHED:
            return find_owner_by_hash(controller.name, labels) == (subject.kind, subject.name)
        return controller.name.rpartition("-")[0] == subject.name

    @cached_property
    def _created(self) -> Mapping[str, Json]:
        """Name -> object of the kind that the workload creates, also those of other workloads."""
        assert self._row is not None, "only kinds that create another kind look for it"
        found = self._cluster.list_objects_of(self._row.group_kind, self._subject.namespace)
        return {subjects.name_of(value): value for value in found}

    def _adopts(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a controller of the workload adopts a pod that has none and is selected."""
        subject = self._subject
        if subject.kind in _HASHED:
            return revision_key(subject.kind) in labels
        match subject.kind:
            case kinds.STATEFUL_SET:
                found = _ordinal(name)
                return found is not None and found["set"] == subject.name
            case kinds.JOB:
                return self._selector is not None or labels.get(_JOB_NAME) == subject.name
            case kinds.CRON_JOB:
                return False
            case _:
                defaults = subject.kind not in SELECTOR_REQUIRED
                return self._selector is not None or (defaults and self._has_labels(labels))

    def _has_labels(self, labels: Mapping[str, str]) -> bool:
        """Whether a pod has the labels of the template, by which a default selector selects."""
        return has_pairs(labels, subjects.decode_template(self._subject).labels)


def is_like(pod: SchedulingPod, other: ObservedPod) -> bool:
    """Whether another pod has all labels of a pod that has some."""
    return bool(pod.labels) and has_pairs(other.metadata.labels or {}, pod.labels)
