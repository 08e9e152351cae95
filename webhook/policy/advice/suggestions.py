"""
Suggestions: what findings of several rules advise the user to write.

Selectors for the pods of a subject and no others. How to replace running pods is the subject of
``restarts``.
"""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from webhook.policy import render
from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.counting import list_revision_keys, may_add, other_workloads
from webhook.policy.advice.findings import join_names
from webhook.policy.advice.flow import member
from webhook.policy.advice.podselectors import (
    NAMING_LABELS,
    correct_requirements,
    list_shared_labels,
)
from webhook.policy.advice.subject import SELECTOR_REQUIRED, Subject
from webhook.policy.kinds import POD
from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement
from webhook.policy.podlabels import JOB_KEYS, PER_POD_KEYS, REVISION_KEYS, naming_keys
from webhook.policy.selectors import OPERATORS, SELECT_ALL, has_pairs, matches, selected_keys


def order_by_naming(labels: Mapping[str, str]) -> dict[str, str]:
    """Sort labels by how well they identify a workload."""
    first = {key: labels[key] for key in NAMING_LABELS if key in labels}
    return first | dict(sorted(labels.items()))


ADD_LABELS = "# its pods share no labels: add some, and select its pods by them"
"""Suggests what comes before a selector; a YAML comment."""


def suggest_selector(subject: Subject, constraint: Constraint, cluster: ClusterState | None) -> str:
    """
    Format a selector of the subject's own pods for a constraint as YAML, or a comment.

    For a pod that stands for itself, it is the selector of the constraint, corrected if possible.
    If the selector needs keys of matchLabelKeys, these are written anew without them:
    kube-apiserver refuses pods with a key in both.
    """
    if refused := describe_refused_labels(subject):
        return f"# {refused}"
    corrected = correct_requirements(subject, constraint)
    own = corrected or constraint_selector(subject, constraint, cluster)
    if own == SELECT_ALL:
        return ADD_LABELS
    if corrected is None:
        own = _correct_names(constraint, subject) or own
        own = replace(own, match_expressions=_list_met(constraint, own, subject))
    written = member("labelSelector", render.selector(own))
    keys = constraint.match_label_keys
    kept = [key for key in keys if key not in own.match_labels]
    if len(kept) == len(keys) or not own.match_labels.keys().isdisjoint(
        selected_keys(constraint.label_selector)
    ):
        return written
    return f"{written}\n{member('matchLabelKeys', kept or None)}"


def describe_refused_labels(subject: Subject) -> str:
    """
    Say which labels of a workload's own selector its template lacks; mostly empty.

    kube-apiserver refuses such a workload, and a selector by the labels of the template would be
    wrong as soon as these are corrected.
    """
    required = subject.selector_labels
    if subject.kind not in SELECTOR_REQUIRED or has_pairs(subject.labels, required):
        return ""
    lacking = {key: value for key, value in required.items() if subject.labels.get(key) != value}
    pairs = join_names([f"{key}: {value}" for key, value in lacking.items()])
    return f"first make the labels of the template match spec.selector, which requires {pairs}"


def list_controller_names(subject: Subject, keys: Collection[str]) -> dict[str, str]:
    """List the labels, of some keys, with which the controller names the workload on its pods."""
    added = subject.common_labels.items() - subject.labels.items()
    name = subject.metadata.name
    names = (key for key, value in sorted(added) if value == name != subject.part)
    return {key: name for key in names if key in keys}


def _correct_names(constraint: Constraint, subject: Subject) -> LabelSelector | None:
    """Correct the selector of a constraint that names another workload; None if it names none."""
    written = constraint.label_selector.match_labels if constraint.label_selector else {}
    names = list_controller_names(subject, written)
    if not names:
        return None
    kept = {key: written[key] for key in written if subject.common_labels.get(key) == written[key]}
    return LabelSelector({**kept, **names})


def _list_met(
    constraint: Constraint, own: LabelSelector, subject: Subject
) -> tuple[LabelSelectorRequirement, ...]:
    """List the expressions of a constraint that the subject's pods meet, on other labels."""
    written = constraint.label_selector.match_expressions if constraint.label_selector else ()
    return tuple(
        one
        for one in written
        if one.operator in OPERATORS
        and one.key not in (*own.match_labels, *constraint.match_label_keys)
        and not may_add(subject, one.key)
        and matches(LabelSelector(match_expressions=(one,)), subject.labels)
    )


def constraint_selector(
    subject: Subject, constraint: Constraint, cluster: ClusterState | None
) -> LabelSelector:
    """
    Return a selector for the subject's own pods, without the keys that matchLabelKeys add to it.

    A key that the constraint selects by already is kept, and so are all if no other would be left.
    """
    own = own_selector(subject, cluster)
    added = set(constraint.match_label_keys) - selected_keys(constraint.label_selector)
    pairs = {key: value for key, value in own.match_labels.items() if key not in added}
    return LabelSelector(pairs) if pairs else own


def own_selector(subject: Subject, cluster: ClusterState | None) -> LabelSelector:
    """
    Return a selector for the subject's own pods, and in an audit for no others if possible.

    It selects by the labels of the workload's own selector, else by labels that identify it, else
    by all labels. Without any, it selects by those with which a controller names the workload, as
    a Job does; it is empty if there are none. A single pod can only be spread together with others,
    so no label is used that only this pod has.
    """
    if not subject.path:
        subject = _without_own_labels(subject)
    naming = {key: subject.labels[key] for key in NAMING_LABELS if key in subject.labels}
    own = (
        identifying_labels(subject)
        or naming
        or dict(sorted(subject.labels.items()))
        or _list_names(subject)
    )
    if cluster is None or subject.is_alone or subject.kind == POD:
        return LabelSelector(own)
    return LabelSelector(own | (find_distinction(subject, LabelSelector(own), cluster) or {}))


def _without_own_labels(subject: Subject) -> Subject:
    """Return a pod that stands for itself with the labels alone that others may have as well."""
    metadata = subject.pod.metadata
    if metadata is None:
        return subject
    shared = replace(metadata, labels=list_shared_labels(subject))
    return replace(subject, pod=replace(subject.pod, metadata=shared))


def identifying_labels(subject: Subject) -> dict[str, str]:
    """
    Return the labels of a workload's own selector that all its pods have in every revision.

    Returns:
        Labels in the order of ``order_by_naming``; empty if its template does not carry them.
    """
    pairs = subject.selector_labels
    lasting = {key: value for key, value in pairs.items() if _is_lasting(key, subject)}
    return order_by_naming(lasting) if has_pairs(subject.labels, lasting) else {}


def _is_lasting(key: str, subject: Subject) -> bool:
    """Whether a label is the same on all pods of a subject, in every revision and every run."""
    return (
        key not in REVISION_KEYS
        and key not in PER_POD_KEYS
        and key not in JOB_KEYS
        and key not in list_revision_keys(subject)
    )


def find_distinction(
    subject: Subject, selector: LabelSelector, cluster: ClusterState
) -> dict[str, str] | None:
    """
    Find the labels of a subject's pods with which a selector counts no other workloads.

    One label suffices in most cases. Those of the workload's own selector take precedence: others,
    as that of a version, may change.

    Returns:
        The labels to add, empty if it counts no others; None if it counts others with any of them.
    """
    own = identifying_labels(subject)
    rest = {key: subject.labels[key] for key in subject.labels if _is_lasting(key, subject)}
    singles = [{key: value} for key, value in order_by_naming(rest).items() if key not in own]
    joined = {key: own[key] for key in own if key not in selected_keys(selector)}
    for pairs in ({}, *({key: own[key]} for key in own), joined, *singles):
        narrower = replace(selector, match_labels={**selector.match_labels, **pairs})
        if not other_workloads(subject, narrower, cluster):
            return pairs
    return None


def suggest_narrower(
    subject: Subject, constraint: Constraint, selector: LabelSelector | None, cluster: ClusterState
) -> str:
    """
    Suggest the selector with labels of the subject's pods that exclude the other workloads.

    Args:
        constraint: The one of its constraints that counts them.
        selector: That of the constraint with the values of its matchLabelKeys.

    Returns:
        YAML; a comment if all labels of its pods are also on pods of others.
    """
    added = find_distinction(subject, selector or LabelSelector(), cluster)
    if not added:
        return "# give its pods a label that no others have, and add it to the labelSelector"
    written = constraint.label_selector or LabelSelector()
    narrower = replace(written, match_labels={**written.match_labels, **added})
    return member("labelSelector", render.selector(narrower))


def _list_names(subject: Subject) -> dict[str, str]:
    """List the labels with which the controller of a workload names it; only known ones."""
    labels = subject.common_labels
    return {key: labels[key] for key in naming_keys(subject.pods_kind) if key in labels}
