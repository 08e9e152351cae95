"""
Labels of the first pod of a workload, as its controllers create it.

``label_first_pod`` is the entry point. Values that only a running controller knows are
placeholders. Which labels controllers add is the subject of ``podlabels``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from webhook.policy import kinds
from webhook.policy.completionindexes import is_indexed
from webhook.policy.model import GroupKind
from webhook.policy.paths import FieldPath, find_value, is_object
from webhook.policy.podlabels import (
    COMPLETION_INDEX,
    GENERATION,
    JOB_KEYS,
    KNATIVE_REVISION,
    added_keys,
)

HASH = "hash"
"""Placeholder for the hash of a revision, which no file contains; a real hash has no vowels."""

UID = "00000000-0000-0000-0000-000000000000"  # placeholder for what kube-apiserver generates

_GROUP_HASHES = frozenset({"jobset.sigs.k8s.io/job-key", "leaderworkerset.sigs.k8s.io/group-key"})
"""Labels with the hash of the name of a pod's group."""

LABEL_PLACEHOLDERS: Mapping[str, str] = MappingProxyType(
    {
        "app": "{workload}-0000{revision}",
        "apps.kubernetes.io/pod-index": "{ordinal}",
        "batch.kubernetes.io/controller-uid": "{uid}",
        "batch.kubernetes.io/job-name": "{controller}",
        COMPLETION_INDEX: "{ordinal}",
        "broadcastjob-controller-uid": "{uid}",
        "broadcastjob-name": "{workload}",
        "controller-uid": "{uid}",
        "deployment": "{workload}-{revision}",
        "deploymentconfig": "{workload}",
        "job-name": "{controller}",
        "jobset.sigs.k8s.io/job-index": "{run}",
        "jobset.sigs.k8s.io/jobset-name": "{workload}",
        "jobset.sigs.k8s.io/replicatedjob-name": "{part}",
        "leaderworkerset.sigs.k8s.io/group-index": "{run}",
        "leaderworkerset.sigs.k8s.io/name": "{workload}",
        "leaderworkerset.sigs.k8s.io/worker-index": "{worker}",
        GENERATION: "{revision}",
        "serving.knative.dev/configuration": "{workload}",
        KNATIVE_REVISION: "{workload}-0000{revision}",
        "serving.knative.dev/service": "{workload}",
        "statefulset.kubernetes.io/pod-name": "{controller}-{ordinal}",
    }
)
"""
Label that a controller adds -> template of its value on the first pod, with the fields of
``PodOwner``; all others are hashes.
"""

CONTROLLER_NAMES: Mapping[GroupKind, str] = MappingProxyType(
    {
        kinds.STATEFUL_SET: "{workload}",
        GroupKind("apps.kruise.io", "StatefulSet"): "{workload}",
        kinds.JOB: "{workload}",
        kinds.CRON_JOB: "{workload}-{run}",
        kinds.JOB_SET: "{workload}-{part}-{run}",
    }
)
"""
Kind -> template of the name of the object that creates its pods, for kinds that label pods with it.

Source: kubernetes pkg/controller/cronjob cronjob_controllerv2.go ``getJobName``; jobset
pkg/util/placement ``GenJobName``.
"""


class PodOwner(msgspec.Struct, frozen=True):
    """
    The names and numbers that labels of pods contain.

    Attributes:
        workload: Name of the workload.
        controller: Name of the object that creates the pods, such as a Job of a CronJob.
        part: Name of the pod template, if the workload has several.
        uid: UID of the controller; a placeholder if it is not known.
        ordinal: Ordinal of the pod in a StatefulSet, or its index in a Job.
        run: Number of its Job in a CronJob or a JobSet, or of its group in a LeaderWorkerSet.
        worker: Number of the pod in its group of a LeaderWorkerSet.
        revision: Number of its revision.
    """

    workload: str
    controller: str
    part: str = ""
    uid: str = UID
    ordinal: int = 0
    run: int = 0
    worker: int = 0
    revision: int = 1


_JOB_SPECS: Mapping[GroupKind, FieldPath] = MappingProxyType(
    {kinds.JOB: ("spec",), kinds.CRON_JOB: ("spec", "jobTemplate", "spec")}
)
"""Kind -> path of the specification of its Jobs."""


def number_uid(number: int) -> str:
    """Return the placeholder for the UID of one of several objects; ``UID`` for the first one."""
    return f"{UID[:-12]}{number:012d}"


_WRITTEN_IF_ABSENT = JOB_KEYS | {"app"}  # "app" is added to pods of Knative Services alone


def foresee_label(key: str, owner: PodOwner) -> str:
    """Return the value that a controller gives to this label of a workload's first pod."""
    if key in _GROUP_HASHES and owner.run:
        return f"{HASH}-{owner.run}"
    return LABEL_PLACEHOLDERS.get(key, HASH).format_map(msgspec.structs.asdict(owner))


def name_controller(kind: GroupKind, owner: PodOwner) -> str:
    """Return the name of the object that creates the pod, of a kind that labels pods with it."""
    template = CONTROLLER_NAMES.get(kind, "{workload}")
    return template.format_map(msgspec.structs.asdict(owner))


def label_first_pod(
    kind: GroupKind, value: Any, owner: PodOwner, labels: Mapping[str, str]
) -> dict[str, str]:
    """
    Build the labels of the first pod of a workload, the added ones in the order of their keys.

    Args:
        value: The workload, as decoded from JSON.
        labels: Those of its pod template. They replace the labels of a Job and the label ``app`` of
            a Knative Service, which are written where a template lacks them; controllers replace
            all others.
    """
    added = {
        key: foresee_label(key, owner)
        for key in sorted(_list_added(kind, value))
        if key not in _WRITTEN_IF_ABSENT or key not in labels
    }
    return {**labels, **added}


def _list_added(kind: GroupKind, value: Any) -> frozenset[str]:
    """
    List the keys that all pods of an object get.

    Source: pkg/registry/batch/job/strategy.go ``generateSelectorIfNeeded``.
    """
    keys = added_keys(kind)
    job: Any = find_value(value, _JOB_SPECS[kind]) if kind in _JOB_SPECS else None
    if is_indexed(job):
        keys |= {COMPLETION_INDEX}
    if is_object(job) and job.get("manualSelector") is True:
        keys -= JOB_KEYS
    return keys
