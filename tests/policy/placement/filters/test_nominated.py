from tests.policy.placement.filters.nominees import nominate
from tests.policy.placement.filters.objects import cluster, container, node_object, pod
from webhook.policy.model import LabelSelector
from webhook.policy.placement.filters.nominated import add_nominated

WEB = {"app": "web"}


def test_nominated_pods_are_on_their_node_in_the_copy_alone() -> None:
    first, second = (pod(name, labels=WEB, containers=[container({"cpu": "1"})]) for name in "ab")
    scene = nominate(cluster([node_object("n1"), node_object("n2")]), n1=[first], n2=[second])

    added = add_nominated(scene, "n1")

    assert added.placed.usage("n1").requests.milli_cpu == 1000
    assert added.placed.usage("n2").pods == 0
    assert added.placed.census.count("shop", LabelSelector(WEB)) == {"n1": 1}
    assert (added.nominated, scene.placed.usage("n1").pods) == ({}, 0)
    assert scene.nominated == {"n1": [first], "n2": [second]}
