"""
Suggestions: what findings of several rules advise the user to write or to run.

Selectors for the pods of a subject, restarts, and the topology key that a misspelled key resembles.
"""

from collections.abc import Collection, Mapping
from difflib import SequenceMatcher, get_close_matches
from itertools import islice

from webhook.policy import render
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, POD, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, LabelSelector

NAMING_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app", "k8s-app", "name")
"""Label keys that identify workloads, the most common first."""

RESTARTABLE = frozenset({DEPLOYMENT, DAEMON_SET, STATEFUL_SET})  # by ``kubectl rollout restart``


def order_by_naming(labels: Mapping[str, str]) -> dict[str, str]:
    """Sort labels by how well they identify a workload."""
    first = {key: labels[key] for key in NAMING_LABELS if key in labels}
    return first | dict(sorted(labels.items()))


def suggest_selector(subject: Subject) -> str:
    """Format a selector that matches the subject's own pods as YAML."""
    return member("labelSelector", render.selector(own_selector(subject)))


def own_selector(subject: Subject) -> LabelSelector:
    """
    Return a selector for the subject's own pods: by labels that identify it, else by all labels.

    For pods without labels it selects by a label that the user has to add.
    """
    naming = {key: subject.labels[key] for key in NAMING_LABELS if key in subject.labels}
    name = subject.metadata.name or "web"
    return LabelSelector(naming or dict(sorted(subject.labels.items())) or {"app": name})


def suggest_restart(subject: Subject) -> str:
    """Suggest how to replace all pods of a workload; a YAML comment."""
    if subject.kind in RESTARTABLE:
        namespace = f" -n {subject.namespace}" if subject.namespace else ""
        kind, _, name = str(subject).partition("/")
        return f"# kubectl rollout restart {kind.lower()}/{name}{namespace}"
    if subject.kind == POD:
        return "# create the pod anew: no controller creates another in its place"
    return "# delete the pods one after another: those created in their place are spread anew"


WELL_KNOWN = (ZONE, "topology.kubernetes.io/region", HOSTNAME)
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
