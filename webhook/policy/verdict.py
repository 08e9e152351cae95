"""
The verdict on an admission request, built in one fixed order of steps.

1. Allow subresources, DELETE, CONNECT and kinds without a pod template.
2. Drop fields whose feature gate is off. If the configuration denies such fields, the denial
   follows step 5.
3. Fill in omitted fields.
4. Complete null selectors of a new pod's own constraints, if its profile requests it.
5. Deny violations of the API rules.
6. Inject default constraints into a new pod, and label it if a scale-down keeps its spread.
7. Give advice by the policy rules, which need facts of the cluster. The validating hook does this,
   because it gets the object as it is stored. If it does not get pods, the mutating hook gives
   the advice on them, as warnings only.
8. Warn of constraints for which kube-apiserver refuses the pods of a workload, though not the
   workload itself, and of unknown fields in objects of custom kinds, in the validating hook.

Mirror pods stay unchanged: they are bound already, and kube-apiserver refuses changes. In recommend
mode of the policy nothing is patched or denied, and in that of a profile nothing for the profile.

``judge`` is the entry point. A verdict is a value: this module does no I/O, reads no clock and
raises nothing.
"""

from functools import lru_cache

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.admission import advise_request, is_advised_on
from webhook.policy.advice.advise import NO_ADVICE, Advice, join_advice
from webhook.policy.amendments import Amendment, amend_constraints, with_constraints
from webhook.policy.api import rules
from webhook.policy.api.fielderrors import BAD_REQUEST, MOST_CAUSES, UNPROCESSABLE
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.rules import ApiViolation
from webhook.policy.defaulting.forecast import describe_additions, find_labels, forecast_defaults
from webhook.policy.defaulting.inject import CACHED_INJECTIONS, Injection, inject, is_mirror
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.escape import shorten_warning
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD
from webhook.policy.model import MAX_CONSTRAINTS, PodTemplate
from webhook.policy.patch import Operation, add_defaults, add_scale_down_label, replace_defaults
from webhook.policy.paths import constraints_field
from webhook.policy.request import CREATE, UPDATE, AdmissionRequest, Hook
from webhook.policy.scaledown.binding import Ranking
from webhook.policy.unknown_fields import warn_of_unknown_fields
from webhook.policy.violations import (
    describe_denial,
    find_refused_pods,
    find_stored_constraints,
    find_violations,
    warn_of_refused_pods,
    warn_of_violations,
)

UNCHANGED = Amendment(())

_RECOMMEND = Mode.RECOMMEND  # Python 3.11 needs 0.2 us to find a member, on the hot path


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
        labelled: Whether the patch labels a new pod so that it gets a rank when it is bound.
        advice: The findings of policy rules; None if they were not evaluated.
        ranking: What happened to a binding; None for any other request.
        held: What recommend mode did not carry out: ``deny``, ``patch`` or nothing. There may still
            be a patch, if only the profile has this mode.
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
    labelled: bool = False
    advice: Advice | None = None
    ranking: Ranking | None = None
    held: str = ""
    recurs: bool = False

    @property
    def outcome(self) -> str:
        """The verdict in metrics: allow, patch, deny, would_deny or would_patch."""
        if self.held and not self.patch:
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
    is_pod = request.kind == POD
    if request.unreadable:
        verdict = _judge_unreadable(request)
    elif request.siblings:
        return _judge_siblings(request, hook, policy, facts)
    elif request.template is None:
        return UNTOUCHED
    elif is_pod and is_mirror(request.template):
        if hook is Hook.VALIDATE:
            return UNTOUCHED
        verdict = _inject_defaults(request, request.template, policy, facts)  # why there are none
    else:
        verdict = _judge_object(request, request.template, hook, policy, facts)
        if hook is Hook.VALIDATE and not request.built_in:
            verdict = _warn_of_unknown(verdict, request, policy)
    if policy.mode is _RECOMMEND:
        verdict = _recommend(verdict)
    forecasts = not is_pod and policy.recommends
    return _forecast(verdict, request, policy, facts) if forecasts else verdict


def _judge_siblings(request: AdmissionRequest, hook: Hook, policy: Policy, facts: Facts) -> Verdict:
    """Judge every pod template of an object, and combine the verdicts into one."""
    requests = (replace(request, siblings=()), *request.siblings)
    verdicts = [judge(one, hook, policy, facts) for one in requests]
    drops = tuple(drop for verdict in verdicts for drop in verdict.drops)
    advice = join_advice(verdict.advice for verdict in verdicts)
    refused = [verdict for verdict in verdicts if not verdict.allowed]
    if refused:
        violations = [finding for verdict in refused for finding in verdict.findings]
        return replace(_deny(request, violations, drops), advice=advice)
    warnings = tuple(dict.fromkeys(line for verdict in verdicts for line in verdict.warnings))
    return Verdict(
        patch=tuple(operation for verdict in verdicts for operation in verdict.patch),
        warnings=warnings[:MOST_CAUSES],
        findings=tuple(finding for verdict in verdicts for finding in verdict.findings),
        drops=drops,
        advice=advice,
        held=min((verdict.held for verdict in verdicts if verdict.held), default=""),
    )


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
        violations = find_violations(request, hook, policy, amendment.constraints)
        violations = violations or list(amendment.refused)
        if violations:
            # A list that an update leaves as it was never blocks the update.
            return _warn(violations) if is_old else _deny(request, violations, amendment.drops)
    if hook is Hook.VALIDATE:
        verdict = _advise_on_stored(request, policy, facts)
        return _warn_of_refused_pods(verdict, request, policy)
    if amendment is not UNCHANGED:
        pod = with_constraints(pod, amendment.constraints)
    verdict = _inject_defaults(request, pod, policy, facts)
    if amendment.operations or amendment.held:
        verdict = replace(
            verdict,
            patch=amendment.operations + verdict.patch,
            warnings=(*map(shorten_warning, amendment.warnings), *verdict.warnings),
            drops=amendment.drops,
            held="patch" if amendment.held else verdict.held,
            recurs=False,
        )
    return _advise_on_created(verdict, request, pod, policy, facts)


def _warn_of_refused_pods(verdict: Verdict, request: AdmissionRequest, policy: Policy) -> Verdict:
    """Add warnings about constraints for which kube-apiserver refuses every pod of a workload."""
    refused = find_refused_pods(request, policy) if verdict.allowed else []
    if not refused:
        return verdict
    warnings = (*warn_of_refused_pods(refused), *verdict.warnings)
    findings = (*verdict.findings, *refused)
    return replace(verdict, warnings=warnings, findings=findings, recurs=False)


def _warn_of_unknown(verdict: Verdict, request: AdmissionRequest, policy: Policy) -> Verdict:
    """Add warnings about unknown fields, which API servers keep in objects of custom kinds."""
    unknown = tuple(map(shorten_warning, warn_of_unknown_fields(request, policy)))
    if not unknown:
        return verdict
    return replace(verdict, warnings=(*unknown, *verdict.warnings), recurs=False)


def _judge_unreadable(request: AdmissionRequest) -> Verdict:
    """Deny an unreadable object, unless the stored one is: it must stay scalable and deletable."""
    if request.operation == UPDATE and request.old_unreadable:
        return Verdict(warnings=(shorten_warning(request.unreadable),))
    message = f'{request.kind} "{request.shown_name}" cannot be read: {request.unreadable}'
    return Verdict(allowed=False, code=BAD_REQUEST, message=message)


def _deny(
    request: AdmissionRequest, violations: list[ApiViolation], drops: tuple[DroppedField, ...]
) -> Verdict:
    message = describe_denial(request, violations)
    return Verdict(allowed=False, message=message, findings=tuple(violations), drops=drops)


def _warn(violations: list[ApiViolation]) -> Verdict:
    """Allow an update that leaves violations as they were, with a warning for each."""
    return Verdict(warnings=warn_of_violations(violations), findings=tuple(violations))


def _inject_defaults(
    request: AdmissionRequest, pod: PodTemplate, policy: Policy, facts: Facts
) -> Verdict:
    """Inject the defaults of a new pod; leave any other object unchanged."""
    if not request.creates_pod:
        return UNTOUCHED
    injection = inject(pod, request.namespace, policy, facts)
    labels = None
    if injection.keeps_spread:  # seldom; the call alone would take 2 % of the time of a verdict
        labels = find_labels(injection, pod, request.namespace, facts)
    annotations = pod.metadata.annotations if pod.metadata else {}
    if injection.previous or DEFAULTS_ANNOTATION in annotations:
        patch = (*replace_defaults(pod, injection), *add_scale_down_label(has_labels=labels))
        verdict = Verdict(patch=patch, injection=injection, labelled=labels is not None)
        return _withhold(verdict, injection) if injection.recommended else verdict
    # Pods of one ReplicaSet share an injection, so they share a verdict and its encoding too.
    build = _build_addition if injection.is_small else _build_addition.__wrapped__
    listed, annotated = bool(pod.constraints), bool(annotations)
    return build(injection, listed, annotated, labels)


@lru_cache(CACHED_INJECTIONS)
def _build_addition(
    injection: Injection,
    listed: bool,  # noqa: FBT001  # keywords double the time of a cached call
    annotated: bool,  # noqa: FBT001
    labels: bool | None,  # noqa: FBT001
) -> Verdict:
    """
    Build the verdict on a pod that no earlier call changed.

    Args:
        injection: Its defaults.
        listed: Whether it has constraints of its own.
        annotated: Whether it has annotations.
        labels: Whether it has labels; None if it does not get ours.
    """
    defaults = add_defaults(injection, listed=listed, annotated=annotated)
    verdict = Verdict(
        patch=(*defaults, *add_scale_down_label(has_labels=labels)),
        injection=injection,
        labelled=labels is not None,
        recurs=injection.is_small,
    )
    return _withhold(verdict, injection) if injection.recommended else verdict


def _withhold(verdict: Verdict, injection: Injection) -> Verdict:
    """Replace the changes that a profile only recommends by warnings that describe them."""
    if not verdict.patch:
        return verdict
    texts = describe_additions(injection, labelled=verdict.labelled)
    return replace(verdict, patch=(), warnings=tuple(map(shorten_warning, texts)), held="patch")


def _advise_on_stored(request: AdmissionRequest, policy: Policy, facts: Facts) -> Verdict:
    """Give advice on an object as it is stored, from the validating hook."""
    if request.creates_pod and not policy.validates_pods:
        return UNTOUCHED  # the mutating hook gave the advice
    advice = advise_request(request, policy, facts)
    if advice is NO_ADVICE:
        return UNTOUCHED
    if not advice.denied:
        return Verdict(warnings=advice.lines(), advice=advice)
    denial = replace(_deny(request, list(advice.violations), ()), advice=advice)
    return _recommend(denial) if advice.is_held else denial


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
    stored = find_stored_constraints(request, pod, injection, policy)
    advice = advise_request(request, policy, facts, stored).without_denial()
    if advice is NO_ADVICE:
        return verdict
    warnings = verdict.warnings + advice.lines()
    return replace(verdict, warnings=warnings, advice=advice, recurs=False)


def _recommend(verdict: Verdict) -> Verdict:
    """Replace a denial or a patch by warnings that describe it."""
    if not verdict.allowed:
        warning = shorten_warning(f"evenspread would deny this: {verdict.message}")
        return replace(verdict, allowed=True, message="", warnings=(warning,), held="deny")
    return replace(verdict, patch=(), held="patch", recurs=False) if verdict.patch else verdict


def _forecast(verdict: Verdict, request: AdmissionRequest, policy: Policy, facts: Facts) -> Verdict:
    """Add warnings that describe what the pods of a new workload would get in apply mode."""
    if not verdict.allowed or verdict.held == "deny":
        return verdict
    texts = forecast_defaults(request, policy, facts)
    warnings = verdict.warnings + tuple(map(shorten_warning, texts))
    return replace(verdict, warnings=warnings, recurs=False) if texts else verdict
