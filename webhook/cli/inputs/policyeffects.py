"""
The effect of a policy on one workload: on the object itself, and on the next pod of its template.

``PolicyJudge`` is the entry point. It calls the functions of the server, as both webhooks do in
turn, and reads no cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from webhook.cli.inputs.offlinereviews import (
    describe_refusal,
    patch_pod,
    review_pod,
    review_subject,
)
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.explanation import Refusal
from webhook.policy import render
from webhook.policy.advice.advise import NO_ADVICE
from webhook.policy.defaulting.inject import Injection, SkipReason
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.model import Constraint
from webhook.policy.request import Hook
from webhook.policy.rule_entry import Action
from webhook.policy.verdict import Verdict

OWN_PREFIX = "evenspread.io/"  # of the labels and annotations that the server writes


class RuleResult(NamedTuple):
    """
    A finding of a rule, and what is done about it.

    Attributes:
        action: ``deny`` only if the object is denied for it.
    """

    rule: str
    field: str
    message: str
    action: Action


class ObjectEffect(msgspec.Struct, frozen=True):
    """
    The effect on an object that is created, or whose pod template is changed.

    Attributes:
        denied: Why it is denied; empty if it is not.
    """

    findings: tuple[RuleResult, ...] = ()
    denied: tuple[Refusal, ...] = ()


class PodEffect(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    The effect on a new pod.

    Attributes:
        profile: The profile that applies; empty if none does.
        skip: Why it gets no defaults; empty if it gets some.
        labels: Those with ``OWN_PREFIX``.
        annotations: Likewise.
        constraints: Its constraints, as the server leaves them.
        recommended: Constraints that its profile, or the policy, only recommends.
        denied: Why it is denied; empty if it is not.
    """

    profile: str = ""
    skip: SkipReason = SkipReason.NONE
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    constraints: tuple[dict[str, Any], ...] = ()
    recommended: tuple[dict[str, Any], ...] = ()
    denied: tuple[Refusal, ...] = ()


class JudgedPod(NamedTuple):
    """A new pod after its admission, and the effect of the policy on it."""

    pod: ApiPod
    effect: PodEffect


class PolicyJudge:
    """Judges workloads under one policy."""

    def __init__(self, policy: Policy) -> None:
        """Store the policy."""
        self._policy = policy

    def judge_object(self, subject: ExplainSubject, facts: Facts) -> ObjectEffect:
        """
        Judge a workload as if it were created now.

        Raises:
            SourceError: The server cannot read it.
        """
        return _describe_object(self._review(subject, facts)[1])

    def judge_bare_pod(
        self, subject: ExplainSubject, facts: Facts
    ) -> tuple[JudgedPod, ObjectEffect]:
        """
        Judge the Pod of a manifest.

        Raises:
            SourceError: The server cannot read it.
        """
        after, verdicts = self._review(subject, facts)
        effect = _describe_object(verdicts)
        pod = msgspec.convert(after, ApiPod)
        return JudgedPod(pod, _describe_pod(pod, verdicts[0], effect.denied)), effect

    def _review(self, subject: ExplainSubject, facts: Facts) -> tuple[Any, list[Verdict]]:
        """Review an object; return it after the first webhook, and the verdicts."""
        results = review_subject(subject, self._policy, facts)
        return results[0].after, [result.verdict for result in results]

    def judge_pod(self, pod: ApiPod, namespace: str, facts: Facts) -> JudgedPod:
        """
        Judge a pod that a controller creates.

        Args:
            facts: Those of its namespace, with the controller of the pod.
        """
        verdict = review_pod(pod, namespace, Hook.MUTATE, self._policy, facts)
        if not verdict.allowed:
            return JudgedPod(pod, _describe_pod(pod, verdict, _list_refusals(verdict)))
        patched = patch_pod(pod, verdict)
        last = review_pod(patched, namespace, Hook.VALIDATE, self._policy, facts)
        return JudgedPod(patched, _describe_pod(patched, verdict, _list_refusals(last)))


def _describe_pod(pod: ApiPod, verdict: Verdict, denied: tuple[Refusal, ...]) -> PodEffect:
    injection = verdict.injection
    annotations = pod.metadata.annotations if pod.metadata else {}
    return PodEffect(
        profile=injection.profile if injection else "",
        skip=injection.skip if injection else SkipReason.NONE,
        labels=_select_own(pod.labels),
        annotations=_select_own(annotations),
        constraints=tuple(map(_render, pod.constraints or ())),
        recommended=tuple(_list_recommended(injection)),
        denied=denied,
    )


def _select_own(pairs: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if key.startswith(OWN_PREFIX)}


def _render(constraint: Constraint) -> dict[str, Any]:
    return render.constraint(constraint)


def _list_recommended(injection: Injection | None) -> Iterator[dict[str, Any]]:
    if injection is not None and injection.recommended:
        for entry in injection.entries:
            yield msgspec.json.decode(entry.written)


def _list_refusals(verdict: Verdict) -> tuple[Refusal, ...]:
    if verdict.allowed:
        return ()
    return tuple(map(describe_refusal, verdict.findings))


def _describe_object(verdicts: Iterable[Verdict]) -> ObjectEffect:
    found: dict[tuple[str, str], RuleResult] = {}
    denied: tuple[Refusal, ...] = ()
    for verdict in verdicts:
        denied = _list_refusals(verdict)
        for one in _list_results(verdict):
            found.setdefault((one.rule, one.field), one)
    return ObjectEffect(tuple(found.values()), denied)


def _list_results(verdict: Verdict) -> Iterator[RuleResult]:
    """List the findings of a verdict; a denial that is only recommended is a warning."""
    done = Action.WARN if verdict.allowed else Action.DENY
    for one in verdict.findings:
        yield RuleResult(one.rule, one.error.field, one.error.words(), done)
    advice = verdict.advice or NO_ADVICE
    rows = ((advice.denied, Action.WARN), (advice.warned, Action.WARN))
    for findings, action in (*rows, (advice.audited, Action.AUDIT)):
        for finding in findings:
            yield RuleResult(finding.rule, finding.field, finding.problem, action)
