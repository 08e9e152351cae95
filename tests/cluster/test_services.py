import gc
import tracemalloc
from collections.abc import ItemsView, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.objects import Change, service
from webhook.cluster.services import ServiceStore
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
    "by name, whatever label they are indexed by": (
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
    for name, selector in stored.items():
        store.put(service(name, selector))

    assert [found.name for found in store.select("shop", labels)] == names


def test_services_of_other_namespaces_do_not_select() -> None:
    store = ServiceStore()
    store.put(service("x", {}, namespace="other"))

    assert store.select("shop", {}) == []
    assert store.select("other", {}) == [facts.ServiceSelector("x", {})]


def test_a_service_whose_selector_becomes_null_is_removed() -> None:
    store = ServiceStore()
    store.put(service("x", {"app": "a"}))
    store.put(service("x", None))

    assert len(store) == 0
    assert store.select("shop", {"app": "a"}) == []


class CountedLabels(dict[str, str]):
    """Labels that count the selectors that are compared with them."""

    compared = 0

    def items(self) -> Any:
        return _CountedItems(self)


class _CountedItems(ItemsView[str, str]):
    def __init__(self, labels: CountedLabels) -> None:
        super().__init__(labels)
        self.labels = labels

    def __iter__(self) -> Any:
        return iter(dict.items(self.labels))

    def __ge__(self, selector: Any) -> bool:
        self.labels.compared += 1
        return bool(selector <= dict.items(self.labels))


def test_few_services_are_compared_even_if_many_share_a_label() -> None:
    store = ServiceStore()
    for i in range(500):
        store.put(service(f"s{i}", {"part-of": "shop", "app": f"a{i}", "tier": f"t{i % 5}"}))
    for i in range(0, 500, 2):
        store.remove("shop", f"s{i}")
    for i in range(0, 500, 2):
        store.put(service(f"s{i}", {"part-of": "shop", "app": f"b{i}", "tier": f"t{i % 5}"}))
    labels = CountedLabels({"part-of": "shop", "app": "b6", "tier": "t1"})

    assert [found.name for found in store.select("shop", labels)] == ["s6"]
    assert labels.compared == 1


def test_removed_services_take_no_memory() -> None:
    store = ServiceStore()
    growths: list[float] = []
    tracemalloc.start()
    try:
        for _ in range(3):  # in one of them, the interpreter may enlarge its table of strings
            before, _peak = tracemalloc.get_traced_memory()
            for i in range(2_000):
                store.put(service(f"s{i}", {"app": f"a{i}"}, namespace=f"n{i % 100}"))
            full, _peak = tracemalloc.get_traced_memory()
            for key in list(store.iterate_keys()):
                store.remove(*key)
            gc.collect()
            after, _peak = tracemalloc.get_traced_memory()
            growths.append((after - before) / (full - before))
    finally:
        tracemalloc.stop()

    assert (len(store), list(store.iterate_keys())) == (0, [])
    assert min(growths) < 0.1


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("123"), max_size=3)
NAMES = st.sampled_from(["s1", "s2", "s3", "s4"])
NAMESPACES = st.sampled_from(["shop", "payments"])
SERVICES = st.builds(service, NAMES, st.none() | LABELS, namespace=NAMESPACES)
CHANGES = st.builds(Change, st.booleans(), SERVICES)


@given(st.lists(CHANGES), st.lists(LABELS, min_size=1))
def test_a_store_selects_the_same_services_as_a_scan(
    changes: list[Change], pods: list[dict[str, str]]
) -> None:
    store = ServiceStore()
    known: dict[tuple[str, str], Mapping[str, str]] = {}
    for change in changes:
        change.apply(store)
        changed = change.thing
        known.pop((changed.namespace, changed.name), None)
        if not change.removes and changed.selector is not None:
            known[changed.namespace, changed.name] = changed.selector

        assert (set(store.iterate_keys()), len(store)) == (set(known), len(known))
        for namespace in ("shop", "payments"):
            for labels in pods:
                assert store.select(namespace, labels) == [
                    facts.ServiceSelector(name, dict(selector))
                    for (space, name), selector in sorted(known.items(), key=lambda item: item[0])
                    if space == namespace and selectors.has_pairs(labels, selector)
                ]
