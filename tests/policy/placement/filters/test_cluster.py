from dataclasses import replace

from tests.policy.placement.clusters import node
from webhook.policy.placement.filters.cluster import SchedulingCluster
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
