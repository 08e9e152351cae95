"""
The number of pods of a pod template, from the objects around it.

``count_pods`` is the entry point; ``number_members`` numbers the pods of a group, and ``name_part``
names one of several templates of an object. All read what is written. Autoscalers, which change the
numbers of pods, are not considered here.

Source: k8s.io/api batch/v1 types.go; sigs.k8s.io/jobset api/jobset/v1alpha2 ``ReplicatedJob``;
sigs.k8s.io/lws api/leaderworkerset/v1 ``LeaderWorkerTemplate``.
"""

from collections.abc import Sequence
from typing import Any, TypeGuard

import msgspec

from webhook.policy.kinds import CRON_JOB, JOB, JOB_SET, LEADER_WORKER_SET
from webhook.policy.model import GroupKind
from webhook.policy.paths import FieldPath

INT32 = range(2**31)  # values that the API allows for a number of pods

JOBS = frozenset({JOB, CRON_JOB})


class TemplateHolder(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    An object around a pod template: the spec of a workload or of a Job, or an entry of a list.

    Attributes:
        name: Of an entry of a list.
        selector: How its controller finds its pods; of a custom kind possibly something else.
        size: Of a LeaderWorkerSet: the pods of a group, its leader included.
        leader_template: Of a LeaderWorkerSet; None if workers and leaders have the same template.
    """

    replicas: Any = None  # Any: a custom kind may use the name for something else
    parallelism: Any = None
    completions: Any = None
    completion_mode: Any = None
    strategy: Any = None
    update_strategy: Any = None
    pod_management_policy: Any = None
    paused: Any = None
    volume_claim_templates: Any = None
    selector: Any = None
    name: Any = None
    size: Any = None
    leader_template: Any = None


def count_pods(
    kind: GroupKind, path: FieldPath, holders: Sequence[TemplateHolder | None]
) -> int | None:
    """
    Count the pods of a template at a time.

    Args:
        path: Path of the template in the object.
        holders: The object and what is in it along the path, without the template; the last one
            is right around the template. None stands for a list.

    Returns:
        None if the object does not say.
    """
    holder = holders[-1] if holders else None
    if holder is None:
        return None
    if kind in JOBS:
        return _count_of_job(holder)
    groups = count_groups(kind, path, holders)
    if groups is not None:
        of_job = kind == JOB_SET
        return groups * (_count_of_job(holder) if of_job else _count_in_group(path, holder))
    return holder.replicas if _is_number(holder.replicas) else None


def count_groups(
    kind: GroupKind, path: FieldPath, holders: Sequence[TemplateHolder | None]
) -> int | None:
    """
    Count the groups of a template's pods: the Jobs of a JobSet, or those of a LeaderWorkerSet.

    The arguments are as for ``count_pods``.

    Returns:
        None for a kind without groups.
    """
    if not holders or kind not in (JOB_SET, LEADER_WORKER_SET):
        return None
    outer = holders[path.index("template") if kind == JOB_SET else -2]
    return _number(outer.replicas if outer else None, 1)


def number_members(
    kind: GroupKind, path: FieldPath, holders: Sequence[TemplateHolder | None]
) -> range | None:
    """
    Find the numbers of a template's pods in each group of a LeaderWorkerSet; 0 is the leader.

    The arguments are as for ``count_pods``.

    Returns:
        A range that may be too long if the object does not say its size; None for other kinds.

    Source: sigs.k8s.io/lws pkg/webhooks/pod_webhook.go ``Default``; pkg/controllers
    pod_controller.go ``constructWorkerStatefulSetApplyConfiguration``.
    """
    holder = holders[-1] if holders else None
    if holder is None or kind != LEADER_WORKER_SET:
        return None
    if path[-1] == "leaderTemplate":
        return range(1)
    first = 0 if holder.leader_template is None else 1
    return range(first, _number(holder.size, INT32.stop))


def name_part(kind: GroupKind, path: FieldPath, holders: Sequence[TemplateHolder | None]) -> str:
    """
    Name a pod template of an object that may have several; the arguments are as for count_pods.

    Returns:
        The name, or the index, of the innermost list entry; of a LeaderWorkerSet the member;
        empty if the object has no other template.
    """
    if path and kind == LEADER_WORKER_SET:
        return str(path[-1])
    for number in range(len(path) - 1, -1, -1):
        if isinstance(step := path[number], int):
            entry = holders[number + 1] if number + 1 < len(holders) else None
            name = entry.name if entry else None
            return name if isinstance(name, str) and name else str(step)
    return ""


def _count_of_job(holder: TemplateHolder) -> int:
    parallel = _number(holder.parallelism, 1)
    return min(parallel, _number(holder.completions, parallel))


def _count_in_group(path: FieldPath, holder: TemplateHolder) -> int:
    if path[-1] == "leaderTemplate":
        return 1
    size = _number(holder.size, 1)
    return max(size - 1, 0) if holder.leader_template is not None else size


def _number(value: Any, default: int) -> int:
    return value if _is_number(value) else default


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value in INT32
