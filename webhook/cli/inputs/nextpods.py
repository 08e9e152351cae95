"""
Next pods of workloads: the template, with the labels that controllers and webhooks will add.

Entry points: ``build_next_pod`` and ``foresee_selector``. Values that no fact contains are
placeholders, such as the hash of a revision that no pod has yet.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.groupedpods import read_grouping
from webhook.cli.inputs.revisions import NextRevision
from webhook.cli.inputs.setvolumes import drop_claimed
from webhook.cluster.scheduling.podobjects import ApiPod, UniqueMeta, UniqueOwner
from webhook.policy.completionindexes import wrap_index
from webhook.policy.defaulting.forecast import first_pod
from webhook.policy.firstlabels import PodOwner, label_first_pod, name_controller, number_uid
from webhook.policy.kinds import CRON_JOB, DEPLOYMENT, JOB, LEADER_WORKER_SET, ROLLOUT
from webhook.policy.model import LabelSelector
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.podlabels import (
    GROUP_INDEX,
    LEADER_INDEX,
    REVISION_KEYS,
    WORKER_INDEX,
    WORKER_SET_NAME,
    differing_keys,
    may_carry,
    revision_key,
)

_HASHED = (DEPLOYMENT, ROLLOUT)  # their ReplicaSets select by the hash too


def build_next_pod(
    revision: NextRevision,
    replicas: Sequence[ObservedPod] = (),
    *,
    part: str = "",
    ordinal: int = 0,
) -> ApiPod:
    """
    Build the next pod of a workload.

    Args:
        replicas: Its pods, which show values that its controller and webhooks chose. A ReplicaSet
            that owns the pod shows them itself.
        part: Name of the pod template, if the workload has several.
        ordinal: Ordinal of the pod in a StatefulSet, or its index in a Job; its number in a
            workload with groups. Indexes of a CronJob beyond the completions of a Job are those
            of the next one.

    Raises:
        SourceError: A value of the template has a wrong type.
    """
    subject = revision.subject
    template = subjects.decode_template(subject)
    pod = first_pod(subject.kind, subject.name, template)
    owner = _find_owner(subject, part, ordinal)
    labels = label_first_pod(subject.kind, subject.value, owner, pod.labels)
    if not revision.is_owned:
        labels.update(_inherit_labels(subject, template.labels, replicas, is_new=revision.is_new))
    labels.update(revision.labels)
    assert pod.metadata is not None, "first_pod gives metadata to each pod"
    owners = (
        UniqueOwner(one.api_version, one.kind, one.name, one.controller)
        for one in pod.metadata.owner_references
    )
    metadata = UniqueMeta(
        labels=labels, annotations=pod.metadata.annotations, owner_references=tuple(owners)
    )
    return ApiPod(metadata, drop_claimed(template.spec, subject.value))


def foresee_selector(subject: subjects.ExplainSubject, pod: SchedulingPod) -> LabelSelector:
    """
    Foresee the selector of the controller that will own a pod from ``build_next_pod``.

    A workload without a selector is taken to select by the labels of its template.

    Source: kubernetes pkg/controller/deployment/sync.go ``getNewReplicaSet``.
    """
    if subject.kind == LEADER_WORKER_SET:
        return _select_group(pod.labels)
    selector = subjects.selector_of(subject)
    if selector in (None, LabelSelector()):
        selector = LabelSelector(subjects.decode_template(subject).labels)
    assert selector is not None, "it is replaced above"
    if subject.kind not in _HASHED:
        return selector
    key = revision_key(subject.kind)
    return replace(selector, match_labels={**selector.match_labels, key: pod.labels[key]})


def _select_group(labels: Mapping[str, str]) -> LabelSelector:
    """
    Select as the StatefulSet of the leaders of a LeaderWorkerSet, or that of a group's workers.

    The hash of a group, by which the latter selects as well, follows from its index.

    Source: sigs.k8s.io/lws pkg/controllers/pod_controller.go
    ``constructWorkerStatefulSetApplyConfiguration``, leaderworkerset_controller.go
    ``constructLeaderStatefulSetApplyConfiguration``.
    """
    leads = labels.get(WORKER_INDEX) == LEADER_INDEX
    keys = (WORKER_SET_NAME, WORKER_INDEX if leads else GROUP_INDEX)
    return LabelSelector({key: labels[key] for key in keys})


def _find_owner(subject: subjects.ExplainSubject, part: str, ordinal: int) -> PodOwner:
    """Name the object that creates the pod."""
    if subject.kind == CRON_JOB:
        ordinal = wrap_index(find_value(subject.value, subject.path[:-1]), ordinal)
    owner = PodOwner(subject.name, subject.name, part, ordinal=ordinal)
    if (grouping := read_grouping(subject)) is not None:
        group, member = grouping.locate(ordinal)
        owner = replace(owner, ordinal=member, run=group, worker=member, uid=number_uid(group))
    uid = find_value(subject.value, ("metadata", "uid")) if subject.kind == JOB else None
    controller = name_controller(subject.kind, owner)
    return replace(owner, controller=controller, uid=uid if isinstance(uid, str) else owner.uid)


def _inherit_labels(
    subject: subjects.ExplainSubject,
    template: Mapping[str, str],
    replicas: Sequence[ObservedPod],
    *,
    is_new: bool,
) -> dict[str, str]:
    """Take over what was added to most replicas, except for what differs from pod to pod."""
    groups = Counter(frozenset((pod.metadata.labels or {}).items()) for pod in replicas)
    most = dict(groups.most_common(1)[0][0]) if groups else {}
    revisions = REVISION_KEYS if is_new else ()
    return {
        key: value
        for key, value in sorted(most.items())
        if key not in (*template, *revisions, *differing_keys(subject.kind))
        and may_carry(subject.kind, key)
    }
