import gc
import tracemalloc
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.objects import controller, namespace
from webhook.cluster.store import NamespaceStore, OwnerStore, WatchEventType
from webhook.cluster.wire import ControllerObject, CustomControllerObject, NameMetadata
from webhook.policy.model import LabelSelector, LabelSelectorRequirement

MOST_BYTES = 700  # of an owner, at 100 000 of them; fewer do not share less


def test_an_owner_is_found_by_namespace_and_name() -> None:
    store = OwnerStore()
    store.put(controller("a", {"app": "a"}))

    assert store.selector("shop", "a") == LabelSelector(match_labels={"app": "a"})
    assert store.selector("shop", "b") is None
    assert store.selector("payments", "a") is None


def test_an_owner_without_a_selector_is_not_kept() -> None:
    store = OwnerStore()
    store.put(controller("a", {"app": "a"}))
    store.put(controller("a", None))

    assert store.selector("shop", "a") is None
    assert len(store) == 0


def test_an_empty_selector_is_one() -> None:
    store = OwnerStore()
    store.put(controller("a", {}))

    assert store.selector("shop", "a") == LabelSelector()


def test_expressions_are_kept() -> None:
    requirement = LabelSelectorRequirement(key="app", operator="In", values=("a", "b"))
    selector = LabelSelector(match_labels={"x": "y"}, match_expressions=(requirement,))
    store = OwnerStore()
    store.put(CustomControllerObject(NameMetadata("a", "shop"), selector))

    assert store.selector("shop", "a") == selector


def test_equal_selectors_are_kept_once() -> None:
    store = OwnerStore()
    store.put(controller("a", {"app": "a"}))
    store.put(controller("a", {"app": "a"}, namespace="preview"))

    assert store.selector("shop", "a") is store.selector("preview", "a")


def test_the_pool_of_selectors_has_an_end() -> None:
    store = OwnerStore()
    for i in range(2 * OwnerStore.POOLED + 1):
        store.put(controller("a", {"app": f"{i}"}))

    assert len(store._pool) <= OwnerStore.POOLED
    assert len(store) == 1


def test_an_owner_takes_few_bytes() -> None:
    number = 20_000
    store = OwnerStore()
    gc.collect()
    tracemalloc.start()
    try:
        for i in range(number):
            store.put(replica_set(i))
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert taken / number < MOST_BYTES


def replica_set(number: int) -> ControllerObject:
    """Make one of ten revisions of one of many applications."""
    app = f"application-{number // 10}"
    revision = f"{number * 2654435761 % 2**32:08x}"
    labels = {
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/instance": f"{app}-prod",
        "pod-template-hash": revision,
    }
    return controller(f"{app}-{revision}", labels, namespace=f"namespace-{number // 500}")


def test_labels_of_a_namespace() -> None:
    store = NamespaceStore()
    store.apply(WatchEventType.ADDED, namespace("shop", {"tier": "test"}))
    store.apply(WatchEventType.MODIFIED, namespace("shop", {"tier": "prod"}))
    store.apply(WatchEventType.ADDED, namespace("payments", {}))
    store.apply(WatchEventType.DELETED, namespace("payments", {}))
    store.apply(WatchEventType.DELETED, namespace("unknown", {}))

    assert store.labels("shop") == {"tier": "prod"}
    assert store.labels("payments") is None
    assert len(store) == 1


def test_namespaces_that_are_gone_are_forgotten() -> None:
    store = NamespaceStore()
    store.replace([namespace("a", {}), namespace("b", {})])
    store.replace([namespace("b", {"x": "y"}), namespace("c", {})])

    assert store.keys() == {("", "b"), ("", "c")}
    assert store.labels("b") == {"x": "y"}


LABELS = st.none() | st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"))
OWNERS = st.builds(
    controller, st.sampled_from("xyz"), LABELS, namespace=st.sampled_from(["shop", "payments"])
)
CHANGES = st.tuples(st.sampled_from(WatchEventType), OWNERS) | st.lists(OWNERS, max_size=4)


@given(st.lists(CHANGES))
def test_a_store_knows_what_a_dictionary_would(changes: Sequence[Any]) -> None:
    store = OwnerStore()
    known: dict[tuple[str, str], LabelSelector | None] = {}
    for change in changes:
        if isinstance(change, list):
            store.replace(change)
            known = {(each.namespace, each.name): each.selector for each in change}
        else:
            event, changed = change
            store.apply(event, changed)
            deleted = event is WatchEventType.DELETED
            known[changed.namespace, changed.name] = None if deleted else changed.selector

        known = {key: selector for key, selector in known.items() if selector is not None}
        assert (store.keys(), len(store)) == (set(known), len(known))
        for key, selector in known.items():
            assert store.selector(*key) == selector
