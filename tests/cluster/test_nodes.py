from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.objects import node
from webhook.cluster.nodes import NodeStore
from webhook.cluster.store import WatchEventType
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
    ("nodes", "schedulable", "carriers", "domains"), CASES.values(), ids=CASES.keys()
)
def test_nodes_are_counted(
    nodes: list[NodeObject], schedulable: int, carriers: int, domains: int
) -> None:
    store = NodeStore()
    for each in nodes:
        store.put(each)

    assert store.schedulable() == schedulable
    assert store.carriers(ZONE) == carriers
    assert store.domains(ZONE) == domains


def test_nodes_are_known_as_the_policy_knows_them() -> None:
    store = NodeStore()
    store.put(node("a", {ZONE: "1"}, unschedulable=True, taints=[model.Taint(key="x")]))

    assert list(store) == [model.Node("a", {ZONE: "1"}, (model.Taint(key="x"),), True)]


LABELS = st.dictionaries(st.sampled_from([ZONE, "host"]), st.sampled_from("123"))
NODES = st.builds(node, st.sampled_from("abcd"), LABELS, unschedulable=st.booleans())
CHANGES = st.tuples(st.sampled_from(WatchEventType), NODES) | st.lists(NODES, max_size=4)


@given(st.lists(CHANGES))
def test_counts_follow_every_change(changes: Sequence[Any]) -> None:
    store = NodeStore()
    known: dict[str, NodeObject] = {}
    for change in changes:
        if isinstance(change, list):
            store.replace(change)
            known = {each.name: each for each in change}
        else:
            event, changed = change
            store.apply(event, changed)
            known.pop(changed.name, None)
            known |= {} if event is WatchEventType.DELETED else {changed.name: changed}

        schedulable = [each.labels for each in known.values() if not each.unschedulable]
        assert {each.name for each in store} == known.keys()
        assert len(store) == len(known)
        assert store.schedulable() == len(schedulable)
        for key in (ZONE, "host"):
            values = [labels[key] for labels in schedulable if key in labels]
            assert store.carriers(key) == len(values)
            assert store.domains(key) == len(set(values))
