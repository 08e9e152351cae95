from collections import Counter
from collections.abc import Iterable

import msgspec
import pytest
from msgspec.structs import replace

from tests.policy.placement.clusters import (
    GPU,
    SELECTS_WEB,
    WEB,
    WEB_POD,
    cluster,
    gates,
    node,
    reject_others,
    running,
    spread_over,
)
from tests.policy.placement.filters.nominees import nominate
from tests.policy.placement.filters.objects import anti_affinity, node_object, pod_object, term
from tests.policy.placement.filters.objects import cluster as filter_cluster
from tests.policy.placement.filters.objects import pod as filter_pod
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.pods import read_pod
from webhook.policy.api.versions import Version
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, Constraint, LabelSelector
from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.nodefilters import CORDON, NODE_AFFINITY, TAINT
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.filters.podaffinity import ANTI_AFFINITY
from webhook.policy.placement.filters.run import EXCEEDED_SKEW, FilterResult, filter_nodes
from webhook.policy.placement.nodes import (
    Demands,
    SchedulingPod,
)
from webhook.policy.placement.place import (
    PodPlacement,
    find_passing,
    place_in_cluster,
    place_pod,
    tally_constraints,
)
from webhook.policy.placement.place import incoming_pod as incoming_of
from webhook.policy.placement.spreads import (
    DefaultConstraints,
    resolve_constraints,
)
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.placement.topology import Topology

IN_FORCE = gates()


def placed(
    topology: Topology,
    census: Census,
    *own: Constraint,
    pod: IncomingPod = WEB_POD,
    infeasible: Iterable[str] = (),
) -> PodPlacement:
    measured = tally_constraints(
        pod, resolve_constraints(own, pod.labels, IN_FORCE), topology, census
    )
    return place_pod(measured, topology, FilterResult((), dict.fromkeys(infeasible, TAINT)))


HARD_1 = spread_over()
HARD_2 = spread_over(max_skew=2)
SOFT_1 = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
FIVE_WANTED = spread_over(max_skew=2, min_domains=5)

# pods by zone, infeasible zones, constraint, the zones that the pod may best go to
ZONES: dict[str, tuple[dict[str, int], str, Constraint, tuple[str, ...]]] = {
    "KEP-895: 1/1/0, maxSkew 1": ({"1": 1, "2": 1, "3": 0}, "", HARD_1, ("3",)),
    "KEP-895: 1/1/0, maxSkew 2": ({"1": 1, "2": 1, "3": 0}, "", HARD_2, ("1", "2", "3")),
    "KEP-895: 3/2/1 over zones": ({"1": 3, "2": 2, "3": 1}, "", HARD_1, ("3",)),
    "KEP-895: no pod anywhere yet": ({"1": 0, "2": 0, "3": 0}, "", HARD_1, ("1", "2", "3")),
    "KEP-895: 3/3/~0~, hard": ({"1": 3, "2": 3, "3": 0}, "3", HARD_1, ()),
    "KEP-895: 3/3/~0~, soft": ({"1": 3, "2": 3, "3": 0}, "3", SOFT_1, ("1", "2")),
    "KEP-895: 1/1/~0~, hard": ({"1": 1, "2": 1, "3": 0}, "3", HARD_1, ()),
    "KEP-895: 1/1/~0~, soft": ({"1": 1, "2": 1, "3": 0}, "3", SOFT_1, ("1", "2")),
    "KEP-895: 2/1/~0~, hard": ({"1": 2, "2": 1, "3": 0}, "3", HARD_1, ()),
    "KEP-895: 2/1/~0~, soft": ({"1": 2, "2": 1, "3": 0}, "3", SOFT_1, ("2",)),
    "KEP-895: 1/1/~1~, hard": ({"1": 1, "2": 1, "3": 1}, "3", HARD_1, ("1", "2")),
    "KEP-895: 1/1/~1~, soft": ({"1": 1, "2": 1, "3": 1}, "3", SOFT_1, ("1", "2")),
    "KEP-895: 2/1/~1~, hard": ({"1": 2, "2": 1, "3": 1}, "3", HARD_1, ("2",)),
    "KEP-895: 2/1/~1~, soft": ({"1": 2, "2": 1, "3": 1}, "3", SOFT_1, ("2",)),
    "KEP-3022: 2/2/2, maxSkew 2, minDomains 5": ({"1": 2, "2": 2, "3": 2}, "", FIVE_WANTED, ()),
    "KEP-3022: 2/2/1, maxSkew 2, minDomains 5": ({"1": 2, "2": 2, "3": 1}, "", FIVE_WANTED, ("3",)),
    "KEP-3022: 2/2/2/2/2, as many as minDomains": (
        dict.fromkeys("12345", 2), "", FIVE_WANTED, ("1", "2", "3", "4", "5")
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("pods", "infeasible", "constraint", "best"), ZONES.values(), ids=ZONES.keys()
)
def test_one_constraint_on_zones(
    pods: dict[str, int], infeasible: str, constraint: Constraint, best: tuple[str, ...]
) -> None:
    assert placed(*cluster(pods), constraint, infeasible=infeasible).best == best


SEVEN = Topology(
    [node(name, name[0]) for name in ("1a", "1b", "1c", "2a", "2b", "2c")] + [node("3a", "3")]
)
FOUR = Topology([node("1", "a"), node("2", "a"), node("3", "b"), node("4", "b")])
THREE = Topology([node("1", "a"), node("2", "a"), node("3", "b")])
UNZONED = Topology([node("1", "a"), node("2", "b"), node("3")])
BY_HOST = spread_over(HOSTNAME)

# nodes, pods by node, constraints, the nodes that the pod may go to
NODES: dict[str, tuple[Topology, dict[str, int], tuple[Constraint, ...], tuple[str, ...]]] = {
    "KEP-895: 3/2/1 over nodes": (
        SEVEN, {"1a": 1, "1b": 2, "2a": 2, "3a": 1}, (BY_HOST,), ("1c", "2b", "2c")
    ),
    "two constraints that leave one node": (
        FOUR, {"1": 1, "2": 1, "3": 1}, (HARD_1, BY_HOST), ("4",)
    ),
    "two constraints that leave none": (
        THREE, {"1": 2, "2": 1, "3": 2}, (HARD_1, BY_HOST), ()
    ),
    "nodes without the key": (UNZONED, {"1": 1, "3": 5}, (HARD_1,), ("2",)),
}  # fmt: skip


@pytest.mark.parametrize(("topology", "pods", "own", "nodes"), NODES.values(), ids=NODES.keys())
def test_constraints_on_nodes(
    topology: Topology,
    pods: dict[str, int],
    own: tuple[Constraint, ...],
    nodes: tuple[str, ...],
) -> None:
    assert placed(topology, running(pods), *own).passing == nodes


def test_a_pod_that_does_not_match_its_own_selector_adds_nothing() -> None:
    """KEP-895, the chicken and the egg: only a pod that joins makes its domain fuller."""
    stranger = IncomingPod("shop", {"app": "db"})
    topology, census = cluster({"1": 1, "2": 0})

    assert placed(topology, census, HARD_1).passing == ("2",)
    assert placed(topology, census, HARD_1, pod=stranger).passing == ("1", "2")


def test_a_zone_that_the_node_selector_excludes_is_no_domain() -> None:
    """KEP-895: spreading is applied to the nodes that pass the node selector."""
    tiers = {"1": "front", "2": "front", "3": "back"}
    topology = Topology(node(zone, zone, tier=tier) for zone, tier in tiers.items())
    pod = IncomingPod("shop", WEB, Demands(pairs=(("tier", "front"),)))
    refused = reject_others(topology, pod.demands).rejections

    found = placed(topology, running({"1": 1, "2": 1}), HARD_1, pod=pod, infeasible=refused)

    assert found.passing == ("1", "2")
    assert refused == {"3": NODE_AFFINITY}


def replicas(topology: Topology, number: int, constraint: Constraint) -> dict[str, int]:
    """Place pods one after another as long as they fit; node -> pods."""
    census, total = Census(), Counter[str]()
    for _ in range(number):
        best = placed(topology, census, constraint).best
        if best:
            census.add("shop", WEB, best[0])
            total[best[0]] += 1
    return dict(total)


@pytest.mark.parametrize(("nodes", "running_pods"), [(3, 6), (4, 8), (5, 10)])
def test_ten_replicas_wait_for_the_fifth_node(nodes: int, running_pods: int) -> None:
    """KEP-3022, the user story: maxSkew 2, minDomains 5, hostname."""
    topology = Topology(node(str(number)) for number in range(nodes))

    total = replicas(topology, 10, spread_over(HOSTNAME, max_skew=2, min_domains=5))

    assert sum(total.values()) == running_pods


SYSTEM = DefaultConstraints(
    (spread_over(when_unsatisfiable=SCHEDULE_ANYWAY, label_selector=None),),
    LabelSelector({"app": "web"}),
    system=True,
)
OPEN = {
    "a hard one counts where the pod cannot go": ((HARD_1,), DefaultConstraints(), {"a", "b"}),
    "a soft one does not": ((SOFT_1,), DefaultConstraints(), {"a"}),
    "System defaults score nodes without the key": ((), SYSTEM, {"a", ""}),
}


@pytest.mark.parametrize(("own", "defaults", "domains"), OPEN.values(), ids=OPEN)
def test_the_domains_of_a_soft_constraint_are_reachable(
    own: tuple[Constraint, ...], defaults: DefaultConstraints, domains: set[str]
) -> None:
    nodes = Topology([node("n1", "a"), node("n2", "b", taints=[GPU]), node("n3")])
    spreads = resolve_constraints(own, WEB_POD.labels, IN_FORCE, defaults)
    tallies = tally_constraints(WEB_POD, spreads, nodes, Census())

    (tally,) = tallies.reachable(nodes, WEB_POD.demands).by_index

    assert tally.domains.sizes.keys() == domains


RACK = spread_over("rack")


@pytest.mark.parametrize(
    ("hard", "domains"),
    [
        ((spread_over(),), {"n1"}),
        ((RACK,), {"n1", "n3"}),
        ((spread_over(), RACK), {"n1"}),
        ((spread_over("shelf"),), {"n1", "n2", "n3"}),
        ((), {"n1", "n2", "n3"}),
    ],
    ids=["a zone", "a rack", "both", "a key of no node", "none"],
)
def test_no_node_without_the_keys_of_hard_constraints_counts_for_a_soft_one(
    hard: tuple[Constraint, ...], domains: set[str]
) -> None:
    nodes = Topology([node("n1", "a", rack="1"), node("n2"), node("n3", rack="3")])
    soft = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)
    spreads = resolve_constraints((*hard, soft), WEB_POD.labels, IN_FORCE, DefaultConstraints())
    tallies = tally_constraints(WEB_POD, spreads, nodes, Census())

    (tally,) = tallies.reachable(nodes, WEB_POD.demands).soft

    assert tally.domains.sizes.keys() == domains


def test_only_soft_constraints_let_every_node_pass() -> None:
    found = placed(*cluster({"1": 9, "2": 0}), SOFT_1)

    assert all(status.passes for status in found.statuses.values())
    assert found.best == ("2",)


def test_only_hard_constraints_leave_nothing_to_score() -> None:
    assert placed(*cluster({"1": 1}), HARD_1).scores is None


def test_without_nodes_there_is_nothing_to_score() -> None:
    assert placed(*cluster({}), SOFT_1).scores is None


def test_scores_are_empty_where_no_node_passes() -> None:
    scores = placed(*cluster({"1": 1}), SOFT_1, infeasible="1").scores

    assert scores is not None
    assert scores.raw == {}


def test_other_filters_refuse_nodes_with_a_reason() -> None:
    topology = Topology([node("1", taints=[GPU]), node("2")])

    assert reject_others(topology, Demands()).rejections == {"1": TAINT}


# metadata, namespace of the workload, namespace of the pod
NAMESPACES = {
    "a pod's own": ({"namespace": "shop"}, "bank", "shop"),
    "a template's is that of its workload": ({}, "bank", "bank"),
    "a template without metadata": (None, "bank", "bank"),
    "none is known": ({}, "", ""),
}


@pytest.mark.parametrize(
    ("metadata", "given_namespace", "namespace"), NAMESPACES.values(), ids=NAMESPACES.keys()
)
def test_incoming(metadata: dict[str, str] | None, given_namespace: str, namespace: str) -> None:
    pod = msgspec.convert({"metadata": metadata, "spec": {}}, SchedulingPod)

    assert incoming_of(pod, given_namespace) == IncomingPod(namespace, {}, Demands())


def test_defaults_place_a_pod_without_constraints() -> None:
    topology, census = cluster({"1": 1, "2": 0})
    defaults = DefaultConstraints((spread_over(label_selector=None),), SELECTS_WEB)

    spreads = resolve_constraints((), WEB, IN_FORCE, defaults)

    assert place_pod(tally_constraints(WEB_POD, spreads, topology, census), topology).passing == (
        "2",
    )


def test_tallies_are_listed_in_the_order_of_the_constraints() -> None:
    topology = Topology([node("n1")])
    found = placed(
        topology, Census(), SOFT_1, HARD_1, spread_over(when_unsatisfiable="ScheduleAnyway")
    )

    assert [tally.spread.index for tally in found.tallies.by_index] == [0, 1, 2]
    assert [tally.spread.index for tally in found.tallies.soft] == [0, 2]


def test_a_pod_without_a_namespace_has_none() -> None:
    assert incoming_of(SchedulingPod()).namespace == ""
    assert incoming_of(SchedulingPod(), "shop").namespace == "shop"


def test_all_filters_place_a_pod_in_their_order() -> None:
    """The affinity to pods comes after the constraints, everything else before them."""
    avoiding = pod_object("web", labels=WEB, affinity=anti_affinity(term(HOSTNAME, app="db")))
    zones = {"n1": "a", "n2": "a", "n3": "b", "n4": "b", "n5": "b"}
    nodes = [node_object(name, None, {ZONE: zone}) for name, zone in zones.items()]
    nodes[1]["spec"] = {"unschedulable": True}
    pods = [
        pod_object("web-1", labels=WEB, nodeName="n1"),
        pod_object("db-1", labels={"app": "db"}, nodeName="n1"),
        pod_object("db-2", labels={"app": "db"}, nodeName="n4"),
    ]
    scene = filter_cluster(nodes, pods)
    incoming = read_pod(msgspec.convert(avoiding, ApiPod), Version(1, 36))
    spreads = resolve_constraints((HARD_1,), WEB, IN_FORCE)

    found = place_in_cluster(incoming, spreads, scene)

    assert found.passing == ("n3", "n5")
    assert found.refused == {"n1": ANTI_AFFINITY, "n2": CORDON, "n4": ANTI_AFFINITY}
    assert found.result.rejections == {"n1": EXCEEDED_SKEW, "n2": CORDON, "n4": ANTI_AFFINITY}
    assert found.result == filter_nodes(incoming, spreads.hard, scene)
    assert find_passing(incoming, spreads, scene, found.refused) == found.passing


def test_pods_that_are_nominated_for_a_node_count_there() -> None:
    """Those of other namespaces, and for other nodes, do not matter to its constraints."""
    zones = {"n1": "a", "n2": "b", "n3": "a"}
    nodes = [node_object(name, None, {ZONE: zone}) for name, zone in zones.items()]
    pods = [pod_object(f"p-{name}", labels=WEB, nodeName=name) for name in ("n1", "n2")]
    other = filter_pod("other", labels=WEB)
    scene = nominate(
        filter_cluster(nodes, pods), n1=[other], n2=[replace(other, namespace="bank")], gone=[other]
    )
    incoming = filter_pod("web", labels=WEB)
    spreads = resolve_constraints((HARD_1,), WEB, IN_FORCE)

    found = place_in_cluster(incoming, spreads, scene)

    assert found.passing == ("n2", "n3")
    assert found.statuses["n1"].skew == 2
    assert found.result == filter_nodes(incoming, spreads.hard, scene)
    assert find_passing(incoming, spreads, scene, found.refused) == found.passing


@pytest.mark.parametrize("nominated", [0, 1])
def test_only_nodes_that_keep_the_constraints_pass(nominated: int) -> None:
    nodes = [node_object(name, None, {ZONE: name}) for name in ("n1", "n2")]
    pods = [pod_object("web-1", labels=WEB, nodeName="n1")]
    scene = nominate(filter_cluster(nodes, pods), n2=[filter_pod("other", labels=WEB)] * nominated)
    incoming = filter_pod("web", labels=WEB)
    spreads = resolve_constraints((HARD_1,), WEB, IN_FORCE)

    found = place_in_cluster(incoming, spreads, scene)

    assert found.passing == ("n2",)
    assert find_passing(incoming, spreads, scene, found.refused) == found.passing


def test_without_a_node_for_the_other_filters_nothing_passes() -> None:
    topology, census = cluster({"1": 0})
    placed_pods = PlacedPods()
    placed_pods.census = census
    scene = SchedulingCluster(topology, placed=placed_pods)
    spreads = resolve_constraints((HARD_1,), WEB, IN_FORCE)

    assert find_passing(FilterPod("shop", WEB), spreads, scene, {"1": TAINT}) == ()
