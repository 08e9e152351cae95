"""
The verdict on one admission request: the order in which everything is asked, always the same.

1. Subresources, DELETE, CONNECT and kinds without a pod template are allowed untouched.
2. Fields behind gates that are off are dropped; if that is to be denied, it is once the API rules
   have nothing to say.
3. Omitted fields are filled in.
4. Null selectors of a pod's own constraints are completed, where a profile says so.
5. The API rules deny.
6. A new pod gets its default constraints.
7. What a person wrote is advised on, by rules that need facts of the cluster. The validating hook
   does this, since it sees the object as it will be stored; where it is not sent pods, the mutating
   hook does it for them, and never denies by it.

Mirror pods are left alone: nothing can be changed in them, and they are bound already.

A verdict is a value; nothing here waits, fails or remembers.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.admission import advise_request, is_advised_on
from webhook.policy.advice.advise import NO_ADVICE, Advice
from webhook.policy.amendments import Amendment, amend_constraints, with_constraints
from webhook.policy.api import apiserver, fielderrors, rules
from webhook.policy.api.fastpath import are_plain
from webhook.policy.api.fielderrors import LONGEST_VALUE, MOST_CAUSES, summarize
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gate
from webhook.policy.api.rules import RuleViolation
from webhook.policy.defaulting.forecast import forecast_defaults
from webhook.policy.defaulting.inject import CACHED_INJECTIONS, Injection, inject, is_mirror
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD
from webhook.policy.model import MAX_CONSTRAINTS, Constraint, PodTemplate
from webhook.policy.patch import Operation, add, remove
from webhook.policy.paths import CONSTRAINTS_IN_POD, constraints_field, format_pointer
from webhook.policy.request import CREATE, UPDATE, AdmissionRequest, Hook
from webhook.policy.selectors import merge_match_label_keys

UNPROCESSABLE = 422  # with reason Invalid, as kube-apiserver answers to field errors
BAD_REQUEST = 400  # with reason BadRequest, as it answers to values of the wrong type

WARNING_CHARACTERS = 256  # kube-apiserver may cut longer ones, pkg/endpoints/filters/warning.go

EXPLAIN = "evenspread validate --explain"  # where a denied user reads on, without a network

CONSTRAINTS_POINTER = format_pointer(CONSTRAINTS_IN_POD)
ANNOTATIONS_POINTER = format_pointer(("metadata", "annotations"))
NO_CONSTRAINTS = Amendment(())
DEFAULTS_POINTER = format_pointer(("metadata", "annotations", DEFAULTS_ANNOTATION))


class Verdict(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """
    What to answer, and why; told apart by identity, so that an answer can be remembered by it.

    Attributes:
        allowed: Whether the request may go on.
        patch: What to change; empty in a denial and from the validating hook.
        code: The HTTP status of a denial: 422, or 400 for an object that cannot be read.
        message: Why not; empty if it is allowed.
        warnings: What the user should know, each at most 256 characters.
        findings: The violations of API rules, also where they do not deny.
        drops: The fields that gates hold back.
        injection: What a new pod's defaults are; None if that was not asked.
        advice: What rules that need facts say; None if they were not asked.
        held: What recommend mode held back: ``deny``, ``patch`` or nothing.
        recurs: Whether other requests get this very object, so that its answer is worth keeping.
    """

    allowed: bool = True
    patch: tuple[Operation, ...] = ()
    code: int = UNPROCESSABLE
    message: str = ""
    warnings: tuple[str, ...] = ()
    findings: tuple[RuleViolation, ...] = ()
    drops: tuple[DroppedField, ...] = ()
    injection: Injection | None = None
    advice: Advice | None = None
    held: str = ""
    recurs: bool = False

    @property
    def outcome(self) -> str:
        """``allow``, ``patch``, ``deny``, ``would_deny`` or ``would_patch``, as metrics say it."""
        if self.held:
            return f"would_{self.held}"
        if not self.allowed:
            return "deny"
        return "patch" if self.patch else "allow"


UNTOUCHED = Verdict(recurs=True)
"""The verdict on whatever does not concern us."""


def judge(request: AdmissionRequest, hook: Hook, policy: Policy, facts: Facts) -> Verdict:
    """
    Judge one request.

    Args:
        request: What is asked.
        hook: Which of the two webhooks was called.
        policy: What to enforce and to inject.
        facts: The cluster as it is known.

    Returns:
        A verdict whose patch applies to the requested object, and makes it pass the rules.
    """
    if request.sub_resource or request.operation not in (CREATE, UPDATE):
        return UNTOUCHED
    if request.unreadable:
        verdict = _unreadable(request)
    elif request.template is None:
        return UNTOUCHED
    elif request.kind == POD and is_mirror(request.template):
        mutates = hook is Hook.MUTATE  # whose verdict says why there are no defaults
        verdict = _newcomer(request, request.template, policy, facts) if mutates else UNTOUCHED
    else:
        verdict = _judge(request, request.template, hook, policy, facts)
    return (
        _recommended(verdict, request, policy, facts) if policy.mode is Mode.RECOMMEND else verdict
    )


def _judge(
    request: AdmissionRequest, pod: PodTemplate, hook: Hook, policy: Policy, facts: Facts
) -> Verdict:
    amended = NO_CONSTRAINTS
    if pod.constraints:
        unchanged = pod.constraints == request.old_constraints
        if len(pod.constraints) > MAX_CONSTRAINTS and not unchanged:
            at = constraints_field(request.path or ())
            return _denied(request, [rules.too_many(pod.constraints, at)], ())
        amended = amend_constraints(request, policy, facts)
        found = _findings(request, hook, policy, amended.constraints) or list(amended.refused)
        if found:
            return _told(found) if unchanged else _denied(request, found, amended.drops)
    if hook is Hook.VALIDATE:
        return _advised(request, policy, facts)
    return _mutated(request, with_constraints(pod, amended.constraints), amended, policy, facts)


def _mutated(
    request: AdmissionRequest, pod: PodTemplate, amended: Amendment, policy: Policy, facts: Facts
) -> Verdict:
    """
    Change what the API rules let pass, and advise on it where no other hook does.

    Args:
        request: What is asked.
        pod: Its pod template with the constraints that ``amended`` leaves.
        amended: What is changed in constraints that were written.
        policy: What to inject, and to advise by.
        facts: The cluster as it is known.
    """
    verdict = _newcomer(request, pod, policy, facts)
    if amended.operations:
        verdict = _amended(verdict, amended)
    return _warned(verdict, request, pod, policy, facts)


def _advised(request: AdmissionRequest, policy: Policy, facts: Facts) -> Verdict:
    """Advise on an object that the API rules let pass, in the form in which it will be stored."""
    if request.creates_pod and not policy.validates_pods:
        return UNTOUCHED  # the mutating hook gave the advice
    advice = advise_request(request, policy, facts)
    if advice is NO_ADVICE:
        return UNTOUCHED
    if advice.denied:
        return replace(_denied(request, list(advice.violations), ()), advice=advice)
    return Verdict(warnings=advice.lines(), advice=advice)


def _warned(
    verdict: Verdict, request: AdmissionRequest, pod: PodTemplate, policy: Policy, facts: Facts
) -> Verdict:
    """
    Advise on a new pod that the validating hook is not sent.

    Nothing is denied: another webhook may still change the pod.

    Args:
        verdict: What is done to the pod.
        request: Its creation.
        pod: As it stands before its defaults are injected.
        policy: What to advise by.
        facts: The cluster as it is known.
    """
    injection = verdict.injection  # None if no pod is created
    if policy.validates_pods or injection is None or not is_advised_on(request, policy):
        return verdict
    if policy.mode is Mode.RECOMMEND:
        stored = request.template.constraints if request.template else ()
    else:
        stored = injection.applied_to(pod.constraints)
    advice = advise_request(
        request, policy, facts, _as_created(stored, pod, policy)
    ).without_denial()
    if advice is NO_ADVICE:
        return verdict
    warnings = verdict.warnings + advice.lines()
    return replace(verdict, warnings=warnings, advice=advice, recurs=False)


def _as_created(
    constraints: tuple[Constraint, ...], pod: PodTemplate, policy: Policy
) -> tuple[Constraint, ...]:
    """Give the list that kube-apiserver stores for a new pod, and sends to the validating hook."""
    if Gate.SELECTOR_MERGE not in policy.gates:
        return constraints
    return merge_match_label_keys(constraints, pod.labels)


def _told(findings: list[RuleViolation]) -> Verdict:
    """Warn of what an update leaves as it was."""
    told = [_warning(finding) for finding in findings[:MOST_CAUSES]]
    left_out = len(findings) - len(told)
    rest = (f"at least {left_out} more violations",) if left_out else ()
    return Verdict(warnings=(*told, *rest), findings=tuple(findings))


def _warning(finding: RuleViolation) -> str:
    error = finding.error
    return brief(f"{error.field}: {error.words(LONGEST_VALUE)} [{finding.rule}]")


def _amended(verdict: Verdict, amended: Amendment) -> Verdict:
    return replace(
        verdict,
        patch=amended.operations + verdict.patch,
        warnings=tuple(map(brief, amended.warnings)),
        drops=amended.drops,
        recurs=False,
    )


def _newcomer(request: AdmissionRequest, pod: PodTemplate, policy: Policy, facts: Facts) -> Verdict:
    """Give a new pod its defaults; everything else stays as it is."""
    if not request.creates_pod:
        return UNTOUCHED
    injection = inject(pod, request.namespace, policy, facts)
    annotations = pod.metadata.annotations if pod.metadata else {}
    if injection.ours or DEFAULTS_ANNOTATION in annotations:
        return Verdict(patch=tuple(_recomputing(pod, annotations, injection)), injection=injection)
    add_all = _adding if injection.is_small else _adding.__wrapped__
    return add_all(injection, bool(pod.constraints), bool(annotations))


@lru_cache(CACHED_INJECTIONS)
def _adding(injection: Injection, listed: bool, annotated: bool) -> Verdict:  # noqa: FBT001
    """
    The verdict on a pod that no earlier call changed.

    Args:
        injection: Its defaults.
        listed: Whether it has constraints of its own.
        annotated: Whether it has annotations.
    """
    recurs = injection.is_small
    if not injection.entries:
        return Verdict(injection=injection, recurs=recurs)
    written = [entry.written for entry in injection.entries]
    told = injection.annotation
    patch = (
        *(
            [add(f"{CONSTRAINTS_POINTER}/-", each) for each in written]
            if listed
            else [add(CONSTRAINTS_POINTER, written)]
        ),
        add(DEFAULTS_POINTER, told)
        if annotated
        else add(ANNOTATIONS_POINTER, {DEFAULTS_ANNOTATION: told}),
    )
    return Verdict(patch=patch, injection=injection, recurs=recurs)


def _unreadable(request: AdmissionRequest) -> Verdict:
    """What was stored with a wrong shape must stay scalable and deletable."""
    if request.operation == UPDATE and request.old_unreadable:
        return Verdict(warnings=(brief(request.unreadable),))
    message = f'{request.kind} "{request.shown_name}" cannot be read: {request.unreadable}'
    return Verdict(allowed=False, code=BAD_REQUEST, message=message)


def _findings(
    request: AdmissionRequest, hook: Hook, policy: Policy, constraints: tuple[Constraint, ...]
) -> list[RuleViolation]:
    """Ask the API rules; what an update leaves as it was, only where nobody else judges it."""
    old = request.old_constraints
    unchanged = constraints == old
    if not constraints or (unchanged and request.built_in):
        return []
    judged = constraints
    if request.creates_pod and hook is Hook.MUTATE and request.template is not None:
        judged = _as_created(constraints, request.template, policy)
    form = apiserver.validation_options(None if unchanged else old, policy.gates)
    if are_plain(judged, form):
        return []
    return rules.check(judged, constraints_field(request.path or ()), form, rules.MAX_VIOLATIONS)


def _denied(
    request: AdmissionRequest, findings: list[RuleViolation], drops: tuple[DroppedField, ...]
) -> Verdict:
    """Word a denial as kube-apiserver does, then name the rules and where to read more."""
    ids = ",".join(dict.fromkeys(finding.rule for finding in findings))
    said = summarize([finding.error for finding in findings])
    invalid = f'{request.kind} "{request.shown_name}" is invalid: {said}'
    message = f"{invalid} ({ids}; to read more: {EXPLAIN} {ids})"
    return Verdict(allowed=False, message=message, findings=tuple(findings), drops=drops)


def _recomputing(
    pod: PodTemplate, annotations: Mapping[str, str], injection: Injection
) -> Iterator[Operation]:
    """The steps from what an earlier call injected to what should stand there."""
    if not injection.is_in_place:
        yield from _replacing(len(pod.constraints), injection)
    if injection.annotation and annotations.get(DEFAULTS_ANNOTATION) != injection.annotation:
        yield add(DEFAULTS_POINTER, injection.annotation)
    elif injection.ours and not injection.annotation:
        yield remove(DEFAULTS_POINTER)


def _replacing(present: int, injection: Injection) -> Iterator[Operation]:
    wanted = [entry.written for entry in injection.entries]
    if present == len(injection.ours):
        yield add(CONSTRAINTS_POINTER, wanted) if wanted else remove(CONSTRAINTS_POINTER)
        return
    for i in reversed(injection.ours):  # from the end, so that indexes stay true
        yield remove(f"{CONSTRAINTS_POINTER}/{i}")
    for each in wanted:
        yield add(f"{CONSTRAINTS_POINTER}/-", each)


def _recommended(
    verdict: Verdict, request: AdmissionRequest, policy: Policy, facts: Facts
) -> Verdict:
    """Turn what would be done into words."""
    if not verdict.allowed:
        said = brief(f"evenspread would deny this: {verdict.message}")
        return replace(verdict, allowed=True, message="", warnings=(said,), held="deny")
    told = [*_would_inject(verdict), *forecast_defaults(request, policy, facts)]
    warnings = verdict.warnings + tuple(map(brief, told))
    held = "patch" if verdict.patch else ""
    return replace(verdict, patch=(), warnings=warnings, held=held, recurs=False)


def _would_inject(verdict: Verdict) -> Iterator[str]:
    injection = verdict.injection
    if verdict.patch and injection and injection.entries:
        keys = ", ".join(injection.keys)
        yield f"evenspread would add the defaults of profile {injection.profile}: {keys}"


def brief(text: str) -> str:
    """A warning as kube-apiserver passes it on: short, and without control characters."""
    line = text if text.isprintable() else fielderrors.quote(text)[1:-1]
    return line if len(line) <= WARNING_CHARACTERS else f"{line[: WARNING_CHARACTERS - 3]}..."
