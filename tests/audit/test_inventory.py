import pytest
from msgspec.structs import replace

from tests.audit import world
from tests.audit.world import LIVE, gather, inventory, pod
from webhook.audit.inventory import Inventory
from webhook.policy.model import LabelSelector, OwnerReference


def audited(text: str, neighbours: str = "") -> Inventory:
    return inventory(gather(text, neighbours=neighbours).snapshot)


def names(found: Inventory) -> list[str]:
    return [str(item.subject) for item in found.audited]


def test_pods_belong_to_the_outermost_controller_that_is_known() -> None:
    found = audited(LIVE)
    (web, _) = (item.subject for item in found.audited)

    assert names(found) == ["Deployment/web", "StatefulSet/db"]
    assert [dict(group.nodes) for group in web.running] == [{"node-a": 3, "node-b": 1}]


GONE = {
    "finished": pod("old", "node-a", phase="Succeeded"),
    "failed": pod("old", "node-a", phase="Failed"),
    "terminating": pod("old", "node-a").replace(
        '"name":"old"', '"deletionTimestamp":"2026-01-01T00:00:00Z","name":"old"', 1
    ),
}


@pytest.mark.parametrize("text", GONE.values(), ids=GONE.keys())
def test_pods_that_are_gone_count_nowhere(text: str) -> None:
    assert audited(LIVE + text).pods == audited(LIVE).pods


def test_pods_of_an_unknown_controller_stand_for_it() -> None:
    found = audited(world.NODES + pod("a", "node-a", "Fleet/sea") + pod("b", "node-b", "Fleet/sea"))

    ((version, subject, origin),) = found.audited
    assert (version, str(subject), origin) == ("apps/v1", "Fleet/sea", None)
    assert sum(group.number for group in subject.running) == 2


def test_static_pods_are_counted_and_not_audited() -> None:
    found = audited(world.NODES + pod("a", "node-a", "Node/node-a").replace("apps/v1", "v1"))

    assert found.audited == []


def test_neighbours_are_counted_and_not_audited() -> None:
    found = audited(world.DEPLOYMENT, world.NODES + world.REPLICA_SET + world.RUNNING + world.BARE)

    assert names(found) == ["Deployment/web"]
    assert found.pods == 4
    assert len(found.state.topology.nodes) == 3


def test_a_chain_of_owners_that_is_a_ring_ends() -> None:
    ring = world.DEPLOYMENT.replace(
        "namespace: shop}",
        "namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, "
        "controller: true}]}",
    )

    assert audited(ring + world.REPLICA_SET + world.RUNNING).state.topology.nodes == ()


def test_templates_of_manifests_stand_for_their_pods() -> None:
    members = audited(world.DEPLOYMENT + world.BARE).state.members
    selector = gather(world.REPLICA_SET).snapshot.owners[0].selector

    assert members.count("shop", selector) == {}
    assert selector is not None
    del selector.match_labels["pod-template-hash"]
    assert members.count("shop", selector) == {"Deployment/web": 4}


def test_facts_of_the_snapshot_are_in_the_cluster() -> None:
    facts = (
        "---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {a: b}}}\n"
        "---\n{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop},"
        " spec: {selector: {app: web}}}\n"
    )

    cluster = audited(world.LIVE + facts).cluster

    assert (cluster.namespace_labels("shop") or {})["a"] == "b"
    assert [service.name for service in cluster.services("shop", {"app": "web"})] == ["web"]
    owner = OwnerReference("apps/v1", "ReplicaSet", "web-1", controller=True)
    assert cluster.owner_selector("shop", owner) is not None


def test_the_parts_of_a_cluster_share_its_nodes() -> None:
    whole = audited(world.NODES)
    snapshot = gather(world.DEPLOYMENT + world.REPLICA_SET + world.RUNNING).snapshot

    part = Inventory(snapshot, world.CONFIGURATION.owner_selectors, whole=whole)

    assert part.cluster.node_store is whole.cluster.node_store
    assert len(part.state.topology.nodes) == 3
    assert part.pods == 4


PENDING = {
    "pods without a node": world.pod("a", ""),
    "a workload without pods": world.BARE.replace("replicas: 3", "replicas: 0"),
}


@pytest.mark.parametrize("text", PENDING.values(), ids=PENDING)
def test_what_no_node_runs_is_not_counted(text: str) -> None:
    found = audited(world.REPLICA_SET.replace("replicas: 4", "replicas: 0") + text)

    assert found.state.members.count("shop", LabelSelector()) == {}


def test_owners_that_the_configuration_does_not_name_are_left_out() -> None:
    snapshot = gather(world.REPLICA_SET).snapshot
    snapshot.owners[:] = [replace(snapshot.owners[0], api_version="example.com/v1", kind="Fleet")]

    cluster = inventory(snapshot).cluster

    assert cluster.owner_store("example.com/v1", "Fleet") is None
