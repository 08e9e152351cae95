"""
Rule TSC115: pods have the defaults of their profile.

The defaults themselves are computed in ``policy.defaulting``.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import RuleViolation, join_names
from webhook.policy.advice.restarts import suggest_restart
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.forecast import ForecastFacts, first_pod
from webhook.policy.defaulting.inject import (
    Injection,
    inject,
    is_excepted,
    profile_of,
    reason_to_leave_alone,
)
from webhook.policy.defaulting.profiles import Mode
from webhook.policy.defaulting.selector import derive_selector
from webhook.policy.model import Constraint, LabelSelector, PodTemplate
from webhook.policy.selectors import merge_match_label_keys


def completes_selectors(subject: Subject, context: AdviceContext) -> bool:
    """Whether a profile will fill in null selectors when the subject's pods are created."""
    policy, namespace = context.policy, subject.namespace
    pod = first_pod(subject.kind, subject.metadata.name, subject.pod)
    if reason_to_leave_alone(pod, namespace, policy):
        return False
    profile = profile_of(pod, namespace, policy, context.facts)
    if profile is None or not profile.complete_selectors:
        return False
    if policy.mode_of(profile) is Mode.RECOMMEND:
        return False
    if is_excepted(pod, namespace, profile, context.facts):
        return False
    facts = ForecastFacts(context.facts, LabelSelector(subject.pod.labels))
    return derive_selector(pod, namespace, facts) is not None


def pods_have_defaults(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC115: pods older than a profile, or than a change of their Services, lack its defaults."""
    if not context.policy.profiles:
        return
    lacking, injection = 0, None
    for group in subject.running:
        # A pod that has the profile's entries would get the same again: compare their digests.
        given = _inject_again(group, subject, context)
        if not (given.recommended or given.is_in_place):
            lacking += group.number if given.entries else 0
            injection = given if given.entries else injection
    if injection is None:
        return
    total = sum(group.number for group in subject.running)
    yield RuleViolation(
        subject.list_path,
        f"{lacking} of its {total} pods lack the defaults of profile {injection.profile}: "
        f"a constraint on {join_names(injection.keys)} with the selector of their Services and "
        "owner",
        suggest_restart(subject),
        f"{lacking} of {total} pods lack the defaults of profile {injection.profile}",
    )


def _inject_again(group: RunningPods, subject: Subject, context: AdviceContext) -> Injection:
    """Compute the defaults that a running pod would get if it were created now."""
    pod = group.pod
    if pod.spec is not None:
        constraints = pod.constraints
        if Gate.SELECTOR_MERGE in context.gates:
            constraints = tuple(_undo_merge(constraint, pod) for constraint in constraints)
        spec = replace(pod.spec, node_name="", topology_spread_constraints=constraints)
        pod = PodTemplate(pod.metadata, spec)
    return inject(pod, subject.namespace, context.policy, context.facts)


def _undo_merge(constraint: Constraint, pod: PodTemplate) -> Constraint:
    """
    Undo the API server's merge of matchLabelKeys into the selector of a constraint.

    Source: KEP-3243.
    """
    selector = constraint.label_selector
    alone = replace(constraint, label_selector=LabelSelector())
    (merged,) = merge_match_label_keys((alone,), pod.labels)
    added = merged.label_selector.match_expressions if merged.label_selector else ()
    if selector is None or not added:
        return constraint
    kept = selector.match_expressions[: -len(added)]
    if kept + added != selector.match_expressions:
        return constraint
    return replace(constraint, label_selector=replace(selector, match_expressions=kept))
