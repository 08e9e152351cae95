"""
The node label that a topology key was probably meant to be: ``nearest_key``, ``list_siblings``.

People misspell keys, write a dot for a slash, or the word that they have for a label.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import dropwhile, islice, zip_longest
from types import MappingProxyType

from webhook.policy.model import BETA_REGION, BETA_ZONE, HOSTNAME, REGION, ZONE

WELL_KNOWN = (ZONE, REGION, HOSTNAME)
"""Labels that take precedence if several labels of nodes match a misspelled key."""

KEY_CHARACTERS = 317  # of a label key: 253 of its prefix, a slash, 63 of its name
MOST_KEYS = 200  # label keys of nodes that a misspelled one is compared with, some 5 us each
KEY_SIMILARITY = 0.75  # of a name and one that it was misspelled from, 0 to 1
WHOLE_SIMILARITY = 0.9  # of whole keys, which share their prefixes


_WORDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("host", "hosts", "node", "nodes", "nodename", "node-name"), HOSTNAME),
        **dict.fromkeys(("az", "azs", "availability-zone", "availabilityzone"), ZONE),
    }
)
"""Name that people give to a label -> the label."""

_KUBERNETES = ("kubernetes.io/", "k8s.io/")  # ends of prefixes

_SUCCESSORS: Mapping[str, str] = MappingProxyType({BETA_ZONE: ZONE, BETA_REGION: REGION})
"""Deprecated label -> the label that replaces it."""


def nearest_key(key: str, keys: Collection[str]) -> str:
    """
    Find the label that a topology key, which no node has, was probably meant to be.

    Returns:
        The label whose name, after the prefix, is equal or differs in few letters; else the one
        that people call so; else one that differs in few letters as a whole, a slash being as good
        as a dot; empty if there is none. No deprecated label, if nodes have its successor.
    """
    if len(key) > KEY_CHARACTERS:
        return ""
    known = [label for label in WELL_KNOWN if label in keys]
    known += [
        label
        for label in islice(keys, MOST_KEYS)
        if label not in known and _SUCCESSORS.get(label) not in known
    ]
    key = key.strip("/")
    meant = _list_near(key, known, _name_of, KEY_SIMILARITY)
    word = _WORDS.get(_name_of(key).lower())
    if not meant and word in known:
        return word
    meant = meant or _list_alike(key, known)
    if "/" in key:  # the prefix distinguishes labels of the same name
        return max(meant, key=lambda label: SequenceMatcher(None, key, label).ratio(), default="")
    return meant[0] if meant else ""


def list_siblings(key: str, keys: Collection[str]) -> list[str]:
    """
    List the labels with the prefix of a topology key, which no node has, in order.

    Returns:
        Some of ``MOST_KEYS`` labels; empty for a prefix of Kubernetes' own, whose labels have
        nothing in common.
    """
    prefix = f"{key.partition('/')[0]}/"
    if "/" not in key or prefix.endswith(_KUBERNETES):
        return []
    return sorted(label for label in islice(keys, MOST_KEYS) if label.startswith(prefix))


def _list_near(
    key: str, known: Sequence[str], shorten: Callable[[str], str], similarity: float
) -> list[str]:
    nearest = get_close_matches(shorten(key), map(shorten, known), 1, similarity)
    return [label for label in known if shorten(label) in nearest]


def _list_alike(key: str, known: Sequence[str]) -> list[str]:
    """List labels that are alike as a whole, and so is what follows the parts that are equal."""
    found = _list_near(key, known, _join_parts, WHOLE_SIMILARITY)
    return [label for label in found if _ends_alike(_join_parts(key), _join_parts(label))]


def _ends_alike(key: str, label: str) -> bool:
    pairs = list(zip_longest(key.split("."), label.split("."), fillvalue=""))
    differing = list(dropwhile(lambda pair: pair[0] == pair[1], pairs))
    end, other = (".".join(pair[side] for pair in differing) for side in (0, 1))
    return SequenceMatcher(None, end, other).ratio() >= KEY_SIMILARITY


def _join_parts(key: str) -> str:
    return key.replace("/", ".")


def _name_of(key: str) -> str:
    return key.rpartition("/")[2]
