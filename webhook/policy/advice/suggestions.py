"""
Suggestions: what findings of several rules advise the user to write.

Selectors for the pods of a subject, and the topology key that a misspelled key resembles. How to
replace running pods is the subject of ``restarts``.
"""

from collections.abc import Collection, Mapping
from difflib import SequenceMatcher, get_close_matches
from itertools import islice

from webhook.policy import render
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import JOB
from webhook.policy.model import HOSTNAME, REGION, SCHEDULE_ANYWAY, ZONE, Constraint, LabelSelector
from webhook.policy.podlabels import JOB_NAME
from webhook.policy.selectors import SELECT_ALL

NAMING_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app", "k8s-app", "name")
"""Label keys that identify workloads, the most common first."""


def order_by_naming(labels: Mapping[str, str]) -> dict[str, str]:
    """Sort labels by how well they identify a workload."""
    first = {key: labels[key] for key in NAMING_LABELS if key in labels}
    return first | dict(sorted(labels.items()))


ADD_LABELS = "# its pods have no labels: add some, and select its pods by them"
"""Suggests what comes before a selector; a YAML comment."""


def suggest_soft(constraint: Constraint) -> str:
    """Format what makes a hard constraint soft as YAML; a soft one must not have minDomains."""
    soft = member("whenUnsatisfiable", SCHEDULE_ANYWAY)
    return soft if constraint.min_domains is None else f"{soft}\n{member('minDomains', None)}"


def suggest_selector(subject: Subject) -> str:
    """Format a selector that matches the subject's own pods as YAML, or a comment."""
    own = own_selector(subject)
    return ADD_LABELS if own == SELECT_ALL else member("labelSelector", render.selector(own))


def own_selector(subject: Subject) -> LabelSelector:
    """
    Return a selector for the subject's own pods: by labels that identify it, else by all labels.

    For a Job without labels it selects by the one that the Job gives to its pods; it is empty for
    other pods without labels.
    """
    naming = {key: subject.labels[key] for key in NAMING_LABELS if key in subject.labels}
    return LabelSelector(naming or dict(sorted(subject.labels.items())) or _job_label(subject))


def _job_label(subject: Subject) -> dict[str, str]:
    name = subject.metadata.name
    return {JOB_NAME: name} if subject.kind == JOB and name else {}


WELL_KNOWN = (ZONE, REGION, HOSTNAME)
"""Labels that take precedence if several labels of nodes match a misspelled key."""

KEY_CHARACTERS = 317  # of a label key: 253 of its prefix, a slash, 63 of its name
MOST_KEYS = 200  # label keys of nodes that a misspelled one is compared with, some 5 us each
KEY_SIMILARITY = 0.75  # of a name and one that it was misspelled from, 0 to 1


def nearest_key(key: str, keys: Collection[str]) -> str:
    """
    Find the label that a topology key, which no node has, was probably meant to be.

    Returns:
        The label whose name, after the prefix, is equal or differs in few letters; empty if there
        is none.
    """
    if len(key) > KEY_CHARACTERS:
        return ""
    known = [label for label in WELL_KNOWN if label in keys]
    known += [label for label in islice(keys, MOST_KEYS) if label not in known]
    names = get_close_matches(_name_of(key), map(_name_of, known), 1, KEY_SIMILARITY)
    meant = [label for label in known if _name_of(label) in names]
    if "/" in key:  # the prefix distinguishes labels of the same name
        return max(meant, key=lambda label: SequenceMatcher(None, key, label).ratio(), default="")
    return meant[0] if meant else ""


def _name_of(key: str) -> str:
    return key.rpartition("/")[2]
