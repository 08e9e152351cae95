from hypothesis import given
from hypothesis import strategies as st

from tests.policy.placement.filters.objects import anti_affinity, container, pod, term
from webhook.policy.model import HOSTNAME, ZONE, LabelSelector
from webhook.policy.placement.filters.filterpods import FilterPod, HostPort
from webhook.policy.placement.filters.placedpods import EMPTY_NODE, NodeUsage, PlacedPods
from webhook.policy.placement.filters.resources import Resources

WEB = LabelSelector(match_labels={"app": "web"})

PORT = {"ports": [{"hostPort": 80}]}
CLAIM = {"persistentVolumeClaim": {"claimName": "data"}}
WEB_POD = pod(
    labels={"app": "web"},
    containers=[container({"cpu": "1", "example.com/gpu": "2"}, **PORT)],
    volumes=[CLAIM, {"gcePersistentDisk": {"pdName": "d"}}],
    affinity=anti_affinity(term(HOSTNAME, app="web")),
)


def test_a_node_without_pods_is_empty() -> None:
    assert PlacedPods().usage("n1") == EMPTY_NODE == NodeUsage()


def test_what_the_pods_of_a_node_take() -> None:
    placed = PlacedPods()
    placed.add(WEB_POD, "n1")
    placed.add(WEB_POD, "n1")

    usage = placed.usage("n1")

    assert usage.pods == 2
    assert usage.requests == Resources(2000, scalars={"example.com/gpu": 4})
    assert usage.ports == {HostPort("0.0.0.0", "TCP", 80): 2}
    assert usage.volumes == dict.fromkeys(WEB_POD.volumes, 2)
    assert placed.nodes_with_claim("shop", "data") == {"n1": 2}
    assert placed.nodes_with_claim("bank", "data") == {}
    assert placed.census.count("shop", WEB) == {"n1": 2}


def test_pods_are_created_on_their_nodes() -> None:
    bound = pod(nodeName="n1")

    assert PlacedPods([bound]).usage("n1").pods == 1


def test_a_pod_that_is_being_deleted_takes_resources_and_does_not_count() -> None:
    deleted = FilterPod(
        namespace="shop",
        labels={"app": "web"},
        is_terminating=True,
        requests=WEB_POD.requests,
    )
    placed = PlacedPods()
    placed.add(deleted, "n1")

    assert placed.usage("n1").requests.milli_cpu == 1000
    assert placed.census.count("shop", WEB) == {}
    assert placed.terminating.count("shop", WEB) == {"n1": 1}

    placed.remove(deleted, "n1")
    assert placed.terminating.count("shop", WEB) == {}


def test_equal_terms_are_kept_once() -> None:
    placed = PlacedPods()
    placed.add(WEB_POD, "n1")
    placed.add(WEB_POD, "n2")

    (found,) = placed.anti_affinity("shop")

    assert (found.term, found.nodes) == (WEB_POD.anti_affinity[0], {"n1": 1, "n2": 1})
    assert list(placed.anti_affinity("bank")) == []


def test_terms_that_select_namespaces_may_concern_any() -> None:
    everywhere = {**term(ZONE, app="web"), "namespaceSelector": {}}
    placed = PlacedPods()
    placed.add(pod(affinity=anti_affinity(everywhere)), "n1")

    assert [found.nodes for found in placed.anti_affinity("bank")] == [{"n1": 1}]


def test_a_copy_changes_on_its_own() -> None:
    placed = PlacedPods()
    placed.add(WEB_POD, "n1")

    twin = placed.copy()
    twin.add(WEB_POD, "n2")
    twin.remove(WEB_POD, "n1")

    for one, node, other in ((placed, "n1", "n2"), (twin, "n2", "n1")):
        assert (one.usage(node).pods, one.usage(other).pods) == (1, 0)
        assert one.nodes_with_claim("shop", "data") == {node: 1}
        assert [found.nodes for found in one.anti_affinity("shop")] == [{node: 1}]
        assert one.census.count("shop", WEB) == {node: 1}


def test_pods_that_are_copied_change_on_their_own() -> None:
    placed = PlacedPods()
    placed.add(WEB_POD, "n1")

    twin = placed.copy()
    placed.remove(WEB_POD, "n1")

    assert (placed.usage("n1").pods, twin.usage("n1").pods) == (0, 1)
    assert twin.nodes_with_claim("shop", "data") == {"n1": 1}
    assert [found.nodes for found in twin.anti_affinity("shop")] == [{"n1": 1}]
    assert twin.census.count("shop", WEB) == {"n1": 1}
    assert placed.census.count("shop", WEB) == {}


pods = st.sampled_from(
    (WEB_POD, pod(containers=[container({"memory": "1Gi"})]), pod(volumes=[CLAIM, CLAIM]))
)
placements = st.lists(st.tuples(pods, st.sampled_from(("n1", "n2"))), max_size=8)


@given(placements, placements)
def test_removing_what_was_added_restores_the_usage(
    kept: list[tuple[FilterPod, str]], added: list[tuple[FilterPod, str]]
) -> None:
    placed, changed = PlacedPods(), PlacedPods()
    for one, node in kept:
        placed.add(one, node)
        changed.add(one, node)
    for one, node in added:
        changed.add(one, node)
    for one, node in added:
        changed.remove(one, node)

    for node in ("n1", "n2"):
        usage, expected = changed.usage(node), placed.usage(node)
        assert (usage.pods, usage.ports, usage.volumes) == (
            expected.pods, expected.ports, expected.volumes
        )  # fmt: skip
        assert usage.requests.plus(Resources(scalars={"example.com/gpu": 0})) == (
            expected.requests.plus(Resources(scalars={"example.com/gpu": 0}))
        )
