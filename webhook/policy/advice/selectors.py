"""
Rules about whom a constraint counts: its own pod, nobody, or the pods of others.

Whether a selector is valid is a question for the API rules.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from webhook.policy import render
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.counting import (
    counts_no_pod,
    known_selectors,
    other_workloads,
    unmet_requirements,
)
from webhook.policy.advice.defaulting import completes_selectors
from webhook.policy.advice.findings import RuleViolation, clip, join_names
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import order_by_naming, suggest_selector
from webhook.policy.kinds import POD
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import render as render_selector

SELECTOR_CHARACTERS = 400  # of a selector that is repeated in a message; usual ones have 40


def selector_matches_itself(subject: Subject, _context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC101: a pod that its own constraint does not count is placed as if it were not there.

    The selector is asked as it is written: what matchLabelKeys join to it are the pod's own
    values, which the pod always matches.
    """
    if subject.is_partial:
        return
    for i, constraint in enumerate(subject.constraints):
        selector = constraint.label_selector
        found = selector and next(unmet_requirements(selector, subject), None)
        if not selector or not found:
            continue
        asked, key = found
        has = f"{key}={subject.labels[key]}" if key in subject.labels else f"no label {key}"
        told = clip(render_selector(selector), SELECTOR_CHARACTERS)
        yield RuleViolation(
            subject.field(i, "labelSelector"),
            f"{told} does not match the pod's own labels, so the pod itself is not counted: "
            f"{asked} is asked for, and the pod has {has}",
            suggest_selector(subject),
            f"labelSelector asks for {asked}, but the pod has {has}",
        )


def selector_counts_pods(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC102: a constraint that counts no pod sees every domain empty, and spreads nothing."""
    if subject.is_partial:
        return
    for i, constraint in enumerate(subject.constraints):
        if not counts_no_pod(constraint, subject, context.gates):
            continue
        word = "null" if constraint.label_selector is None else "empty"
        if word == "null" and completes_selectors(subject, context):
            continue
        yield RuleViolation(
            subject.field(i, "labelSelector"),
            f"labelSelector is {word} and counts no pod: the constraint spreads nothing",
            suggest_selector(subject),
        )


def selector_counts_no_others(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC113: pods of other workloads fill domains that this one's pods then avoid.

    A single pod can be even with others only, so of one it is what was meant.
    """
    cluster = context.cluster
    if cluster is None or subject.is_alone or subject.kind == POD:
        return
    for i, selector in enumerate(known_selectors(subject, context.gates)):
        others = other_workloads(subject, selector, cluster)
        if selector is None or not others:
            continue
        told = clip(render_selector(selector), SELECTOR_CHARACTERS)
        counted = [f"{name} ({pods})" for name, pods in sorted(others.items())]
        yield RuleViolation(
            subject.field(i, "labelSelector"),
            f"{told} also counts pods of {join_names(counted)}",
            _narrowed(subject, i, selector, cluster),
            f"labelSelector also counts pods of {join_names(sorted(others))}",
        )


def _narrowed(subject: Subject, index: int, selector: LabelSelector, cluster: ClusterState) -> str:
    """The selector with a label more, one of the pod's own that leaves the others out."""
    own = order_by_naming(subject.labels)
    for key, value in own.items():
        narrower = replace(selector, match_labels={**selector.match_labels, key: value})
        if not other_workloads(subject, narrower, cluster):
            written = subject.constraints[index].label_selector or LabelSelector()
            pairs = {**written.match_labels, key: value}
            return member("labelSelector", render.selector(replace(written, match_labels=pairs)))
    return "# give its pods a label that no others have, and add it to the labelSelector"
