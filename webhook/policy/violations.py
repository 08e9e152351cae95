"""
The violations of API rules by a request, and the texts of a denial.

``find_violations`` is the entry point. It judges the constraints as kube-apiserver will store them;
whether a violation denies the request is decided by ``policy.verdict``.
"""

from collections.abc import Sequence

from webhook.policy.api import predict, rules
from webhook.policy.api.fastpath import are_plain
from webhook.policy.api.fielderrors import LONGEST_VALUE, MOST_CAUSES, summarize
from webhook.policy.api.gates import Gate
from webhook.policy.api.rules import ApiViolation
from webhook.policy.catalogue import DEFAULT_ACTIONS, explain_command
from webhook.policy.defaulting.inject import Injection
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.escape import shorten_warning
from webhook.policy.model import Constraint, PodTemplate
from webhook.policy.paths import constraints_field
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.selectors import merge_match_label_keys


def find_violations(
    request: AdmissionRequest, hook: Hook, policy: Policy, constraints: tuple[Constraint, ...]
) -> list[ApiViolation]:
    """
    Apply the API rules; skip a list that kube-apiserver accepted before and judges again.

    Args:
        constraints: The list of the object after all changes to it.
    """
    old = request.old_constraints
    is_old = constraints == old
    if not constraints or (is_old and request.built_in):
        return []
    judged = constraints
    if request.creates_pod and hook is Hook.MUTATE and request.template is not None:
        judged = merge_label_keys(constraints, request.template, policy)
    options = predict.validation_options(None if is_old else old, policy.gates)
    if are_plain(judged, options):
        return []
    path = constraints_field(request.path or ())
    return rules.check(judged, path, options, rules.MAX_VIOLATIONS)


def merge_label_keys(
    constraints: tuple[Constraint, ...], pod: PodTemplate, policy: Policy
) -> tuple[Constraint, ...]:
    """Build the list that kube-apiserver stores for a new pod."""
    if Gate.SELECTOR_MERGE not in policy.gates:
        return constraints
    return merge_match_label_keys(constraints, pod.labels)


def find_stored_constraints(
    request: AdmissionRequest, pod: PodTemplate, injection: Injection, policy: Policy
) -> tuple[Constraint, ...]:
    """
    Find the constraints that kube-apiserver stores for a new pod, after the mutating hook.

    Args:
        pod: The pod with the changes to its own constraints.
    """
    constraints = pod.constraints
    if policy.mode is Mode.RECOMMEND:
        constraints = request.template.constraints if request.template else ()
    elif not injection.recommended:
        constraints = injection.applied_to(constraints)
    return merge_label_keys(constraints, pod, policy)


def find_refused_pods(request: AdmissionRequest, policy: Policy) -> list[ApiViolation]:
    """
    Find why kube-apiserver refuses the pods of a template that it accepts.

    Returns:
        The violations; empty for what a controller created, and for an update that leaves the
        constraints and labels of the template as they were.
    """
    template, old = request.template, request.old
    if template is None or request.controlled:
        return []
    if old and (old.constraints, old.labels) == (template.constraints, template.labels):
        return []
    return predict.find_refused_pods(
        request.kind, request.path or (), template, template.constraints, policy.gates
    )


def warn_of_refused_pods(violations: Sequence[ApiViolation]) -> tuple[str, ...]:
    """Write a warning for each reason for which pods are refused; at most some."""
    return tuple(
        shorten_warning(f"{one.rule} {one.error.field}: {one.error.words(LONGEST_VALUE)}")
        for one in violations[:MOST_CAUSES]
    )


def describe_denial(request: AdmissionRequest, violations: Sequence[ApiViolation]) -> str:
    """Deny in kube-apiserver's words, then name the rules and the command that explains them."""
    ids = ",".join(dict.fromkeys(violation.rule for violation in violations))
    summary = summarize([violation.error for violation in violations])
    invalid = f'{request.kind} "{request.shown_name}" is invalid: {summary}'
    return f"{invalid} ({ids}; to read more: {explain_command(ids)})"


def describe_cause(violation: ApiViolation) -> str:
    """
    Describe a violation in a denial's list of causes; those of API rules in kube-apiserver's words.

    kubectl prints the causes without the message of the denial, so those of policy rules name
    the rule, and who has it.
    """
    words = violation.error.words(LONGEST_VALUE)
    return f"{words} [evenspread {violation.rule}]" if violation.rule in DEFAULT_ACTIONS else words


def warn_of_violations(violations: Sequence[ApiViolation]) -> tuple[str, ...]:
    """Write a warning for each violation that an update leaves as it was; at most some."""
    warnings = [
        shorten_warning(f"{error.field}: {error.words(LONGEST_VALUE)} [{violation.rule}]")
        for violation in violations[:MOST_CAUSES]
        for error in (violation.error,)
    ]
    left_out = len(violations) - len(warnings)
    rest = (f"at least {left_out} more violations",) if left_out else ()
    return (*warnings, *rest)
