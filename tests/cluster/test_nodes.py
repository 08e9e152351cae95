import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.objects import Change, node
from webhook.cluster.nodes import NodeStore
from webhook.cluster.wire import NodeObject
from webhook.policy import model

ZONE = "zone"

# nodes, schedulable ones, those of them with a zone, zones
CASES: dict[str, tuple[list[NodeObject], int, int, int]] = {
    "no node": ([], 0, 0, 0),
    "a node without the label": ([node("a", {})], 1, 0, 0),
    "two nodes of one zone": ([node("a", {ZONE: "1"}), node("b", {ZONE: "1"})], 2, 2, 1),
    "two nodes of two zones": ([node("a", {ZONE: "1"}), node("b", {ZONE: "2"})], 2, 2, 2),
    "an empty zone is a zone": ([node("a", {ZONE: ""}), node("b", {ZONE: "2"})], 2, 2, 2),
    "a cordoned node counts for nothing": (
        [node("a", {ZONE: "1"}), node("b", {ZONE: "2"}, unschedulable=True)],
        1,
        1,
        1,
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
    assert store.domains(ZONE) == domains


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
            assert store.domains(key) == len(set(values))


def test_domains_of_tainted_nodes_are_found() -> None:
    taint = model.Taint(key="gpu", effect="NoSchedule")
    store = NodeStore()
    store.put(node("a", {ZONE: "1"}, taints=[taint]))

    (found,) = store.tainted_domains(ZONE)

    assert (found.taints, set(found.values)) == (((taint,),), {"1"})
