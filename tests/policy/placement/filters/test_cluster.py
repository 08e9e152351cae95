from dataclasses import replace

import msgspec
import pytest

from tests.policy.placement.clusters import node
from webhook.policy.model import LabelSelector
from webhook.policy.placement.filters.cluster import SchedulingCluster, group_daemons
from webhook.policy.placement.filters.filterpods import AffinityTerm, FilterPod, HostPort
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.topology import Topology


def test_nodes_are_found_by_name() -> None:
    n1, n2 = node("n1"), node("n2")
    scene = SchedulingCluster(Topology([n1, n2]))

    assert scene.nodes == {"n1": n1, "n2": n2}


def test_other_nodes_make_another_cluster_with_the_same_pods() -> None:
    scene = SchedulingCluster(Topology([node("n1")]))
    assert scene.nodes.keys() == {"n1"}

    other = replace(scene, topology=Topology([node("n2")]))

    assert other.nodes.keys() == {"n2"}
    assert other.placed is scene.placed


ROOM = Resources(4000, pods=10)
AGENT = FilterPod(
    "kube-system",
    {"app": "agent"},
    name="agent-1",
    node_name="n1",
    is_daemon=True,
    requests=Resources(500),
    ports=(HostPort("0.0.0.0", "TCP", 9100),),
    anti_affinity=(
        AffinityTerm("zone", LabelSelector({"app": "web"}), ("kube-system",), None, b"1"),
    ),
)
PROXY = FilterPod("kube-system", {"app": "proxy"}, name="proxy-1", node_name="n1", is_daemon=True)
GONE = msgspec.structs.replace(PROXY, name="proxy-0", is_terminating=True)
WEB = FilterPod("shop", {"app": "web"}, name="web-1", node_name="n1")
AGENTS = LabelSelector({"app": "agent"})


def scene_of(*pods: FilterPod) -> SchedulingCluster:
    return SchedulingCluster(
        Topology([node("n1", "a"), node("n2", "a")]),
        {"n1": ROOM, "n2": ROOM},
        PlacedPods(pods),
        daemons=group_daemons(pods),
    )


def test_pods_of_daemon_sets_are_grouped_by_their_nodes() -> None:
    assert group_daemons([AGENT, WEB, PROXY, GONE]) == {"n1": [AGENT, PROXY]}


def test_new_nodes_have_what_the_pods_of_daemon_sets_take() -> None:
    before = scene_of(AGENT, PROXY, GONE, WEB)

    after = before.change_nodes([node("n3", "b"), node("n4", "b")], "n1")

    assert after.allocatable["n3"] == ROOM
    for name in ("n3", "n4"):
        usage = after.placed.usage(name)
        assert (usage.pods, usage.requests.milli_cpu, set(usage.ports)) == (2, 500, {*AGENT.ports})
    assert after.placed.census.count("kube-system", AGENTS) == {"n1": 1, "n3": 1, "n4": 1}
    assert [dict(found.nodes) for found in after.placed.anti_affinity("kube-system")] == [
        {"n1": 1, "n3": 1, "n4": 1}
    ]
    assert before.placed.usage("n3").pods == 0
    assert before.placed.census.count("kube-system", AGENTS) == {"n1": 1}


@pytest.mark.parametrize("like", ["n2", "gone", ""])
def test_new_nodes_like_one_without_pods_of_daemon_sets_are_empty(like: str) -> None:
    before = scene_of(AGENT, WEB)

    after = before.change_nodes([node("n3")], like)

    assert after.placed is before.placed
    assert after.nodes.keys() == before.nodes.keys() | {"n3"}


def test_nodes_can_be_left_out() -> None:
    before = scene_of(AGENT)

    after = before.with_nodes(before.topology.nodes[:1])

    assert after.nodes.keys() == {before.topology.nodes[0].name}
    assert after.placed is before.placed


def test_nodes_that_stay_keep_their_pods() -> None:
    before = scene_of(AGENT)

    assert before.change_nodes(before.topology.nodes[:1], "n1").placed is before.placed


def test_new_nodes_lack_the_pods_that_are_left_out() -> None:
    before = scene_of(AGENT, PROXY).without_daemons([("kube-system", "agent-1"), ("x", "proxy-1")])

    after = before.change_nodes([node("n3")], "n1")

    assert (after.placed.usage("n3").pods, after.placed.usage("n1").pods) == (1, 2)


def test_nominated_pods_take_room_of_their_node() -> None:
    scene = replace(scene_of(AGENT), nominated={"n1": [WEB, AGENT], "n2": [AGENT]})

    usage = scene.usage("n1")

    assert (usage.pods, usage.requests.milli_cpu) == (3, 1000)
    assert (scene.usage("n2").pods, scene.usage("n3").pods) == (1, 0)
    assert scene.placed.usage("n1").pods == 1
