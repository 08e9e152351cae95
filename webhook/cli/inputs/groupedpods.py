"""
The pods of a JobSet or a LeaderWorkerSet, whose constraints may count each group of them apart.

A group is a Job of a JobSet, or a leader with its workers. ``read_grouping`` tells how the pods of
a template are divided, ``follow_members`` gives each new pod the labels of its place. Pods are
numbered one group after another.

Source: jobset pkg/controllers/jobset_controller.go ``labelAndAnnotateObject``; lws
pkg/webhooks/pod_webhook.go ``Default``.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.indexedpods import names_label
from webhook.explain.newpods import NewPod, PodSuccession
from webhook.explain.removal import WorkloadPods
from webhook.policy.kinds import JOB_SET, LEADER_WORKER_SET
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value, is_object
from webhook.policy.placement.census import ObservedPod
from webhook.policy.podlabels import (
    COMPLETION_INDEX,
    GROUP_INDEX,
    WORKER_INDEX,
    grouped_keys,
    member_keys,
)

_PLACES: Mapping[GroupKind, tuple[str, str]] = MappingProxyType(
    {
        JOB_SET: ("jobset.sigs.k8s.io/job-index", COMPLETION_INDEX),
        LEADER_WORKER_SET: (GROUP_INDEX, WORKER_INDEX),
    }
)
"""Kind -> the labels with the number of a pod's group, and with its number there."""


class Grouping(msgspec.Struct, frozen=True):
    """
    How the pods of a template are divided into groups.

    Attributes:
        size: Pods of each group; at least 1.
        first: Number of the first pod of a group: 1 for workers whose leader has another template.
    """

    size: int
    first: int = 0

    def locate(self, number: int) -> tuple[int, int]:
        """Return the number of a pod's group, and its number there."""
        group, member = divmod(number, self.size)
        return group, member + self.first

    def find_number(self, group: int, member: int) -> int:
        """Return the number of the pod at a place."""
        return group * self.size + member - self.first


def read_grouping(subject: subjects.ExplainSubject) -> Grouping | None:
    """
    Read how the pods of a template are divided; None for a kind without groups.

    Raises:
        SourceError: A value has a wrong type, or the pod template is missing.
    """
    if subject.kind not in _PLACES:
        return None
    written = subjects.read_workload(subject)
    size = (written.replicas or 0) // max(written.groups or 0, 1)
    leader = find_value(subject.value, (*subject.path[:-1], "leaderTemplate"))
    is_worker = is_object(leader) and subject.path[-1] == "workerTemplate"
    return Grouping(max(size, 1), int(is_worker))


def list_members(
    kind: GroupKind, grouping: Grouping, pods: Iterable[ObservedPod]
) -> frozenset[int]:
    """List the numbers of pods, as far as their labels show them."""
    places = ([(pod.metadata.labels or {}).get(key, "") for key in _PLACES[kind]] for pod in pods)
    return frozenset(
        grouping.find_number(int(group), int(member))
        for group, member in places
        if group.isdecimal() and member.isdecimal()
    )


def follow_members(
    subject: subjects.ExplainSubject,
    pods: WorkloadPods,
    taken: frozenset[int],
    foresee: Callable[[int], NewPod],
) -> WorkloadPods:
    """
    Let the new pods of a workload have the labels of their groups.

    Args:
        pods: The pods of the workload.
        taken: The numbers of those that it has.
        foresee: Foresees the new pod with a number.

    Returns:
        The same pods if no such label decides where a pod goes, so that all new pods are alike.
    """
    build = cache(foresee)
    keys = grouped_keys(subject.kind) | member_keys(subject.kind)
    if not names_label(subject, build(0), keys):
        return pods
    return replace(pods, succession=PodSuccession(build, is_parallel=True, taken=taken))
