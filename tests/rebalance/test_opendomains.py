from tests.policy.placement.clusters import GPU, node, spread_over
from tests.rebalance.situations import Situation, resolve, web_pods, zone_nodes
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY
from webhook.policy.placement.filters.filterpods import CLAIM, FilterPod, HostPort, PodVolume
from webhook.policy.placement.filters.storage import Claim, Storage, VolumeTraits
from webhook.rebalance.opendomains import find_open, tally_reachable

SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
BY_HOST = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)
WEB = {"app": "web"}
POD = FilterPod("shop", WEB)


def reachable_of(situation: Situation) -> list[set[str]]:
    cluster = situation.cluster
    spreads = resolve(WEB, SOFT, BY_HOST, spread_over())
    tallies = tally_reachable(POD, spreads, cluster.topology, cluster.placed.census)
    return [set(tally.domains.sizes) for tally in tallies]


def open_of(situation: Situation, pod: FilterPod) -> set[str]:
    cluster = situation.cluster
    spreads = resolve(WEB, SOFT)
    (tally,) = tally_reachable(pod, spreads, cluster.topology, cluster.placed.census)
    return set(find_open([pod], tally, {"a", "b"}, cluster))


def test_soft_constraints_count_domains_that_the_pod_can_go_to() -> None:
    tainted = node("c1", "c", taints=[GPU])

    assert reachable_of(Situation([], zone_nodes("a", "b"))) == [
        {"a", "b"},
        {"a1", "b1"},
        {"a", "b"},
    ]
    assert reachable_of(Situation([], [*zone_nodes("a", "b"), tainted])) == [
        {"a", "b"},
        {"a1", "b1"},
        {"a", "b", "c"},
    ]


def test_no_node_without_the_keys_of_hard_constraints_counts_for_a_soft_one() -> None:
    nodes = [*zone_nodes("a", "b"), node("c1")]
    cluster = Situation([], nodes).cluster
    spreads = resolve(WEB, BY_HOST, spread_over())

    soft, _ = tally_reachable(POD, spreads, cluster.topology, cluster.placed.census)

    assert soft.domains.sizes.keys() == {"a1", "b1"}


def test_all_eligible_nodes_of_a_reachable_domain_count() -> None:
    situation = Situation(
        web_pods({"a2": 2}, SOFT), [*zone_nodes("a", "b"), node("a2", "a", taints=[GPU])]
    )
    cluster = situation.cluster
    census = cluster.placed.census

    (tally,) = tally_reachable(POD, resolve(WEB, SOFT), cluster.topology, census)

    assert (tally.pods, tally.domains.sizes) == ({"a": 2}, {"a": 2, "b": 1})


def test_domains_with_a_node_that_takes_a_pod() -> None:
    assert open_of(Situation([]), POD) == {"a", "b"}
    assert open_of(Situation([], slots={"a1": 0}), POD) == {"b"}
    roomy = [*zone_nodes("a", nodes=2), *zone_nodes("b")]
    assert open_of(Situation([], roomy, slots={"a1": 0}), POD) == {"a", "b"}


def test_host_ports_of_other_pods_close_a_domain() -> None:
    ports = (HostPort("0.0.0.0", "TCP", 80),)
    other = FilterPod("shop", {}, node_name="b1", ports=ports)

    assert open_of(Situation([], others=[other]), FilterPod("shop", WEB, ports=ports)) == {"a"}


def test_a_volume_for_one_pod_does_not_close_all_domains() -> None:
    traits = VolumeTraits(access_modes=frozenset({"ReadWriteOncePod"}))
    claim = Claim(namespace="shop", name="data", volume="pv", is_bound=True, traits=traits)
    storage = Storage(claims={("shop", "data"): claim})
    volumes = (PodVolume(CLAIM, "data", "shop"), PodVolume("rbd", "disk"))
    pods = web_pods({"a1": 1}, SOFT, volumes=volumes)

    found = open_of(Situation(pods, storage=storage), pods[0].replacement)

    assert found == {"a", "b"}
