from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import FakeFacts
from tests.cluster.objects import Change, node
from webhook.cluster.nodes import NodeStore
from webhook.cluster.wire import NodeObject
from webhook.policy.facts import TaintedDomains
from webhook.policy.model import Taint

ZONE = "zone"
GPU = Taint(key="gpu", effect="NoSchedule")
SPOT = Taint(key="spot", effect="NoExecute")
SOFT = Taint(key="old", effect="PreferNoSchedule")

Tainted = set[tuple[frozenset[tuple[Taint, ...]], frozenset[str]]]


def unordered(domains: Sequence[TaintedDomains]) -> Tainted:
    """Drop the order, and join the entries with the same taint sets."""
    values: dict[frozenset[tuple[Taint, ...]], set[str]] = {}
    for entry in domains:
        values.setdefault(frozenset(entry.taints), set()).update(entry.values)
    return {(taint_sets, frozenset(names)) for taint_sets, names in values.items()}


# nodes; taint sets with their domains
CASES: dict[str, tuple[list[NodeObject], list[tuple[list[tuple[Taint, ...]], str]]]] = {
    "no node": ([], []),
    "an open domain": ([node("a", {ZONE: "1"})], []),
    "a tainted domain": ([node("a", {ZONE: "1"}, taints=[GPU])], [([(GPU,)], "1")]),
    "a taint that only discourages pods": ([node("a", {ZONE: "1"}, taints=[SOFT])], []),
    "a discouraging taint beside another": (
        [node("a", {ZONE: "1"}, taints=[SOFT, SPOT])],
        [([(SPOT,)], "1")],
    ),
    "a domain of a tainted node and an open one": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"})],
        [],
    ),
    "a domain with two taint sets": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"}, taints=[GPU, SPOT])],
        [([(GPU,), (GPU, SPOT)], "1")],
    ),
    "a cordoned node does not count": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"}, unschedulable=True)],
        [([(GPU,)], "1")],
    ),
    "two domains with one taint set are one entry": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "2"}, taints=[GPU])],
        [([(GPU,)], "12")],
    ),
}


@pytest.mark.parametrize(("nodes", "expected"), CASES.values(), ids=CASES.keys())
def test_tainted_domains(
    nodes: list[NodeObject], expected: list[tuple[list[tuple[Taint, ...]], str]]
) -> None:
    store = NodeStore()
    for found in nodes:
        store.put(found)

    tainted = store.tainted_domains(ZONE)

    assert unordered(tainted) == {(frozenset(sets), frozenset(names)) for sets, names in expected}
    assert len(tainted) == len(expected)


LABELS = st.dictionaries(st.sampled_from([ZONE, "host"]), st.sampled_from("123"))
TAINTS = st.lists(st.sampled_from([GPU, SPOT, SOFT]), max_size=2)
NODES = st.builds(node, st.sampled_from("abcd"), LABELS, taints=TAINTS, unschedulable=st.booleans())
CHANGES = st.builds(Change, st.booleans(), NODES)


@given(st.lists(CHANGES))
def test_tainted_domains_follow_every_change(changes: list[Change]) -> None:
    store = NodeStore()
    for change in changes:
        change.apply(store)

        facts = FakeFacts(nodes=list(store))
        for key in (ZONE, "host", "none"):
            assert unordered(store.tainted_domains(key)) == unordered(facts.tainted_domains(key))


def test_domains_are_counted_and_one_of_several_tainted_ones_may_open() -> None:
    store = NodeStore()
    for number in "123":
        store.put(node(number, {ZONE: number}, taints=[GPU]))
    store.put(node("open", {ZONE: "1"}))
    store.put(node("other", {ZONE: "2"}, taints=[SPOT]))

    assert store.domains(ZONE) == 3
    assert unordered(store.tainted_domains(ZONE)) == {
        (frozenset({(GPU,), (SPOT,)}), frozenset({"2"})),
        (frozenset({(GPU,)}), frozenset({"3"})),
    }
