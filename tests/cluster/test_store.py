import gc
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.objects import Change, controller, namespace
from webhook.cluster.store import NamespaceStore, OwnerStore
from webhook.cluster.wire import ControllerObject, CustomControllerObject, NameMetadata
from webhook.policy.model import LabelSelector, LabelSelectorRequirement

MOST_LEFT = 2_500_000  # bytes of shared strings; 2 000 selectors of 5 KB are 10 000 000
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


def test_owners_that_were_removed_take_nothing() -> None:
    """A user who creates and deletes owners must not fill the memory past the quota."""
    store = OwnerStore()
    tracemalloc.start()
    try:
        for i in range(2000):
            store.put(controller("a", {f"{i}-{key}": "x" * 63 for key in range(30)}))
            store.remove("shop", "a")
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert taken < MOST_LEFT


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
    store.put(namespace("shop", {"tier": "test"}))
    store.put(namespace("shop", {"tier": "prod"}))
    store.put(namespace("payments", {}))
    store.remove("", "payments")
    store.remove("", "unknown")

    assert store.labels("shop") == {"tier": "prod"}
    assert store.labels("payments") is None
    copied = store.copy()
    store.put(namespace("later", {}))
    assert copied == {"shop": {"tier": "prod"}}
    store.remove("", "later")
    assert list(store.iterate_keys()) == [("", "shop")]
    assert len(store) == 1


LABELS = st.none() | st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"))
OWNERS = st.builds(
    controller, st.sampled_from("xyz"), LABELS, namespace=st.sampled_from(["shop", "payments"])
)
CHANGES = st.builds(Change, st.booleans(), OWNERS)


@given(st.lists(CHANGES))
def test_a_store_has_the_same_selectors_as_a_dictionary(changes: list[Change]) -> None:
    store = OwnerStore()
    selectors: dict[tuple[str, str], LabelSelector] = {}
    for change in changes:
        change.apply(store)
        owner = change.thing
        selectors.pop((owner.namespace, owner.name), None)
        if not change.removes and owner.selector is not None:
            selectors[owner.namespace, owner.name] = owner.selector

        assert (set(store.iterate_keys()), len(store)) == (set(selectors), len(selectors))
        for key, selector in selectors.items():
            assert store.selector(*key) == selector
