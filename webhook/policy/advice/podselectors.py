"""
Corrected selectors of pods that stand for themselves: without a known pod template.

These are Pods without a controller, and Pods whose controller is not known or has no template, such
as an Agones GameServer. The pods to count are others, so a selector must not name the single pod.
``correct_requirements`` and ``list_shared_labels`` are the entry points.
"""

from collections.abc import Mapping
from difflib import SequenceMatcher

from msgspec.structs import replace

from webhook.policy.advice.counting import unmet_requirements
from webhook.policy.advice.nearestkey import KEY_SIMILARITY, nearest_key
from webhook.policy.advice.subject import Subject
from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement
from webhook.policy.podlabels import PER_POD_KEYS, unique_keys
from webhook.policy.selectors import EXISTS, IN, SELECT_ALL, selected_keys

NAMING_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app", "k8s-app", "name")
"""Label keys that identify workloads, the most common first."""


def list_shared_labels(subject: Subject) -> dict[str, str]:
    """List the labels of a pod that stands for itself that other pods may have as well."""
    unique = PER_POD_KEYS | unique_keys(subject.pods_kind)
    return {
        key: value
        for key, value in subject.labels.items()
        if key not in unique and not _is_of_one_pod(key, value, subject)
    }


def _is_of_one_pod(key: str, value: str, subject: Subject) -> bool:
    """Whether only one of several pods has a label, or its value is the name of the only pod."""
    if sum(group.number for group in subject.running) > 1:
        alike = (group for group in subject.running if group.pod.labels.get(key) == value)
        return sum(group.number for group in alike) == 1
    name = subject.pod.metadata.name if subject.pod.metadata else ""
    # A label such as app is meant for many pods, even if the first one has the same name.
    return bool(name) and name == value and key not in NAMING_LABELS


def correct_requirements(subject: Subject, constraint: Constraint) -> LabelSelector | None:
    """
    Correct the requirements of a selector that a pod which stands for itself does not meet.

    They get the pod's own value. The others stay as written, unless they select a single pod.

    Returns:
        The corrected selector; None if nothing is left of it, and for a workload.
    """
    written = constraint.label_selector
    if subject.path or written is None:
        return None
    added = set(constraint.match_label_keys) - selected_keys(written)
    labels = {key: own for key, own in list_shared_labels(subject).items() if key not in added}
    pairs: dict[str, str] = {}
    for key, value in written.match_labels.items():
        if not _is_unmet(LabelSelector({key: value}), subject):
            if key in labels or key not in subject.labels:
                pairs[key] = value
        elif meant := _find_meant(key, subject, labels):
            pairs[meant] = labels[meant]
    expressions = (_correct_expression(one, subject, labels) for one in written.match_expressions)
    corrected = LabelSelector(pairs, tuple(filter(None, expressions)))
    return None if corrected == SELECT_ALL else corrected


def _correct_expression(
    expression: LabelSelectorRequirement, subject: Subject, labels: Mapping[str, str]
) -> LabelSelectorRequirement | None:
    if not _is_unmet(LabelSelector(match_expressions=(expression,)), subject):
        return expression
    meant = _find_meant(expression.key, subject, labels)
    if not meant or expression.operator not in (IN, EXISTS):
        return None
    values = (labels[meant],) if expression.operator == IN else ()
    return replace(expression, key=meant, values=values)


def _is_unmet(selector: LabelSelector, subject: Subject) -> bool:
    return next(unmet_requirements(selector, subject), None) is not None


def _find_meant(key: str, subject: Subject, labels: Mapping[str, str]) -> str:
    """Find the shared label that an unmet requirement was meant to name; empty if there is none."""
    if key in subject.labels:
        return key if key in labels else ""
    meant = nearest_key(key, labels)
    if "/" in key and SequenceMatcher(None, key, meant).ratio() < KEY_SIMILARITY:
        return ""  # a label of another domain, although its name is alike
    return meant
