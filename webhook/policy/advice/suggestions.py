"""What remarks tell people to write, where more than one rule says it."""

from collections.abc import Collection, Mapping
from difflib import SequenceMatcher, get_close_matches
from itertools import islice

from webhook.policy import render
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.profiles import HOSTNAME, ZONE
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import LabelSelector

NAMING_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app", "k8s-app", "name")
"""Labels by which people tell workloads apart, the best known first."""

RESTARTABLE = frozenset({DEPLOYMENT, DAEMON_SET, STATEFUL_SET})  # kinds that kubectl can restart


def order_by_naming(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels in the order in which they are good at telling workloads apart."""
    first = {key: labels[key] for key in NAMING_LABELS if key in labels}
    return first | dict(sorted(labels.items()))


def suggest_selector(subject: Subject) -> str:
    """A selector that matches a subject's own pods, in YAML."""
    return member("labelSelector", render.selector(own_selector(subject)))


def own_selector(subject: Subject) -> LabelSelector:
    """
    A selector that matches a subject's own pods: by the labels that name it, else by all.

    A pod without labels can be selected by none: then by one that it should be given.
    """
    naming = {key: subject.labels[key] for key in NAMING_LABELS if key in subject.labels}
    name = subject.metadata.name or "web"
    return LabelSelector(naming or dict(sorted(subject.labels.items())) or {"app": name})


def suggest_restart(subject: Subject) -> str:
    """How to have a workload make all its pods anew; a comment, since there is nothing to write."""
    if subject.kind in RESTARTABLE:
        namespace = f" -n {subject.namespace}" if subject.namespace else ""
        kind, _, name = str(subject).partition("/")
        return f"# kubectl rollout restart {kind.lower()}/{name}{namespace}"
    return "# delete the pods one after another: those made in their place are spread anew"


WELL_KNOWN = (ZONE, "topology.kubernetes.io/region", HOSTNAME)
"""What a short key is taken to mean if nodes have several labels of its name."""

KEY_CHARACTERS = 317  # of a label key: 253 of its prefix, a slash, 63 of its name
MOST_KEYS = 200  # label keys of nodes that a mistyped one is compared with, some 5 us each
KEY_SIMILARITY = (
    0.75  # of two names of which one is taken for a typing error of the other, from 0 to 1
)


def nearest_key(key: str, keys: Collection[str]) -> str:
    """
    The label that somebody meant who wrote a key that no node carries.

    Args:
        key: As it was written, of any length.
        keys: The labels that nodes carry.

    Returns:
        One of the keys, whose name is that of the written one or differs in few letters; empty
        if there is none.
    """
    if len(key) > KEY_CHARACTERS:
        return ""
    known = [each for each in WELL_KNOWN if each in keys]
    known += [each for each in islice(keys, MOST_KEYS) if each not in known]
    names = get_close_matches(_name(key), map(_name, known), 1, KEY_SIMILARITY)
    meant = [each for each in known if _name(each) in names]
    alike = {each: SequenceMatcher(None, key, each).ratio() for each in meant}
    if "/" in key:
        return max(meant, key=lambda each: alike[each], default="")
    return meant[0] if meant else ""


def _name(key: str) -> str:
    return key.rpartition("/")[2]
