"""
Which pods the constraints of a subject count, as far as is known before its pods exist.

Controllers add labels to those of a template, so a constraint that selects by such a label cannot
be judged by the template alone. How many pods are counted is the subject of ``placement.tallies``.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from webhook.policy.advice.context import AdviceContext, ClusterState, resolve_valid
from webhook.policy.advice.subject import JOBS, Subject
from webhook.policy.api.gates import Gate, Gates
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, POD, STATEFUL_SET
from webhook.policy.model import Constraint, GroupKind, LabelSelector
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.selectors import OPERATORS, matches, merge_match_label_keys, render

POD_TEMPLATE_HASH = "pod-template-hash"  # apps/v1 ``DefaultDeploymentUniqueLabelKey``
_REVISION_HASH = "controller-revision-hash"  # apps/v1 ``ControllerRevisionHashLabelKey``
_OF_JOBS = frozenset(
    {
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/job-completion-index",
    }
)

ADDED_LABELS: Mapping[GroupKind, frozenset[str]] = MappingProxyType(
    {
        POD: frozenset[str](),
        GroupKind("", "ReplicationController"): frozenset[str](),
        GroupKind("apps", "ReplicaSet"): frozenset[str](),
        DEPLOYMENT: frozenset({POD_TEMPLATE_HASH}),
        DAEMON_SET: frozenset({_REVISION_HASH, "pod-template-generation"}),
        STATEFUL_SET: frozenset(
            {_REVISION_HASH, "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"}
        ),
        **dict.fromkeys(JOBS, _OF_JOBS),
    }
)
"""
Labels that a controller adds to those of the template. Controllers of unlisted kinds may add any.

Source: k8s.io api apps/v1 and batch/v1 types.go.
"""


def may_add(subject: Subject, key: str) -> bool:
    """Whether a controller may add this label to the pods of a subject."""
    if key in subject.labels:
        return False
    added = ADDED_LABELS.get(subject.kind)
    return added is None or key in added


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
        else _select_if_counted(constraint.label_selector, labels)
        for constraint in merged
    ]


def _select_if_counted(
    selector: LabelSelector | None, labels: Mapping[str, str]
) -> LabelSelector | None:
    return selector if matches(selector, labels) and selector != LabelSelector() else None


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


def unmet_requirements(selector: LabelSelector, subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield each requirement that the subject's pods certainly do not meet, and its label key."""
    for key, value in selector.match_labels.items():
        if subject.labels.get(key) != value and not may_add(subject, key):
            yield f"{key}={value}", key
    for expression in selector.match_expressions:
        alone = LabelSelector(match_expressions=(expression,))
        known = expression.operator in OPERATORS and not may_add(subject, expression.key)
        if known and not matches(alone, subject.labels):
            yield render(alone), expression.key


def other_workloads(
    subject: Subject, selector: LabelSelector | None, cluster: ClusterState
) -> dict[str, int]:
    """Find the other workloads in the namespace that a selector counts -> number of pods."""
    counted = cluster.members.count(subject.namespace, selector)
    counted.pop(str(subject), None)
    return counted


def next_pod(subject: Subject, labels: Mapping[str, str] | None = None) -> IncomingPod:
    """Build the next pod of a subject, with these labels or those that it will have."""
    labels = subject.next_labels if labels is None else labels
    return IncomingPod(subject.namespace, labels, subject.demands)


def hard_constraints(subject: Subject, context: AdviceContext) -> tuple[SpreadConstraint, ...]:
    """Resolve the hard constraints of a subject's next pod as kube-scheduler does."""
    if not subject.constraints or subject.is_bound:
        return ()  # most workloads
    if context.cluster is not None:
        pod = next_pod(subject)
        return context.cluster.tally(pod, subject.constraints, context.gates).spreads.hard
    return resolve_valid(subject.constraints, subject.next_labels, context.gates).hard
