"""Typing errors in topology keys: the label that somebody meant who wrote one that no node has."""

from collections.abc import Collection
from difflib import SequenceMatcher, get_close_matches
from itertools import islice

from webhook.policy.defaulting.profiles import HOSTNAME, ZONE

WELL_KNOWN = (ZONE, "topology.kubernetes.io/region", HOSTNAME)
"""What a short key is taken to mean if nodes have several labels of its name."""

KEY_CHARACTERS = 317  # of a label key: 253 of its prefix, a slash, 63 of its name
MOST_KEYS = 200  # label keys of nodes that a mistyped one is compared with, some 5 us each
LIKENESS = 0.75  # of two names of which one is taken for a typing error of the other, from 0 to 1


def nearest(key: str, keys: Collection[str]) -> str:
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
    names = get_close_matches(_name(key), map(_name, known), 1, LIKENESS)
    meant = [each for each in known if _name(each) in names]
    alike = {each: SequenceMatcher(None, key, each).ratio() for each in meant}
    if "/" in key:
        return max(meant, key=lambda each: alike[each], default="")
    return meant[0] if meant else ""


def _name(key: str) -> str:
    return key.rpartition("/")[2]
