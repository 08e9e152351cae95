import msgspec
import pytest

from tests.build import requirement, selector
from tests.cluster.objects import REPLICA_SET_V1, STATEFUL_SET_V1, controller, service
from webhook.cluster.facts import Cluster
from webhook.cluster.quota import (
    MAX_SELECTOR_TEXT,
    OBJECT_BYTES,
    NamespaceQuota,
    NamespaceSizeError,
    SelectorSizeError,
    check_selector_size,
    check_selector_text,
    selector_size,
)
from webhook.policy.model import OwnerReference


def test_a_selector_takes_its_characters_and_its_parts() -> None:
    assert selector_size({}) == 0
    assert selector_size({"app": "web"}) == 6 + 128
    assert selector_size(selector(app="web")) == 6 + 128
    assert selector_size(selector(requirement("app", "In", "a", "bc"))) == 5 + 128 + 3 + 128


def test_a_namespace_takes_no_more_than_its_quota() -> None:
    quota = NamespaceQuota(2 * OBJECT_BYTES + 10)
    quota.take("shop", 10)
    quota.take("shop", 0)

    with pytest.raises(NamespaceSizeError, match="its namespace takes more than 0 MiB"):
        quota.take("shop", 0)
    quota.take("other", 0)
    quota.free("shop", 10)
    quota.take("shop", 10)


def test_all_caches_of_a_cluster_share_the_quota_of_a_namespace() -> None:
    cluster = Cluster(quota=NamespaceQuota(2 * (OBJECT_BYTES + selector_size({"app": "a"}))))
    cluster.service_store.put(service("a", {"app": "a"}))
    cluster.owner_stores[REPLICA_SET_V1].put(controller("a", {"app": "a"}))

    with pytest.raises(NamespaceSizeError):
        cluster.service_store.put(service("b", {"app": "a"}))
    with pytest.raises(NamespaceSizeError):
        cluster.owner_stores[STATEFUL_SET_V1].put(controller("b", {"app": "a"}))

    assert len(cluster.service_store) == 1
    assert len(cluster.owner_stores[STATEFUL_SET_V1]) == 0


def test_replaced_and_removed_objects_free_their_bytes() -> None:
    cluster = Cluster(quota=NamespaceQuota(2 * OBJECT_BYTES + selector_size({"app": "aa"}) * 2))
    owners, services = cluster.owner_stores[REPLICA_SET_V1], cluster.service_store

    for _ in range(10):
        for app in ("a", "aa"):
            owners.put(controller("a", {"app": app}))
            services.put(service("a", {"app": app}))
            services.put(service("a", {"app": app}))
        owners.put(controller("a", None))
        services.put(service("a", None))
    services.put(service("a", {"app": "a"}))
    for _ in range(10):
        owners.put(controller("b", {"app": "a"}))
        owners.remove("shop", "b")

    assert list(owners.iterate_keys()) == []
    assert [found.name for found in cluster.services("shop", {"app": "a"})] == ["a"]


def test_an_object_that_grows_beyond_the_quota_is_absent() -> None:
    cluster = Cluster(quota=NamespaceQuota(OBJECT_BYTES + selector_size({"app": "a"})))
    owners = cluster.owner_stores[REPLICA_SET_V1]
    owners.put(controller("a", {"app": "a"}))

    with pytest.raises(NamespaceSizeError):
        owners.put(controller("a", {"app": "a", "b": "c"}))

    owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="a")
    assert cluster.owner_selector("shop", owner) is None


def test_without_a_limit_a_namespace_takes_any_number_of_bytes() -> None:
    quota = NamespaceQuota(None)

    for _ in range(3):
        quota.take("shop", 2**40)
    quota.free("shop", 2**40)


def test_a_selector_has_a_maximum_size() -> None:
    check_selector_size({"app": "x" * 8_000})

    with pytest.raises(SelectorSizeError, match="its selector takes 9131 bytes, at most 8192"):
        check_selector_size(selector(app="x" * 9_000))


@pytest.mark.parametrize("text", [None, b"{}", b'"' + b"x" * (MAX_SELECTOR_TEXT - 2) + b'"'])
def test_a_selector_of_little_text_is_decoded(text: bytes | None) -> None:
    check_selector_text(None if text is None else msgspec.Raw(text))


def test_the_text_of_a_selector_has_a_maximum_size() -> None:
    text = msgspec.Raw(b'"' + b"x" * (MAX_SELECTOR_TEXT - 1) + b'"')

    with pytest.raises(SelectorSizeError, match="has 65537 bytes of JSON, at most 65536 are"):
        check_selector_text(text)
