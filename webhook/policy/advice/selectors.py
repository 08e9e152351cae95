"""
Rules about which pods a constraint counts: TSC101 (not its own), TSC102 (none), TSC113 (others).

Whether a selector is valid is decided by the API rules.
"""

from collections.abc import Iterator
from itertools import islice

from webhook.policy.advice import counting
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.defaulting import completes_selectors
from webhook.policy.advice.findings import NAMED_EXAMPLES, RuleViolation, clip, join_names
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import suggest_narrower, suggest_selector
from webhook.policy.podlabels import spell_key
from webhook.policy.selectors import render as render_selector

SELECTOR_CHARACTERS = 400  # of a selector in a message; usual ones have 40


def selector_matches_itself(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC101: a pod that its own constraint does not count is missing when the next one is placed.

    The selector is judged as written: matchLabelKeys add the pod's own values, which the pod
    always matches.
    """
    if subject.is_partial:
        return
    for i, constraint in enumerate(subject.constraints):
        selector = constraint.label_selector
        unmet = selector and next(counting.unmet_requirements(selector, subject), None)
        if not selector or not unmet:
            continue
        required, key = unmet
        has = _name_own(key, subject, is_absent=required == f"!{key}")
        text = clip(render_selector(selector), SELECTOR_CHARACTERS)
        yield RuleViolation(
            subject.field(i, "labelSelector"),
            f"{text} does not match the pod's own labels, so the pod itself is not counted: "
            f"it requires {required}, and the pod has {has}",
            suggest_selector(subject, constraint, context.cluster),
            f"labelSelector requires {required}, but the pod has {has}",
        )


def _name_own(key: str, subject: Subject, *, is_absent: bool) -> str:
    """
    Name what the subject's pods have in place of what a selector requires.

    Args:
        is_absent: Whether it requires that they lack the label.
    """
    if key in subject.labels:
        return f"{key}={subject.labels[key]}"
    if not counting.may_add(subject, key):
        known = spell_key(key)
        is_other = known in subject.labels or counting.may_add(subject, known)
        return f"no label {key}{f', but {known}' if is_other else ''}"
    if is_absent:
        return f"{key}, which its controller adds"
    found = subject.values_of(key)
    if found is None:
        return f"another {key} in every revision; matchLabelKeys compares it"
    differs = f", which differs by {found.varies}" if found.varies else ""
    return f"{key}={found.outline}{differs}{found.limits}"


def selector_counts_pods(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC102: a constraint that counts no pod finds every domain empty, and spreads nothing."""
    if subject.is_partial:
        return
    for i, constraint in enumerate(subject.constraints):
        if not counting.counts_no_pod(constraint, subject, context.gates):
            continue
        word = "null" if constraint.label_selector is None else "empty"
        if word == "null" and completes_selectors(subject, context):
            continue
        yield RuleViolation(
            subject.field(i, "labelSelector"),
            f"labelSelector is {word} and counts no pod: the constraint spreads nothing",
            suggest_selector(subject, constraint, context.cluster),
        )


def selector_counts_no_others(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC113: pods of other workloads fill domains, which the subject's own pods then avoid.

    A single pod can only be spread together with others, so for pods this is intended, and for one
    that stands for its controller. Pods on nodes that a constraint leaves out do not count.
    """
    cluster = context.cluster
    if cluster is None or subject.is_alone or _is_single_pod(subject):
        return
    spreads = cluster.tally(subject.next_pod, subject.constraints, context.gates).spreads
    for i, selector in enumerate(counting.known_selectors(subject, context.gates)):
        if selector is None:
            continue
        counted_on = counting.find_counting(subject, i, spreads)
        others = counting.other_workloads(subject, selector, cluster, counted_on)
        if not others:
            continue
        text = clip(render_selector(selector), SELECTOR_CHARACTERS)
        first = list(islice(others.items(), NAMED_EXAMPLES))
        counted = [f"{name} ({pods})" for name, pods in first]
        names = join_names([name for name, _ in first], len(others))
        yield RuleViolation(
            subject.field(i, "labelSelector"),
            f"{text} also counts pods of {join_names(counted, len(others))}",
            suggest_narrower(subject, subject.constraints[i], selector, cluster),
            f"labelSelector also counts pods of {names}",
        )


def _is_single_pod(subject: Subject) -> bool:
    """Whether it is a pod, or the only one of a controller that is known by its pods."""
    return not subject.path and sum(group.number for group in subject.running) <= 1
