"""
The verdict on an admission request, built in one fixed order of steps.

1. Allow subresources, DELETE, CONNECT and kinds without a pod template.
2. Drop fields whose feature gate is off. If the configuration denies such fields, the denial
   follows step 5.
3. Fill in omitted fields.
4. Complete null selectors of a new pod's own constraints, if its profile requests it.
5. Deny violations of the API rules.
6. Inject default constraints into a new pod.
7. Give advice by the policy rules, which need facts of the cluster. The validating hook does this,
   because it gets the object as it is stored. If it does not get pods, the mutating hook gives
   the advice on them, as warnings only.

Mirror pods stay unchanged: they are bound already, and kube-apiserver refuses changes.

``judge`` is the entry point. A verdict is a value: this module does no I/O, reads no clock and
raises nothing.
"""

from collections.abc import Iterator
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.admission import advise_request, is_advised_on
from webhook.policy.advice.advise import NO_ADVICE, Advice
from webhook.policy.amendments import Amendment, amend_constraints, with_constraints
from webhook.policy.api import predict, rules
from webhook.policy.api.fastpath import are_plain
from webhook.policy.api.fielderrors import LONGEST_VALUE, MOST_CAUSES, summarize
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gate
from webhook.policy.api.rules import ApiViolation
from webhook.policy.catalogue import explain_command
from webhook.policy.defaulting.forecast import forecast_defaults
from webhook.policy.defaulting.inject import CACHED_INJECTIONS, Injection, inject, is_mirror
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.escape import printable
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD
from webhook.policy.model import MAX_CONSTRAINTS, Constraint, PodTemplate
from webhook.policy.patch import Operation, add_defaults, replace_defaults
from webhook.policy.paths import constraints_field
from webhook.policy.request import CREATE, UPDATE, AdmissionRequest, Hook
from webhook.policy.selectors import merge_match_label_keys

UNPROCESSABLE = 422  # with reason Invalid, kube-apiserver's reply to field errors
BAD_REQUEST = 400  # with reason BadRequest, its reply to values of the wrong type

WARNING_CHARACTERS = 256  # kube-apiserver may cut longer ones, pkg/endpoints/filters/warning.go

UNCHANGED = Amendment(())


class Verdict(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """
    The response to a request, and the reasons for it.

    Verdicts compare by identity, so that encoded responses can be cached by verdict.

    Attributes:
        allowed: Whether the request is admitted.
        patch: Changes to the object; empty in a denial and from the validating hook.
        code: The HTTP status of a denial: 422, or 400 for an object that cannot be read.
        message: The reason of a denial; empty otherwise.
        warnings: Messages to the user, each at most 256 characters.
        findings: The violations of API rules, also those that do not deny.
        drops: The fields dropped because of feature gates.
        injection: The defaults of a new pod; None if no pod is created.
        advice: The findings of policy rules; None if they were not evaluated.
        held: What recommend mode did not carry out: ``deny``, ``patch`` or nothing.
        recurs: Whether other requests get this same object, so that caching its encoding pays.
    """

    allowed: bool = True
    patch: tuple[Operation, ...] = ()
    code: int = UNPROCESSABLE
    message: str = ""
    warnings: tuple[str, ...] = ()
    findings: tuple[ApiViolation, ...] = ()
    drops: tuple[DroppedField, ...] = ()
    injection: Injection | None = None
    advice: Advice | None = None
    held: str = ""
    recurs: bool = False

    @property
    def outcome(self) -> str:
        """The verdict in metrics: allow, patch, deny, would_deny or would_patch."""
        if self.held:
            return f"would_{self.held}"
        if not self.allowed:
            return "deny"
        return "patch" if self.patch else "allow"


UNTOUCHED = Verdict(recurs=True)
"""The verdict that allows a request without change, warning or finding."""


def judge(request: AdmissionRequest, hook: Hook, policy: Policy, facts: Facts) -> Verdict:
    """
    Judge one request.

    Args:
        request: The decoded request.
        hook: The webhook that was called.
        policy: The rules to enforce and the defaults to inject.
        facts: The current facts of the cluster.

    Returns:
        A verdict whose patch applies to the requested object and makes it pass the rules.
    """
    if request.sub_resource or request.operation not in (CREATE, UPDATE):
        return UNTOUCHED
    if request.unreadable:
        verdict = _judge_unreadable(request)
    elif request.template is None:
        return UNTOUCHED
    elif request.kind == POD and is_mirror(request.template):
        if hook is Hook.VALIDATE:
            return UNTOUCHED
        verdict = _inject_defaults(request, request.template, policy, facts)  # why there are none
    else:
        verdict = _judge_object(request, request.template, hook, policy, facts)
    if policy.mode is Mode.RECOMMEND:
        return _recommend(verdict, request, policy, facts)
    return verdict


def _judge_object(
    request: AdmissionRequest, pod: PodTemplate, hook: Hook, policy: Policy, facts: Facts
) -> Verdict:
    amendment = UNCHANGED
    if pod.constraints:
        is_old = pod.constraints == request.old_constraints
        if len(pod.constraints) > MAX_CONSTRAINTS and not is_old:
            path = constraints_field(request.path or ())
            return _deny(request, [rules.too_many(pod.constraints, path)], ())
        amendment = amend_constraints(request, policy, facts)
        violations = _find_violations(request, hook, policy, amendment.constraints)
        violations = violations or list(amendment.refused)
        if violations:
            # A list that an update leaves as it was never blocks the update.
            return _warn(violations) if is_old else _deny(request, violations, amendment.drops)
    if hook is Hook.VALIDATE:
        return _advise_on_stored(request, policy, facts)
    if amendment is not UNCHANGED:
        pod = with_constraints(pod, amendment.constraints)
    verdict = _inject_defaults(request, pod, policy, facts)
    if amendment.operations:
        verdict = replace(
            verdict,
            patch=amendment.operations + verdict.patch,
            warnings=tuple(map(brief, amendment.warnings)),
            drops=amendment.drops,
            recurs=False,
        )
    return _advise_on_created(verdict, request, pod, policy, facts)


def _judge_unreadable(request: AdmissionRequest) -> Verdict:
    """Deny an unreadable object, unless the stored one is: it must stay scalable and deletable."""
    if request.operation == UPDATE and request.old_unreadable:
        return Verdict(warnings=(brief(request.unreadable),))
    message = f'{request.kind} "{request.shown_name}" cannot be read: {request.unreadable}'
    return Verdict(allowed=False, code=BAD_REQUEST, message=message)


def _find_violations(
    request: AdmissionRequest, hook: Hook, policy: Policy, constraints: tuple[Constraint, ...]
) -> list[ApiViolation]:
    """Apply the API rules; skip a list that kube-apiserver accepted before and judges again."""
    old = request.old_constraints
    is_old = constraints == old
    if not constraints or (is_old and request.built_in):
        return []
    judged = constraints
    if request.creates_pod and hook is Hook.MUTATE and request.template is not None:
        judged = _merge_label_keys(constraints, request.template, policy)
    options = predict.validation_options(None if is_old else old, policy.gates)
    if are_plain(judged, options):
        return []
    path = constraints_field(request.path or ())
    return rules.check(judged, path, options, rules.MAX_VIOLATIONS)


def _deny(
    request: AdmissionRequest, violations: list[ApiViolation], drops: tuple[DroppedField, ...]
) -> Verdict:
    """Deny in kube-apiserver's words, then name the rules and the command that explains them."""
    ids = ",".join(dict.fromkeys(violation.rule for violation in violations))
    summary = summarize([violation.error for violation in violations])
    invalid = f'{request.kind} "{request.shown_name}" is invalid: {summary}'
    message = f"{invalid} ({ids}; to read more: {explain_command(ids)})"
    return Verdict(allowed=False, message=message, findings=tuple(violations), drops=drops)


def _warn(violations: list[ApiViolation]) -> Verdict:
    """Allow an update that leaves violations as they were, with a warning for each."""
    warnings = [
        brief(f"{error.field}: {error.words(LONGEST_VALUE)} [{violation.rule}]")
        for violation in violations[:MOST_CAUSES]
        for error in (violation.error,)
    ]
    left_out = len(violations) - len(warnings)
    rest = (f"at least {left_out} more violations",) if left_out else ()
    return Verdict(warnings=(*warnings, *rest), findings=tuple(violations))


def _inject_defaults(
    request: AdmissionRequest, pod: PodTemplate, policy: Policy, facts: Facts
) -> Verdict:
    """Inject the defaults of a new pod; leave any other object unchanged."""
    if not request.creates_pod:
        return UNTOUCHED
    injection = inject(pod, request.namespace, policy, facts)
    annotations = pod.metadata.annotations if pod.metadata else {}
    if injection.previous or DEFAULTS_ANNOTATION in annotations:
        return Verdict(patch=tuple(replace_defaults(pod, injection)), injection=injection)
    # Pods of one ReplicaSet share an injection, so they share a verdict and its encoding too.
    build = _build_addition if injection.is_small else _build_addition.__wrapped__
    return build(injection, bool(pod.constraints), bool(annotations))


@lru_cache(CACHED_INJECTIONS)
def _build_addition(injection: Injection, listed: bool, annotated: bool) -> Verdict:  # noqa: FBT001
    """
    Build the verdict on a pod that no earlier call changed.

    Args:
        injection: Its defaults.
        listed: Whether it has constraints of its own.
        annotated: Whether it has annotations.
    """
    patch = tuple(add_defaults(injection, listed=listed, annotated=annotated))
    return Verdict(patch=patch, injection=injection, recurs=injection.is_small)


def _advise_on_stored(request: AdmissionRequest, policy: Policy, facts: Facts) -> Verdict:
    """Give advice on an object as it is stored, from the validating hook."""
    if request.creates_pod and not policy.validates_pods:
        return UNTOUCHED  # the mutating hook gave the advice
    advice = advise_request(request, policy, facts)
    if advice is NO_ADVICE:
        return UNTOUCHED
    if advice.denied:
        return replace(_deny(request, list(advice.violations), ()), advice=advice)
    return Verdict(warnings=advice.lines(), advice=advice)


def _advise_on_created(
    verdict: Verdict, request: AdmissionRequest, pod: PodTemplate, policy: Policy, facts: Facts
) -> Verdict:
    """
    Give advice on a new pod that the validating hook does not get.

    The advice never denies, because another webhook may still change the pod.

    Args:
        verdict: The verdict on the pod so far.
        request: The creation of the pod.
        pod: The pod before its defaults are injected.
        policy: The actions of the policy rules.
        facts: The current facts of the cluster.
    """
    injection = verdict.injection  # None if no pod is created
    if policy.validates_pods or injection is None or not is_advised_on(request, policy):
        return verdict
    if policy.mode is Mode.RECOMMEND:
        constraints = request.template.constraints if request.template else ()
    else:
        constraints = injection.applied_to(pod.constraints)
    stored = _merge_label_keys(constraints, pod, policy)
    advice = advise_request(request, policy, facts, stored).without_denial()
    if advice is NO_ADVICE:
        return verdict
    warnings = verdict.warnings + advice.lines()
    return replace(verdict, warnings=warnings, advice=advice, recurs=False)


def _merge_label_keys(
    constraints: tuple[Constraint, ...], pod: PodTemplate, policy: Policy
) -> tuple[Constraint, ...]:
    """Build the list that kube-apiserver stores for a new pod."""
    if Gate.SELECTOR_MERGE not in policy.gates:
        return constraints
    return merge_match_label_keys(constraints, pod.labels)


def _recommend(
    verdict: Verdict, request: AdmissionRequest, policy: Policy, facts: Facts
) -> Verdict:
    """Replace a denial or a patch by warnings that describe it."""
    if not verdict.allowed:
        warning = brief(f"evenspread would deny this: {verdict.message}")
        return replace(verdict, allowed=True, message="", warnings=(warning,), held="deny")
    texts = [*_describe_injection(verdict), *forecast_defaults(request, policy, facts)]
    warnings = verdict.warnings + tuple(map(brief, texts))
    held = "patch" if verdict.patch else ""
    return replace(verdict, patch=(), warnings=warnings, held=held, recurs=False)


def _describe_injection(verdict: Verdict) -> Iterator[str]:
    injection = verdict.injection
    if verdict.patch and injection and injection.entries:
        keys = ", ".join(injection.keys)
        yield f"evenspread would add the defaults of profile {injection.profile}: {keys}"


def brief(text: str) -> str:
    """Shorten a warning to what kube-apiserver passes on, without control characters."""
    line = printable(text)
    return line if len(line) <= WARNING_CHARACTERS else f"{line[: WARNING_CHARACTERS - 3]}..."
