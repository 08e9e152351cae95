from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.objects import service
from webhook.cluster.services import ServiceStore
from webhook.cluster.store import WatchEventType
from webhook.policy import facts, selectors

Selector = dict[str, str] | None

# selectors by name, a pod's labels, names of its Services
CASES: dict[str, tuple[dict[str, Selector], dict[str, str], list[str]]] = {
    "no Service": ({}, {"app": "a"}, []),
    "a Service of the pod": ({"x": {"app": "a"}}, {"app": "a", "tier": "web"}, ["x"]),
    "a Service of another value": ({"x": {"app": "b"}}, {"app": "a"}, []),
    "a Service of a label that the pod lacks": (
        {"x": {"app": "a", "tier": "web"}},
        {"app": "a"},
        [],
    ),
    "an empty selector selects every pod": ({"x": {}}, {}, ["x"]),
    "a null selector selects none": ({"x": None}, {"app": "a"}, []),
    "by name, however they were filed": (
        {"z": {}, "b": {"tier": "web"}, "c": {"app": "a"}, "a": {"app": "a", "tier": "web"}},
        {"app": "a", "tier": "web"},
        ["a", "b", "c", "z"],
    ),
    "an empty value is a value": ({"x": {"app": ""}}, {"app": ""}, ["x"]),
    "an empty value is not absence": ({"x": {"app": ""}}, {}, []),
}


@pytest.mark.parametrize(("stored", "labels", "names"), CASES.values(), ids=CASES.keys())
def test_services_of_a_pod(
    stored: dict[str, Selector], labels: dict[str, str], names: list[str]
) -> None:
    store = ServiceStore()
    store.replace(service(name, selector) for name, selector in stored.items())

    assert [found.name for found in store.select("shop", labels)] == names


def test_services_of_other_namespaces_are_not_asked() -> None:
    store = ServiceStore()
    store.put(service("x", {}, namespace="other"))

    assert store.select("shop", {}) == []
    assert store.select("other", {}) == [facts.ServiceSelector("x", {})]


def test_a_selector_that_becomes_null_is_forgotten() -> None:
    store = ServiceStore()
    store.apply(WatchEventType.ADDED, service("x", {"app": "a"}))
    store.apply(WatchEventType.MODIFIED, service("x", None))

    assert len(store) == 0
    assert store.select("shop", {"app": "a"}) == []


def test_few_services_are_looked_at_however_many_share_a_pair() -> None:
    store = ServiceStore()
    for i in range(500):
        store.put(service(f"s{i}", {"part-of": "shop", "app": f"a{i}", "tier": f"t{i % 5}"}))
    for i in range(0, 500, 2):
        store.remove("shop", f"s{i}")
    for i in range(0, 500, 2):
        store.put(service(f"s{i}", {"part-of": "shop", "app": f"b{i}", "tier": f"t{i % 5}"}))

    files = store._namespaces["shop"]._filed.values()

    assert max(map(len, files)) == 1


def test_nothing_is_left_of_services_that_are_gone() -> None:
    store = ServiceStore()
    for i in range(9):
        store.put(service(f"s{i}", {"app": f"a{i}"}, namespace=f"n{i % 2}"))
    store.replace([])

    assert (len(store), store.keys(), store._namespaces) == (0, set(), {})


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("123"), max_size=3)
NAMES = st.sampled_from(["s1", "s2", "s3", "s4"])
NAMESPACES = st.sampled_from(["shop", "payments"])
SERVICES = st.builds(service, NAMES, st.none() | LABELS, namespace=NAMESPACES)
CHANGES = st.tuples(st.sampled_from(WatchEventType), SERVICES) | st.lists(SERVICES, max_size=5)
Known = dict[tuple[str, str], Mapping[str, str]]


def follow(known: Known, change: Any) -> Known:
    """Do naively what a store does."""
    if isinstance(change, list):
        after: Known = {}
        for each in change:
            after = follow(after, (WatchEventType.ADDED, each))
        return after
    event, changed = change
    key = (changed.namespace, changed.name)
    others = {each: known[each] for each in known if each != key}
    if event is WatchEventType.DELETED or changed.selector is None:
        return others
    return {**others, key: changed.selector}


@given(st.lists(CHANGES), st.lists(LABELS, min_size=1))
def test_a_store_knows_what_a_dictionary_would(
    changes: Sequence[Any], pods: list[dict[str, str]]
) -> None:
    store, known = ServiceStore(), Known()
    for change in changes:
        known = follow(known, change)
        if isinstance(change, list):
            store.replace(change)
        else:
            store.apply(*change)

        assert (store.keys(), len(store)) == (set(known), len(known))
        for namespace in ("shop", "payments"):
            for labels in pods:
                assert store.select(namespace, labels) == [
                    facts.ServiceSelector(name, dict(selector))
                    for (space, name), selector in sorted(known.items(), key=lambda item: item[0])
                    if space == namespace and selectors.has_pairs(labels, selector)
                ]


@given(st.lists(CHANGES))
def test_counts_of_pairs_are_those_of_the_services_there_are(changes: Sequence[Any]) -> None:
    store = ServiceStore()
    for change in changes:
        if isinstance(change, list):
            store.replace(change)
        else:
            store.apply(*change)

    for shelf in store._namespaces.values():
        filed = [each for file in shelf._filed.values() for each in file.values()]
        pairs = [pair for each in filed for pair in each.selector.items()]
        assert shelf._commonness == {pair: pairs.count(pair) for pair in pairs}
        assert len(filed) + len(shelf._for_all) == len(shelf)
