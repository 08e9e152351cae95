import pytest

from tests.cluster.objects import (
    REPLICA_SET_V1,
    REPLICATION_CONTROLLER_V1,
    STATEFUL_SET_V1,
    cached_pod,
    controller,
    namespace,
    node,
    service,
)
from webhook.cluster.facts import Cluster
from webhook.cluster.quota import NamespaceQuota, NamespaceSizeError
from webhook.cluster.wire import CustomControllerObject, NameMetadata
from webhook.config.ownerselectors import OwnerSelector
from webhook.policy.facts import Facts, ServiceSelector
from webhook.policy.model import ZONE, GroupKind, LabelSelector, OwnerReference

CLONE_SET = GroupKind("apps.kruise.io", "CloneSet")


@pytest.fixture
def cluster() -> Cluster:
    """Build a cluster with one object of every kind; the selector of an owner names its kind."""
    cluster = Cluster([OwnerSelector(CLONE_SET, ("spec", "selector"))])
    cluster.service_store.put(service("web", {"app": "web"}))
    cluster.namespace_store.put(namespace("shop", {"tier": "prod"}))
    cluster.node_store.put(node("a", {"zone": "1"}))
    cluster.node_store.put(node("b", {}))
    for key in (REPLICATION_CONTROLLER_V1, REPLICA_SET_V1, STATEFUL_SET_V1):
        cluster.owner_stores[key].put(controller("web", {"kind": key[1]}))
    cluster.custom_stores[CLONE_SET].put(
        CustomControllerObject(NameMetadata("web", "shop"), LabelSelector({"kind": "CloneSet"}))
    )
    return cluster


# API version, kind, name, kind of the owner found
OWNERS: dict[str, tuple[str, str, str, str | None]] = {
    "a ReplicationController": (
        "v1",
        "ReplicationController",
        "web",
        "ReplicationController",
    ),
    "a ReplicaSet": ("apps/v1", "ReplicaSet", "web", "ReplicaSet"),
    "a StatefulSet": ("apps/v1", "StatefulSet", "web", "StatefulSet"),
    "another name": ("apps/v1", "ReplicaSet", "other", None),
    "another version of a built-in kind": ("apps/v1beta1", "ReplicaSet", "web", None),
    "another group": ("extensions/v1beta1", "ReplicaSet", "web", None),
    "another built-in kind": ("apps/v1", "DaemonSet", "web", None),
    "a custom kind": ("apps.kruise.io/v1alpha1", "CloneSet", "web", "CloneSet"),
    "another version of a custom kind": ("apps.kruise.io/v2", "CloneSet", "web", "CloneSet"),
    "a custom kind that is not configured": ("example.com/v1", "CloneSet", "web", None),
    "a custom object of another name": ("apps.kruise.io/v1alpha1", "CloneSet", "other", None),
}


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "found"), OWNERS.values(), ids=OWNERS.keys()
)
def test_the_selector_of_an_owner(
    cluster: Cluster, api_version: str, kind: str, name: str, found: str | None
) -> None:
    owner = OwnerReference(api_version=api_version, kind=kind, name=name)

    selector = cluster.owner_selector("shop", owner)

    assert selector == (LabelSelector({"kind": found}) if found else None)


def test_an_owner_of_another_namespace_is_not_found(cluster: Cluster) -> None:
    owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web")

    assert cluster.owner_selector("other", owner) is None


def test_a_cluster_implements_the_facts_of_the_policy(cluster: Cluster) -> None:
    facts: Facts = cluster

    assert facts.services("shop", {"app": "web"}) == [ServiceSelector("web", {"app": "web"})]
    assert facts.namespace_labels("shop") == {"tier": "prod"}
    assert facts.schedulable_nodes() == 2
    assert facts.nodes_with("zone") == 1
    assert list(facts.domains("zone")) == ["1"]


def test_an_empty_cluster_knows_nothing() -> None:
    facts: Facts = Cluster()

    assert not facts.services("shop", {"app": "web"})
    assert facts.namespace_labels("shop") is None
    assert (facts.schedulable_nodes(), facts.nodes_with("zone"), len(facts.domains("zone"))) == (
        0,
        0,
        0,
    )


def test_argo_rollouts_are_known_as_shipped() -> None:
    assert GroupKind("argoproj.io", "Rollout") in Cluster().custom_stores


def test_the_labels_of_nodes_are_counted(cluster: Cluster) -> None:
    assert set(cluster.label_keys()) == {"zone"}
    assert cluster.tainted_domains("zone") == []


def test_pods_are_stored_only_with_a_clock_for_their_ranks() -> None:
    assert Cluster().pod_store is None

    pods = Cluster(quota=NamespaceQuota(1), pod_clock=lambda: 0.0).pod_store

    assert pods is not None
    with pytest.raises(NamespaceSizeError):
        pods.put(cached_pod("w1"))


def test_pods_are_ranked_by_the_nodes_of_the_cluster() -> None:
    cluster = Cluster(pod_clock=lambda: 0.0)
    cluster.node_store.put(node("a", {ZONE: "1"}))

    assert cluster.pod_store is not None
    assert cluster.pod_store.domain("a", ZONE) == "1"
