"""
The effect of a policy on one workload: on the object itself, and on the next pod of its template.

``PolicyJudge`` is the entry point. It calls the functions of the server, as both webhooks do in
turn, and reads no cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.admission.apply_patch import apply_patch
from webhook.admission.offline import answer_in_turn, build_creation
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.errors import ReviewError, SourceError
from webhook.explain.explanation import Refusal
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy import render
from webhook.policy.advice.advise import NO_ADVICE
from webhook.policy.defaulting.inject import Injection, SkipReason
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.kinds import BUILT_IN_KINDS, POD
from webhook.policy.model import Constraint, GroupKind
from webhook.policy.paths import is_object
from webhook.policy.request import CREATE, AdmissionRequest, Hook
from webhook.policy.rule_entry import Action
from webhook.policy.verdict import Verdict, judge

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
        return _describe_object(self._answer(subject, facts)[1])

    def judge_bare_pod(
        self, subject: ExplainSubject, facts: Facts
    ) -> tuple[JudgedPod, ObjectEffect]:
        """
        Judge the Pod of a manifest.

        Raises:
            SourceError: The server cannot read it.
        """
        after, verdicts = self._answer(subject, facts)
        effect = _describe_object(verdicts)
        pod = msgspec.convert(after, ApiPod)
        return JudgedPod(pod, _describe_pod(pod, verdicts[0], effect.denied)), effect

    def _answer(self, subject: ExplainSubject, facts: Facts) -> tuple[Any, list[Verdict]]:
        """Answer the review of an object; return it after the first webhook, and the verdicts."""
        review = build_creation(_as_document(subject), "policy-diff")
        try:
            results = answer_in_turn(review, tuple(Hook), self._policy, facts)
        except ReviewError as error:
            raise SourceError(str(subject), f"the server would answer: {error}") from error
        verdicts = [result.verdict for result in results]
        last = verdicts[-1]
        if not (last.allowed or last.findings):
            raise SourceError(str(subject), last.message)
        return results[0].after, verdicts

    def judge_pod(self, pod: ApiPod, namespace: str, facts: Facts) -> JudgedPod:
        """
        Judge a pod that a controller creates.

        Args:
            facts: Those of its namespace, with the controller of the pod.
        """
        request = AdmissionRequest(
            uid="policy-diff",
            kind=POD,
            operation=CREATE,
            namespace=namespace,
            path=(),
            metadata=pod.metadata,
            template=pod,
        )
        verdict = judge(request, Hook.MUTATE, self._policy, facts)
        if not verdict.allowed:
            return JudgedPod(pod, _describe_pod(pod, verdict, _list_refusals(verdict)))
        patched = _apply(pod, verdict)
        stored = replace(request, metadata=patched.metadata, template=patched)
        last = judge(stored, Hook.VALIDATE, self._policy, facts)
        return JudgedPod(patched, _describe_pod(patched, verdict, _list_refusals(last)))


def _as_document(subject: ExplainSubject) -> Document:
    """Complete an object: lists of an API server leave out the kind of their items."""
    metadata = subject.value.get("metadata")
    value = {
        "apiVersion": _find_version(subject.kind),
        "kind": subject.kind.kind,
        **subject.value,
        "metadata": {**(metadata if is_object(metadata) else {}), "namespace": subject.namespace},
    }
    return Document(str(subject), value, DocumentText("{}", 1, 0))


def _find_version(kind: GroupKind) -> str:
    row = BUILT_IN_KINDS.get(kind)
    return f"{kind.group}/v1" if row is None else row.api_version


def _apply(pod: ApiPod, verdict: Verdict) -> ApiPod:
    if not verdict.patch:
        return pod
    patch: Any = msgspec.json.decode(msgspec.json.encode(verdict.patch))
    patched = apply_patch(msgspec.json.decode(msgspec.json.encode(pod)), patch)
    return msgspec.convert(patched, ApiPod)


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
    return tuple(Refusal(one.rule, one.error.field, one.error.words()) for one in verdict.findings)


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
