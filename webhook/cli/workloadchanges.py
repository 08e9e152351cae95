"""
What a change of policies does to workloads: ``WorkloadChange``, and ``compare_workload``.

The structs are the JSON output of ``evenspread policy diff``. Nothing here reads or judges.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from webhook.cli.inputs.policyeffects import ObjectEffect, PodEffect, RuleResult
from webhook.explain.explanation import Refusal
from webhook.policy.rule_entry import Action

FindFailure: TypeAlias = Callable[[int], str | None]
"""Describes why the next pod finds no node: 0 for the one before the change, 1 for that after."""


class FindingChange(msgspec.Struct, frozen=True):
    """
    A finding on a workload whose action differs.

    Attributes:
        message: The problem.
        before: The action; None if there was no such finding.
        after: Likewise.
    """

    rule: str
    field: str
    message: str
    before: Action | None = None
    after: Action | None = None


class WorkloadState(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    A workload and its next pod, before or after the change.

    Attributes:
        pod: The effect on the pod.
        failed_scheduling: Why the pod finds no node, the message of the event FailedScheduling;
            empty if it finds one; None if it was not placed, since its constraints stay as they
            are, it is denied, or no node is known.
        denied: Why the workload itself is denied if it is created, or its pod template changes.
    """

    pod: PodEffect
    failed_scheduling: str | None = None
    denied: tuple[Refusal, ...] = ()

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Why the workload, or else its pod, is denied."""
        return self.denied or self.pod.denied


class WorkloadChange(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    A workload on which a change of policies has an effect.

    Attributes:
        template: Path of the pod template, if the workload has several; otherwise empty.
        findings: Of rules, those whose action differs.
    """

    kind: str
    group: str
    namespace: str
    name: str
    template: str = ""
    before: WorkloadState
    after: WorkloadState
    findings: tuple[FindingChange, ...] = ()

    @property
    def is_denied(self) -> bool:
        """Whether it is denied because of the change."""
        return bool(self.after.refusals) and not self.before.refusals

    @property
    def is_pending(self) -> bool:
        """Whether its next pod finds no node because of the change."""
        before = self.before
        worked = not (before.failed_scheduling or before.refusals)
        return worked and bool(self.after.failed_scheduling)

    @property
    def warns(self) -> bool:
        """Whether there are new warnings, or denials in place of less."""
        return any(
            one.after in _SHOWN and one.before not in (Action.DENY, one.after)
            for one in self.findings
        )

    @property
    def changes_pod(self) -> bool:
        """Whether the next pod itself differs."""
        return _content_of(self.before.pod) != _content_of(self.after.pod)


_SHOWN = frozenset({Action.WARN, Action.DENY})


class WorkloadTemplateName(msgspec.Struct, frozen=True):
    """The names of a workload, and of its template, as in ``WorkloadChange``."""

    kind: str
    group: str
    namespace: str
    name: str
    template: str = ""


class WorkloadEffect(msgspec.Struct, frozen=True):
    """The effects of one policy on a workload and its next pod."""

    pod: PodEffect
    whole: ObjectEffect = ObjectEffect()


def compare_workload(
    name: WorkloadTemplateName,
    before: WorkloadEffect,
    after: WorkloadEffect,
    find_failure: FindFailure,
) -> WorkloadChange | None:
    """
    Compare the effects of two policies.

    Args:
        find_failure: Is called only if the constraints of the pod differ.

    Returns:
        None if they are equal.
    """
    findings = tuple(compare_findings(before.whole.findings, after.whole.findings))
    is_same = _outcome_of(before) == _outcome_of(after)
    if is_same and not findings:
        return None
    is_placed = before.pod.constraints != after.pod.constraints
    states = [
        WorkloadState(
            pod=effect.pod,
            failed_scheduling=find_failure(side) if is_placed and not effect.pod.denied else None,
            denied=effect.whole.denied,
        )
        for side, effect in enumerate((before, after))
    ]
    return WorkloadChange(
        kind=name.kind,
        group=name.group,
        namespace=name.namespace,
        name=name.name,
        template=name.template,
        before=states[0],
        after=states[1],
        findings=findings,
    )


def _outcome_of(effect: WorkloadEffect) -> object:
    """Return what a user notices of an effect, besides the findings."""
    pod = effect.pod
    return _content_of(pod), pod.recommended, pod.denied, effect.whole.denied


def compare_findings(
    before: Sequence[RuleResult], after: Sequence[RuleResult]
) -> Iterator[FindingChange]:
    """Yield the findings whose action differs, also those that are only on one side."""
    old, new = ({(one.rule, one.field): one for one in side} for side in (before, after))
    for key in dict.fromkeys((*old, *new)):
        first, last = old.get(key), new.get(key)
        actions = first and first.action, last and last.action
        shown = last or first
        if actions[0] != actions[1] and shown is not None:
            yield FindingChange(shown.rule, shown.field, shown.message, *actions)


def _content_of(pod: PodEffect) -> PodEffect:
    """Return a pod without what is no part of it."""
    return PodEffect(labels=pod.labels, annotations=pod.annotations, constraints=pod.constraints)


class ChangeCounts(msgspec.Struct, frozen=True, rename="camel"):
    """
    Numbers of workloads.

    Attributes:
        workloads: All that were compared.
        changed: Those whose next pod, findings or denials differ.
        pods: Those whose next pod differs.
        denied: Those that are denied because of the change.
        pending: Those whose next pod finds no node because of the change.
    """

    workloads: int = 0
    changed: int = 0
    pods: int = 0
    denied: int = 0
    pending: int = 0


def count_changes(changes: Sequence[WorkloadChange], workloads: int) -> ChangeCounts:
    """Count the changes of some workloads."""
    return ChangeCounts(
        workloads,
        len(changes),
        sum(one.changes_pod for one in changes),
        sum(one.is_denied for one in changes),
        sum(one.is_pending for one in changes),
    )
