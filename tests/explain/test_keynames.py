"""Well-known label keys have short names, unless a cluster uses these words as keys."""

from collections.abc import Iterable

import pytest

from tests.policy.placement.clusters import node
from webhook.explain.keynames import (
    REGION,
    SHORT,
    SHORT_NAMES,
    KeyNames,
    find_key_names,
)
from webhook.policy.model import HOSTNAME, ZONE, Node

KEYS = {"zone": ZONE, "region": REGION, "hostname": HOSTNAME, "rack": "rack"}


@pytest.mark.parametrize(("short", "full"), KEYS.items())
def test_well_known_keys_have_short_names(short: str, full: str) -> None:
    assert SHORT_NAMES.full(short) == full
    assert SHORT_NAMES.short(full) == short
    assert SHORT_NAMES.full(full) == full


def test_all_short_names_are_tested() -> None:
    assert KEYS.keys() > SHORT.keys()


# labels of a node, keys that the pod uses, what is literal
FOUND: dict[str, tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "nothing": ({}, (ZONE, "rack"), ()),
    "a label of a node": ({"zone": "a"}, (), ("zone",)),
    "a key of the pod": ({}, ("region", "hostname"), ("region", "hostname")),
}


@pytest.mark.parametrize(("labels", "keys", "literal"), FOUND.values(), ids=FOUND.keys())
def test_a_word_that_is_a_key_names_that_key(
    labels: dict[str, str], keys: Iterable[str], literal: tuple[str, ...]
) -> None:
    names = find_key_names([node("n1", "a"), Node("n2", labels)], keys)

    assert names == KeyNames(frozenset(literal))


def test_beside_a_literal_key_the_well_known_one_is_written_in_full() -> None:
    names = KeyNames(frozenset({"zone"}))

    assert (names.full("zone"), names.short("zone")) == ("zone", "zone")
    assert (names.full(ZONE), names.short(ZONE)) == (ZONE, ZONE)
    assert (names.full("region"), names.short(REGION)) == (REGION, "region")
