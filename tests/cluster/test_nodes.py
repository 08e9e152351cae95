from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import FakeFacts
from tests.cluster.objects import Change, node
from webhook.cluster.nodes import NodeStore
from webhook.cluster.wire import NodeObject
from webhook.policy import model
from webhook.policy.facts import TaintedDomains
from webhook.policy.model import Taint

ZONE = "zone"

# nodes, schedulable ones, those of them with a zone, zones
CASES: dict[str, tuple[list[NodeObject], int, int, int]] = {
    "no node": ([], 0, 0, 0),
    "a node without the label": ([node("a", {})], 1, 0, 0),
    "two nodes of one zone": ([node("a", {ZONE: "1"}), node("b", {ZONE: "1"})], 2, 2, 1),
    "two nodes of two zones": ([node("a", {ZONE: "1"}), node("b", {ZONE: "2"})], 2, 2, 2),
    "an empty zone is a zone": ([node("a", {ZONE: ""}), node("b", {ZONE: "2"})], 2, 2, 2),
    "a cordoned node forms a domain": (
        [node("a", {ZONE: "1"}), node("b", {ZONE: "2"}, unschedulable=True)],
        1,
        1,
        2,
    ),
    "a tainted node counts": ([node("a", {ZONE: "1"}, taints=[model.Taint(key="x")])], 1, 1, 1),
    "of two nodes of one name the last counts": ([node("a", {ZONE: "1"}), node("a", {})], 1, 0, 0),
}


@pytest.mark.parametrize(
    ("nodes", "schedulable", "with_zone", "domains"), CASES.values(), ids=CASES.keys()
)
def test_nodes_are_counted(
    nodes: list[NodeObject], schedulable: int, with_zone: int, domains: int
) -> None:
    store = NodeStore()
    for found in nodes:
        store.put(found)

    assert store.schedulable_nodes() == schedulable
    assert store.nodes_with(ZONE) == with_zone
    assert len(store.taints.list_domains(ZONE)) == domains


def test_nodes_become_nodes_of_the_policy_model() -> None:
    store = NodeStore()
    store.put(node("a", {ZONE: "1"}, unschedulable=True, taints=[model.Taint(key="x")]))

    assert list(store) == [model.Node("a", {ZONE: "1"}, (model.Taint(key="x"),), True)]


LABELS = st.dictionaries(st.sampled_from([ZONE, "host"]), st.sampled_from("123"))
NODES = st.builds(node, st.sampled_from("abcd"), LABELS, unschedulable=st.booleans())
CHANGES = st.builds(Change, st.booleans(), NODES)


@given(st.lists(CHANGES))
def test_counts_follow_every_change(changes: list[Change]) -> None:
    store = NodeStore()
    known: dict[str, NodeObject] = {}
    for change in changes:
        change.apply(store)
        known.pop(change.thing.name, None)
        if not change.removes:
            known[change.thing.name] = change.thing

        schedulable = [found.labels for found in known.values() if not found.unschedulable]
        assert {found.name for found in store} == known.keys()
        assert set(store.iterate_keys()) == {("", name) for name in known}
        assert len(store) == len(known)
        assert store.schedulable_nodes() == len(schedulable)
        assert set(store.label_keys()) == {key for labels in schedulable for key in labels}
        for key in (ZONE, "host"):
            values = [labels[key] for labels in schedulable if key in labels]
            assert store.nodes_with(key) == len(values)
            every = [found.labels for found in known.values()]
            domains = {labels[key] for labels in every if key in labels}
            assert set(store.taints.list_domains(key)) == domains


def test_domains_of_tainted_nodes_are_found() -> None:
    taint = model.Taint(key="gpu", effect="NoSchedule")
    store = NodeStore()
    store.put(node("a", {ZONE: "1"}, taints=[taint]))

    (found,) = store.taints.tainted_domains(ZONE)

    assert (found.taints, set(found.values)) == (((taint,),), {"1"})


GPU = Taint(key="gpu", effect="NoSchedule")
SPOT = Taint(key="spot", effect="NoExecute")
NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")
SOFT = Taint(key="old", effect="PreferNoSchedule")

Tainted = set[tuple[frozenset[tuple[Taint, ...]], frozenset[str]]]


def unordered(domains: Sequence[TaintedDomains]) -> Tainted:
    """Drop the order, and join the entries with the same taint sets."""
    values: dict[frozenset[tuple[Taint, ...]], set[str]] = {}
    for entry in domains:
        values.setdefault(frozenset(entry.taints), set()).update(entry.values)
    return {(taint_sets, frozenset(names)) for taint_sets, names in values.items()}


# nodes; taint sets with their domains
TAINTED_CASES: dict[str, tuple[list[NodeObject], list[tuple[list[tuple[Taint, ...]], str]]]] = {
    "no node": ([], []),
    "an open domain": ([node("a", {ZONE: "1"})], []),
    "a tainted domain": ([node("a", {ZONE: "1"}, taints=[GPU])], [([(GPU,)], "1")]),
    "a taint that only discourages pods": ([node("a", {ZONE: "1"}, taints=[SOFT])], []),
    "a discouraging taint beside another": (
        [node("a", {ZONE: "1"}, taints=[SOFT, SPOT])],
        [([(SPOT,)], "1")],
    ),
    "a node that is not ready is not closed": ([node("a", {ZONE: "1"}, taints=[NOT_READY])], []),
    "a tainted node that is not ready": (
        [node("a", {ZONE: "1"}, taints=[NOT_READY, GPU])],
        [([(GPU,)], "1")],
    ),
    "a domain of a tainted node and an open one": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"})],
        [],
    ),
    "a domain with two taint sets": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"}, taints=[GPU, SPOT])],
        [([(GPU,), (GPU, SPOT)], "1")],
    ),
    "a cordoned node keeps a domain open": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "1"}, unschedulable=True)],
        [],
    ),
    "a domain of a cordoned node with a taint": (
        [node("a", {ZONE: "1"}, taints=[GPU], unschedulable=True)],
        [([(GPU,)], "1")],
    ),
    "two domains with one taint set are one entry": (
        [node("a", {ZONE: "1"}, taints=[GPU]), node("b", {ZONE: "2"}, taints=[GPU])],
        [([(GPU,)], "12")],
    ),
}


@pytest.mark.parametrize(("nodes", "expected"), TAINTED_CASES.values(), ids=TAINTED_CASES.keys())
def test_tainted_domains(
    nodes: list[NodeObject], expected: list[tuple[list[tuple[Taint, ...]], str]]
) -> None:
    store = NodeStore()
    for found in nodes:
        store.put(found)

    tainted = store.taints.tainted_domains(ZONE)

    assert unordered(tainted) == {(frozenset(sets), frozenset(names)) for sets, names in expected}
    assert len(tainted) == len(expected)


TAINTS = st.lists(st.sampled_from([GPU, SPOT, SOFT]), max_size=2)
TAINTED_NODES = st.builds(
    node, st.sampled_from("abcd"), LABELS, taints=TAINTS, unschedulable=st.booleans()
)
TAINT_CHANGES = st.builds(Change, st.booleans(), TAINTED_NODES)


@given(st.lists(TAINT_CHANGES))
def test_tainted_domains_follow_every_change(changes: list[Change]) -> None:
    store = NodeStore()
    for change in changes:
        change.apply(store)

        facts = FakeFacts(nodes=list(store))
        for key in (ZONE, "host", "none"):
            assert unordered(store.taints.tainted_domains(key)) == unordered(
                facts.tainted_domains(key)
            )


def test_domains_are_counted_and_one_of_several_tainted_ones_may_open() -> None:
    store = NodeStore()
    for number in "123":
        store.put(node(number, {ZONE: number}, taints=[GPU]))
    store.put(node("open", {ZONE: "1"}))
    store.put(node("other", {ZONE: "2"}, taints=[SPOT]))

    assert len(store.taints.list_domains(ZONE)) == 3
    assert unordered(store.taints.tainted_domains(ZONE)) == {
        (frozenset({(GPU,), (SPOT,)}), frozenset({"2"})),
        (frozenset({(GPU,)}), frozenset({"3"})),
    }


def test_the_label_of_a_node_is_found_even_if_it_is_cordoned() -> None:
    store = NodeStore()
    store.put(node("a", {ZONE: "1"}, unschedulable=True))
    store.put(node("b", {ZONE: ""}))

    assert (store.label("a", ZONE), store.label("b", ZONE)) == ("1", "")
    assert (store.label("a", "rack"), store.label("c", ZONE)) == (None, None)


def test_other_labels_are_another_version() -> None:
    store = NodeStore()
    versions = [store.labels_version]

    for change in (
        Change(False, node("a", {ZONE: "1"})),
        Change(False, node("a", {ZONE: "1"}, unschedulable=True)),
        Change(False, node("a", {ZONE: "2"}, unschedulable=True)),
        Change(True, node("b", {})),
        Change(True, node("a", {})),
    ):
        change.apply(store)
        versions.append(store.labels_version)

    assert versions == [0, 1, 1, 2, 2, 3]
