import pytest

from tests.audit import world
from tests.audit.world import LIVE, gather, inventory, pod
from webhook.audit.inventory import Inventory


def audited(text: str, neighbours: str = "") -> Inventory:
    return inventory(gather(text, neighbours=neighbours).snapshot)


def names(found: Inventory) -> list[str]:
    return [str(each.subject) for each in found.audited]


def test_pods_belong_to_the_outermost_controller_that_is_known() -> None:
    found = audited(LIVE)
    (web, _) = (each.subject for each in found.audited)

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
