from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import FakeFacts
from tests.cluster.objects import node
from webhook.cluster.nodes import NodeStore
from webhook.cluster.store import WatchEventType
from webhook.cluster.wire import NodeObject
from webhook.policy.facts import TaintedDomains
from webhook.policy.model import Taint

ZONE = "zone"
GPU = Taint(key="gpu", effect="NoSchedule")
SPOT = Taint(key="spot", effect="NoExecute")
SOFT = Taint(key="old", effect="PreferNoSchedule")

Closed = set[tuple[frozenset[tuple[Taint, ...]], frozenset[str]]]


def closed(found: Sequence[TaintedDomains]) -> Closed:
    """Forget the order, and join the entries that are tainted in the same ways."""
    values: dict[frozenset[tuple[Taint, ...]], set[str]] = {}
    for each in found:
        values.setdefault(frozenset(each.taints), set()).update(each.values)
    return {(ways, frozenset(names)) for ways, names in values.items()}


# nodes, ways in which a domain is tainted and the domains
CASES: dict[str, tuple[list[NodeObject], list[tuple[list[tuple[Taint, ...]], str]]]] = {
    "no node": ([], []),
    "an open domain": ([node("a", {ZONE: "1"})], []),
    "a tainted domain": ([node("a", {ZONE: "1"}, taints=[GPU])], [([(GPU,)], "1")]),
    "a taint that keeps nobody away": ([node("a", {ZONE: "1"}, taints=[SOFT])], []),
    "such a taint beside another": (
        [node("a", {ZONE: "1"}, taints=[SOFT, SPOT])],
        [([(SPOT,)], "1")],
    ),
    "a domain of a tainted node and an open one": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"})],
        [],
    ),
    "a domain of two ways": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"}, taints=[GPU, SPOT])],
        [([(GPU,), (GPU, SPOT)], "1")],
    ),
    "a cordoned node is not looked at": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"}, unschedulable=True)],
        [([(GPU,)], "1")],
    ),
    "two domains of one way are one entry": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "2"}, taints=[GPU])],
        [([(GPU,)], "12")],
    ),
}


@pytest.mark.parametrize(("nodes", "expected"), CASES.values(), ids=CASES.keys())
def test_tainted_domains(
    nodes: list[NodeObject], expected: list[tuple[list[tuple[Taint, ...]], str]]
) -> None:
    store = NodeStore()
    for each in nodes:
        store.put(each)

    found = store.tainted_domains(ZONE)

    assert closed(found) == {(frozenset(ways), frozenset(names)) for ways, names in expected}
    assert len(found) == len(expected)


LABELS = st.dictionaries(st.sampled_from([ZONE, "host"]), st.sampled_from("123"))
TAINTS = st.lists(st.sampled_from([GPU, SPOT, SOFT]), max_size=2)
NODES = st.builds(node, st.sampled_from("abcd"), LABELS, taints=TAINTS, unschedulable=st.booleans())
CHANGES = st.tuples(st.sampled_from(WatchEventType), NODES) | st.lists(NODES, max_size=4)


@given(st.lists(CHANGES))
def test_tainted_domains_follow_every_change(changes: Sequence[Any]) -> None:
    store = NodeStore()
    for change in changes:
        if isinstance(change, list):
            store.replace(change)
        else:
            store.apply(*change)

        facts = FakeFacts(nodes=list(store))
        assert set(store.label_keys()) == facts.label_keys()
        for key in (ZONE, "host", "none"):
            assert closed(store.tainted_domains(key)) == closed(facts.tainted_domains(key))
