"""
Which pods the constraints of a subject count, as far as is known before its pods exist.

Controllers add labels to those of a template, so a constraint that selects by such a label cannot
be judged by the template alone. How many pods are counted is the subject of ``placement.tallies``.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext, ClusterState, resolve_valid
from webhook.policy.advice.sharednodes import EVERYWHERE
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.kinds import CRON_JOB
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    Constraint,
    LabelSelector,
    LabelSelectorRequirement,
)
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint, SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.podlabels import (
    REVISION_KEYS,
    added_keys,
    grouped_keys,
    may_carry,
    revision_key,
    unique_keys,
)
from webhook.policy.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    OPERATORS,
    matches,
    merge_match_label_keys,
    render,
)


def may_add(subject: Subject, key: str) -> bool:
    """Whether a controller or a webhook may add this label to the pods of a subject."""
    if key in subject.labels:
        return False
    if key in subject.given_labels or may_carry(subject.pods_kind, key):
        return True
    return subject.is_shared and may_carry(subject.kind, key)


def list_revision_keys(subject: Subject) -> list[str]:
    """List the labels of its pods that differ by revision: one for each kind of controller."""
    kinds = [subject.kind, subject.pods_kind] if subject.is_shared else [subject.pods_kind]
    return [key for key in map(revision_key, kinds) if key]


def known_selectors(subject: Subject, gates: Gates) -> list[LabelSelector | None]:
    """
    Return the selectors of a subject's constraints, with the matchLabelKeys of its next pod merged.

    Returns:
        One for each constraint; None if it counts no pod, does not count the subject's own, or
        depends on the value of a label that a controller will add. An empty list for pods that are
        bound to a node without a scheduler.
    """
    if not subject.constraints or subject.is_bound:
        return []  # most workloads
    labels = subject.next_labels
    joins = Gate.MATCH_LABEL_KEYS in gates
    merged = merge_match_label_keys(subject.constraints, labels) if joins else subject.constraints
    return [
        None
        if joins
        and any(key not in labels and may_add(subject, key) for key in constraint.match_label_keys)
        else _select_if_counted(constraint.label_selector, subject, labels)
        for constraint in merged
    ]


def _select_if_counted(
    selector: LabelSelector | None, subject: Subject, labels: Mapping[str, str]
) -> LabelSelector | None:
    if selector is None or selector == LabelSelector():
        return None
    if not matches(_leave_out_added(selector, subject, labels), labels):
        return None
    return selector if next(unmet_requirements(selector, subject), None) is None else None


def _leave_out_added(
    selector: LabelSelector, subject: Subject, labels: Mapping[str, str]
) -> LabelSelector:
    """Leave out that labels exist which a controller adds, whatever their values."""
    left = tuple(
        one
        for one in selector.match_expressions
        if one.operator != EXISTS or one.key in labels or not may_add(subject, one.key)
    )
    return replace(selector, match_expressions=left)


def counts_no_pod(constraint: Constraint, subject: Subject, gates: Gates) -> bool:
    """Whether the selector is null, or empty without a matchLabelKey that the pod will have."""
    selector = constraint.label_selector
    if selector is None:
        return True
    if selector != LabelSelector():
        return False
    keys = constraint.match_label_keys if Gate.MATCH_LABEL_KEYS in gates else ()
    return not any(key in subject.labels or may_add(subject, key) for key in keys)


def counts_itself(constraint: Constraint, subject: Subject, gates: Gates) -> bool:
    """Whether a constraint counts the subject's own pods, as far as their labels are known."""
    selector = constraint.label_selector
    return (
        selector is not None
        and not counts_no_pod(constraint, subject, gates)
        and next(unmet_requirements(selector, subject), None) is None
    )


def counts_own_revision(constraint: Constraint, subject: Subject, gates: Gates) -> bool:
    """Whether a constraint counts pods of one revision, and so of no other workload."""
    keys = constraint.match_label_keys if Gate.MATCH_LABEL_KEYS in gates else ()
    return any(key in REVISION_KEYS and may_add(subject, key) for key in keys)


def unmet_requirements(selector: LabelSelector, subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield the requirements that the subject's pods certainly violate, and their label keys."""
    for key, value in selector.match_labels.items():
        if subject.labels.get(key) == value:
            continue
        if not may_add(subject, key) or _lacks_values(key, (value,), subject):
            yield f"{key}={value}", key
    for expression in selector.match_expressions:
        alone = LabelSelector(match_expressions=(expression,))
        if expression.operator not in OPERATORS:
            continue
        if may_add(subject, expression.key):
            unmet = _is_unmet(expression, subject)
        else:
            unmet = not matches(alone, subject.labels)
        if unmet:
            yield render(alone), expression.key


def _is_unmet(expression: LabelSelectorRequirement, subject: Subject) -> bool:
    """Whether pods certainly violate an expression about a label that their controller adds."""
    key, values = expression.key, expression.values
    if expression.operator == IN:
        return _lacks_values(key, values, subject)
    if expression.operator == DOES_NOT_EXIST:
        return not subject.is_shared and key in added_keys(subject.pods_kind)
    found = subject.values_of(key) if expression.operator == NOT_IN else None
    return found is not None and not found.varies and found.outline in values


def _lacks_values(key: str, values: Sequence[str], subject: Subject) -> bool:
    """Whether pods lack all of some values of a label that their controller adds."""
    if values and all(is_outdated(key, value, subject) for value in values):
        return True
    found = subject.values_of(key)
    if found is None or not values:
        return False  # no API server accepts an empty list
    allowed = {value for value in values if found.allows(value)}
    return not allowed or (len(allowed) == 1 and _differs(key, subject))


def _differs(key: str, subject: Subject) -> bool:
    """Whether not all pods of a subject have the same value of a label, which is known in part."""
    if key in unique_keys(subject.pods_kind):
        return not subject.is_alone
    if key in grouped_keys(subject.pods_kind):
        return (subject.groups or 0) > 1
    found = subject.values_of(key)
    return subject.kind == CRON_JOB and found is not None and bool(found.varies)


def is_outdated(key: str, value: str, subject: Subject) -> bool:
    """
    Whether a value is the hash of another revision than that of the pods to come.

    A selector in a pod template is a part of what its controller hashes, so that a written hash is
    never the one of its own revision.
    """
    is_hash = key in list_revision_keys(subject) and key.endswith("-hash")
    return is_hash and subject.next_labels.get(key) != value


class OtherWorkloads(Mapping[str, int]):
    """Workload -> pods, without one workload; a view, since many workloads share the counts."""

    def __init__(self, counted: Mapping[str, int], own: str) -> None:
        """Take the counts, and the workload to leave out, which need not be in them."""
        self._counted, self._own = counted, own

    def __getitem__(self, workload: str) -> int:
        """Return the number of pods of a workload."""
        if workload == self._own:
            raise KeyError(workload)
        return self._counted[workload]

    def __iter__(self) -> Iterator[str]:
        """Yield the workloads, sorted."""
        return (workload for workload in self._counted if workload != self._own)

    def __len__(self) -> int:
        """Return the number of workloads."""
        return len(self._counted) - (self._own in self._counted)


def other_workloads(
    subject: Subject,
    selector: LabelSelector | None,
    cluster: ClusterState,
    counting: Demands = EVERYWHERE,
) -> OtherWorkloads:
    """
    Find the other workloads in the namespace that a selector counts, and their pods.

    Args:
        counting: What a node must satisfy to count.
    """
    counted = cluster.count_members(subject.namespace, selector, counting)
    return OtherWorkloads(counted, str(subject))


def find_counting(subject: Subject, index: int, spreads: SpreadConstraints) -> Demands:
    """
    Find what a node must satisfy to count for one of the constraints of a subject.

    Args:
        spreads: The constraints of the subject's next pod, as ``resolve_valid`` returns them.
    """
    found = (one for one in (*spreads.hard, *spreads.soft) if one.index == index)
    spread = next(found, None)
    return EVERYWHERE if spread is None else spread.counting(subject.demands)


def build_added_pod(subject: Subject) -> IncomingPod:
    """
    Build the pod that a subject's controller adds next, if none of the pods that run ends.

    Beside all replicas, only the rollout of a new revision adds one, so that its revision is none
    of the running pods' own.
    """
    pod = subject.next_pod
    if not adds_revision(subject):
        return pod
    keys = {*REVISION_KEYS, *list_revision_keys(subject)}
    # No controller writes an empty value: no running pod has it.
    renewed = {key: "" for key in keys if key in pod.labels and may_add(subject, key)}
    return replace(pod, labels={**pod.labels, **renewed}) if renewed else pod


def adds_revision(subject: Subject) -> bool:
    """Whether only a new revision adds a pod: all replicas run, and none may be added to them."""
    is_rolling = any(group.replaced or group.unordered for group in subject.running)
    is_waiting = any(group.placed < group.number for group in subject.running)
    is_largest = subject.most_replicas == subject.replicas
    return subject.has_all_pods and is_largest and not (is_rolling or is_waiting)


def hard_constraints(subject: Subject, context: AdviceContext) -> tuple[SpreadConstraint, ...]:
    """Resolve the hard constraints of a subject's next pod as kube-scheduler does."""
    is_hard = any(one.when_unsatisfiable == DO_NOT_SCHEDULE for one in subject.constraints)
    if not is_hard or subject.is_bound:
        return ()  # most workloads
    if context.cluster is not None:
        pod = subject.next_pod
        return context.cluster.tally(pod, subject.constraints, context.gates).spreads.hard
    return resolve_valid(subject.constraints, subject.next_labels, context.gates).hard
