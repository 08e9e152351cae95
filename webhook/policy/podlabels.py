"""
The labels that controllers and webhooks add to those of a pod template, by kind.

``ADDED_LABELS`` is the entry point. Controllers of a kind that is not in it may add any label.
``REVISION_KEYS`` are the labels whose value distinguishes revisions. The values of labels are the
subject of ``firstlabels``.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from webhook.policy import kinds
from webhook.policy.model import GroupKind

TEMPLATE_HASH = "pod-template-hash"  # apps/v1 ``DefaultDeploymentUniqueLabelKey``
ROLLOUT_HASH = "rollouts-pod-template-hash"  # rollouts ``DefaultRolloutUniqueLabelKey``
REVISION_HASH = "controller-revision-hash"  # apps/v1 ``ControllerRevisionHashLabelKey``
_WORKER_SET_HASH = "leaderworkerset.sigs.k8s.io/template-revision-hash"
KNATIVE_REVISION = "serving.knative.dev/revision"
GENERATION = "pod-template-generation"  # apps/v1 ``DeprecatedTemplateGeneration``
JOB_NAME = "batch.kubernetes.io/job-name"  # batch/v1 ``JobNameLabel``
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"  # of Jobs that count completions

REVISION_KEYS = (
    TEMPLATE_HASH, ROLLOUT_HASH, REVISION_HASH, GENERATION, _WORKER_SET_HASH, KNATIVE_REVISION
)  # fmt: skip
"""Labels that controllers add, and that have another value in every revision."""

_SET_KEYS = frozenset({"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"})
_CLONE_ID = "apps.kruise.io/cloneset-instance-id"

PER_POD_KEYS = frozenset(
    {
        *_SET_KEYS,
        COMPLETION_INDEX,
        _CLONE_ID,
        "jobset.sigs.k8s.io/job-global-index",
        "jobset.sigs.k8s.io/job-group-index",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-key",
        "leaderworkerset.sigs.k8s.io/group-index",
        "leaderworkerset.sigs.k8s.io/group-key",
        "leaderworkerset.sigs.k8s.io/subgroup-index",
        "leaderworkerset.sigs.k8s.io/subgroup-key",
        "leaderworkerset.sigs.k8s.io/worker-index",
    }
)
"""Labels that controllers add, and that have other values on other pods of a workload."""


class AddedLabels(msgspec.Struct, frozen=True):
    """
    The labels that the controllers of one kind add to those of the pod template.

    Attributes:
        keys: On every pod.
        domains: DNS domains of the controllers; the pods may carry any label with a prefix there.
        revision: The one of the keys that differs by revision; empty if none does.
        unique: Those that no two pods have with the same value; of Jobs only with completionMode
            Indexed.
        naming: Those that name the workload, and of a JobSet the template; all pods have them.
        grouped: Those that the pods of one group have with the same value, and no others: a Job of
            a JobSet, or a group of a LeaderWorkerSet.
        members: Those that differ within a group, and number its pods alike in every group.
    """

    keys: frozenset[str] = frozenset()
    domains: tuple[str, ...] = ()
    revision: str = ""
    unique: frozenset[str] = frozenset()
    naming: tuple[str, ...] = ()
    grouped: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()


JOB_KEYS = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        JOB_NAME,
    }
)
"""Labels that kube-apiserver writes into the template of a Job that lacks them."""

_SET = _SET_KEYS | {REVISION_HASH}
_INDEX = frozenset({COMPLETION_INDEX})
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
"""Label of a pod of a JobSet: the name of its pod template."""

_JOB_SET_NAMES = ("jobset.sigs.k8s.io/jobset-name", REPLICATED_JOB)
_JOB_SET = frozenset(
    {
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-key",
        *_JOB_SET_NAMES,
        COMPLETION_INDEX,
    }
)
WORKER_SET_NAME = "leaderworkerset.sigs.k8s.io/name"
"""Label of all pods of a LeaderWorkerSet."""

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
"""Label of a pod of a LeaderWorkerSet: the number of its group."""

WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
"""Label of a pod of a LeaderWorkerSet: its number in the group; 0 for the leader."""

LEADER_INDEX = "0"
"""The ``WORKER_INDEX`` of a leader."""

_WORKER_SET = frozenset(
    {
        GROUP_INDEX,
        "leaderworkerset.sigs.k8s.io/group-key",
        WORKER_SET_NAME,
        WORKER_INDEX,
    }
)
_REVISION_KIND = GroupKind("serving.knative.dev", "Revision")
"""The controller of the Deployments of a Knative Service, which controls it through another."""

_KNATIVE_NAME = "serving.knative.dev/service"
_KNATIVE = frozenset({"app", "serving.knative.dev/configuration", _KNATIVE_NAME})
_JOBS_OF_SET = frozenset(
    {
        "jobset.sigs.k8s.io/job-global-index",
        "jobset.sigs.k8s.io/job-group-index",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-key",
    }
)
_WORKER_GROUPS = frozenset({GROUP_INDEX, "leaderworkerset.sigs.k8s.io/group-key"})
_WORKER_INDEX = frozenset({WORKER_INDEX})

ADDED_LABELS: Mapping[GroupKind, AddedLabels] = MappingProxyType(
    {
        kinds.POD: AddedLabels(),
        kinds.REPLICATION_CONTROLLER: AddedLabels(),
        kinds.REPLICA_SET: AddedLabels(),
        kinds.DEPLOYMENT: AddedLabels(frozenset({TEMPLATE_HASH}), revision=TEMPLATE_HASH),
        kinds.DAEMON_SET: AddedLabels(
            frozenset({REVISION_HASH, GENERATION}), revision=REVISION_HASH
        ),
        kinds.STATEFUL_SET: AddedLabels(_SET, revision=REVISION_HASH, unique=_SET_KEYS),
        kinds.JOB: AddedLabels(JOB_KEYS, unique=_INDEX, naming=(JOB_NAME,)),
        kinds.CRON_JOB: AddedLabels(JOB_KEYS, unique=_INDEX),
        kinds.ROLLOUT: AddedLabels(frozenset({ROLLOUT_HASH}), revision=ROLLOUT_HASH),
        GroupKind("apps.kruise.io", "BroadcastJob"): AddedLabels(
            frozenset({"broadcastjob-name", "broadcastjob-controller-uid"}),
            naming=("broadcastjob-name",),
        ),
        GroupKind("apps.kruise.io", "CloneSet"): AddedLabels(
            frozenset({REVISION_HASH, TEMPLATE_HASH, _CLONE_ID}),
            revision=REVISION_HASH,
            unique=frozenset({_CLONE_ID}),
        ),
        GroupKind("apps.kruise.io", "DaemonSet"): AddedLabels(
            frozenset({REVISION_HASH, GENERATION}), revision=REVISION_HASH
        ),
        GroupKind("apps.kruise.io", "StatefulSet"): AddedLabels(
            _SET, revision=REVISION_HASH, unique=_SET_KEYS
        ),
        kinds.JOB_SET: AddedLabels(
            JOB_KEYS | _JOB_SET,
            ("jobset.sigs.k8s.io",),
            naming=_JOB_SET_NAMES,
            grouped=JOB_KEYS | _JOBS_OF_SET,
            members=_INDEX,
        ),
        kinds.LEADER_WORKER_SET: AddedLabels(
            _SET | _WORKER_SET | {_WORKER_SET_HASH},
            ("leaderworkerset.sigs.k8s.io",),
            _WORKER_SET_HASH,
            naming=(WORKER_SET_NAME,),
            grouped=_WORKER_GROUPS,
            members=_WORKER_INDEX,
        ),
        kinds.KNATIVE_SERVICE: AddedLabels(
            _KNATIVE | {TEMPLATE_HASH, KNATIVE_REVISION},
            ("knative.dev",),
            KNATIVE_REVISION,
            naming=(_KNATIVE_NAME,),
        ),
        kinds.DEPLOYMENT_CONFIG: AddedLabels(
            frozenset({"deployment", "deploymentconfig"}),
            ("openshift.io",),
            "deployment",
            naming=("deploymentconfig",),
        ),
    }
)
"""
Kind -> the labels that its controllers add.

Source: k8s.io/api apps/v1 and batch/v1 types.go; kubernetes pkg/controller/deployment/sync.go
``getNewReplicaSet``, statefulset/stateful_set_utils.go ``updateIdentity``, daemon/util
``CreatePodTemplate``, job/indexed_job_utils.go, pkg/registry/batch/job/strategy.go
``generateSelector``; argo-rollouts pkg/apis/rollouts/v1alpha1; kruise pkg/controller/cloneset/utils
``WriteRevisionHash``, apis/apps/v1alpha1 ``CloneSetInstanceID``, pkg/controller/broadcastjob;
jobset api/jobset/v1alpha2; lws api/leaderworkerset/v1; knative serving pkg/apis/serving
register.go; openshift api apps/v1.
"""

_NOTHING_ADDED = AddedLabels()

WEBHOOK_DOMAINS = ("istio.io", "linkerd.io", "kueue.x-k8s.io", "kruise.io")
"""DNS domains of webhooks that label the pods of every kind."""


def _normalize(key: str) -> str:
    """Remove what people misremember of a key: hyphens and capital letters."""
    return key.replace("-", "").replace("_", "").lower()


_SPELLINGS: Mapping[str, str] = MappingProxyType(
    {
        _normalize(key): key
        for key in PER_POD_KEYS.union(*(one.keys | one.grouped for one in ADDED_LABELS.values()))
    }
)
"""
Normalized key -> the known label.

A controller of a later version may add further labels, but none that differs from a known one only
in hyphens or capitals.
"""


def find_owner_by_hash(replica_set: str, labels: Mapping[str, str]) -> tuple[GroupKind, str] | None:
    """
    Find the workload of a pod whose ReplicaSet is not known.

    The name of a ReplicaSet is that of its Deployment or Rollout and the hash that its pods carry.

    Args:
        replica_set: The name of the ReplicaSet that controls the pod.
        labels: The labels of the pod.

    Returns:
        The kind and name of the workload, which need not exist; None if the name has no such hash.

    Source: kubernetes pkg/controller/deployment/sync.go ``getNewReplicaSet``.
    """
    for key, kind in ((TEMPLATE_HASH, kinds.DEPLOYMENT), (ROLLOUT_HASH, kinds.ROLLOUT)):
        name, dash, suffix = replica_set.rpartition(f"-{labels.get(key, '')}")
        if name and not suffix and len(dash) > 1:
            return kind, name
    return None


def find_owner_by_labels(
    kind: GroupKind, name: str, labels: Mapping[str, str]
) -> tuple[GroupKind, str] | None:
    """
    Find the workload of an object whose controller is not known.

    The pods of a ReplicaSet carry its hash, and the Deployment of a Knative Revision the name of
    the Service.

    Args:
        kind: That of the controller.
        name: The name of the controller.
        labels: Those of the object.

    Returns:
        The kind and name of the workload, which need not exist; None if no label shows it.

    Source: knative serving pkg/reconciler/revision/resources/meta.go ``makeLabels``.
    """
    if kind == _REVISION_KIND and _KNATIVE_NAME in labels:
        return kinds.KNATIVE_SERVICE, labels[_KNATIVE_NAME]
    return find_owner_by_hash(name, labels) if kind == kinds.REPLICA_SET else None


def may_carry(kind: GroupKind, key: str) -> bool:
    """Whether the pods of a kind may carry a label that their template lacks."""
    added = ADDED_LABELS.get(kind)
    if added is None or key in added.keys:
        return True
    prefix, slash, _ = key.partition("/")
    domains = (*added.domains, *WEBHOOK_DOMAINS)
    is_theirs = bool(slash) and any(f".{prefix}".endswith(f".{domain}") for domain in domains)
    return is_theirs and not spell_key(key)


def spell_key(key: str) -> str:
    """Find the known label that differs from a key only in hyphens or capitals; empty if none."""
    known = _SPELLINGS.get(_normalize(key), key)
    return "" if known == key else known


def added_keys(kind: GroupKind) -> frozenset[str]:
    """Return the labels that the controllers of a kind add to every pod."""
    return ADDED_LABELS.get(kind, _NOTHING_ADDED).keys


def unique_keys(kind: GroupKind) -> frozenset[str]:
    """Return the labels that a controller of a kind gives to no two pods with the same value."""
    return ADDED_LABELS.get(kind, _NOTHING_ADDED).unique


def naming_keys(kind: GroupKind) -> tuple[str, ...]:
    """Return the labels by which a controller of a kind names the workload; empty if by none."""
    return ADDED_LABELS.get(kind, _NOTHING_ADDED).naming


def grouped_keys(kind: GroupKind) -> frozenset[str]:
    """Return the labels of a kind whose value distinguishes the groups of its pods."""
    return ADDED_LABELS.get(kind, _NOTHING_ADDED).grouped


def member_keys(kind: GroupKind) -> frozenset[str]:
    """Return the labels of a kind that number the pods of each group."""
    return ADDED_LABELS.get(kind, _NOTHING_ADDED).members


def differing_keys(kind: GroupKind) -> frozenset[str]:
    """Return the labels whose value is not the same on all pods of a kind and revision."""
    # Every group of a LeaderWorkerSet has a StatefulSet of workers, each with its own revisions.
    revisions = frozenset({REVISION_HASH} if kind == kinds.LEADER_WORKER_SET else ())
    return PER_POD_KEYS | grouped_keys(kind) | revisions


def revision_key(kind: GroupKind) -> str:
    """Return the label whose value distinguishes the revisions of a kind; empty if unknown."""
    return ADDED_LABELS.get(kind, _NOTHING_ADDED).revision
