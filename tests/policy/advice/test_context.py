from msgspec.structs import replace

from tests.build import NAMESPACE, constraint, gates, policy, selector
from tests.policy.advice.subjects import GPU, NOT_READY, THREE, admission, audit, node, zones
from tests.policy.placement.clusters import WEB
from webhook.policy.advice.context import ClusterState, CountedKey, resolve_valid
from webhook.policy.advice.crossing import CrossingDomains
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, LabelSelector, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import UNSCHEDULABLE, Demands, Toleration
from webhook.policy.placement.tallies import IncomingPod

ANY = Demands(tolerations=(Toleration(operator="Exists"),))
EVERYTHING = Demands(tolerations=None)
ZONES, NODES = CountedKey(ZONE, EVERYTHING), CountedKey(HOSTNAME, EVERYTHING)
BOTH = (ZONE, HOSTNAME)


def cluster(*nodes: Node) -> ClusterState:
    return ClusterState(nodes, Census(), Census())


def test_cordoned_nodes_are_for_those_that_tolerate_it() -> None:
    cordoned = Node("c1", {}, unschedulable=True)
    known = cluster(*THREE, cordoned)

    assert cordoned not in known.schedulable(Demands()).nodes
    assert cordoned in known.schedulable(ANY).nodes


def test_cordoned_nodes_and_those_that_are_not_ready_form_lasting_domains() -> None:
    cordoned = Node("c1", {ZONE: "zone-c"}, (UNSCHEDULABLE,), unschedulable=True)
    known = cluster(*zones("a1"), cordoned, node("d1", "zone-d", NOT_READY), node("e", "e", GPU))

    domains = known.lasting_domains(ZONE, (ZONE,), Demands())

    assert set(domains.sizes) == {"zone-a", "zone-c", "zone-d"}


def test_constraints_on_keys_of_no_node_are_left_out() -> None:
    known, pod = cluster(*zones("a1", "b1")), IncomingPod(NAMESPACE, WEB)
    constraints = (constraint(topology_key="zones"), constraint())

    whole = known.tally(pod, constraints, gates())
    some = known.tally_known(pod, constraints, gates())

    assert [tally.spread.index for tally in some.hard] == [1]
    assert (whole.hard[1].domains.sizes, some.hard[0].domains.sizes) == (
        {},
        {"zone-a": 1, "zone-b": 1},
    )
    assert known.tally_known(pod, constraints[1:], gates()) == known.tally(
        pod, constraints[1:], gates()
    )


def test_no_node_passes_a_hard_constraint_on_an_unknown_key() -> None:
    known = cluster(*zones("a1", "b1"))
    soft = constraint(topology_key="rack", when_unsatisfiable=SCHEDULE_ANYWAY)
    constraints = (constraint(topology_key="zones"), constraint(), soft)

    assert known.list_unknown_keys(constraints, Demands()) == ["zones"]


def test_the_gates_are_those_of_the_policy() -> None:
    config = policy()

    assert admission(config=config).gates is config.gates


def test_nodes_lie_within_zones() -> None:
    known = cluster(*zones("a1", "b1", "b2"), node("c1", "zone-c", GPU))

    nesting = known.nest_domains(ZONES, NODES, BOTH, Demands())

    assert nesting == (3, 4, 3, {1: 1, 2: 1, 0: 1})
    assert known.nest_domains(ZONES, NODES, BOTH, Demands()) is nesting


def test_different_nodes_count_for_zones_and_for_nodes() -> None:
    known = cluster(*zones("a1", "b1", "b2"), node("c1", "zone-c", GPU), Node("d1", {ZONE: "d"}))
    untainted = CountedKey(HOSTNAME, Demands())

    assert known.nest_domains(ZONES, untainted, BOTH, Demands()) == (3, 3, 3, {1: 1, 2: 1, 0: 1})


def test_only_open_domains_need_to_lie_within_one() -> None:
    known = cluster(node("a", "1", rack="r"), node("b", "2", GPU, rack="r"))
    racks = CountedKey("rack", EVERYTHING)

    nest = known.nest_domains

    assert nest(ZONES, racks, (ZONE, "rack"), Demands()) == (2, 1, 1, {1: 1, 0: 1})
    assert nest(ZONES, racks, (ZONE, "rack"), ANY) is None


def test_zones_do_not_lie_within_nodes() -> None:
    known = cluster(*zones("a1", "a2"))

    assert known.nest_domains(NODES, ZONES, BOTH, Demands()) is None


def test_there_is_nothing_to_nest_where_the_pod_cannot_go() -> None:
    known = cluster(node("a1", "zone-a", GPU))

    assert known.nest_domains(ZONES, NODES, BOTH, Demands()) is None


def test_workloads_without_pods_are_known_and_not_counted() -> None:
    members = Census()
    for name, pods in (("Deployment/web", 0), ("Deployment/api", 2)):
        members.add(NAMESPACE, WEB, name, pods)
    known = ClusterState([], Census(), members)

    assert known.count_members(NAMESPACE, LabelSelector(WEB)) == {"Deployment/api": 2}
    assert known.list_members(NAMESPACE, LabelSelector(WEB)) == ["Deployment/api", "Deployment/web"]


def test_zones_and_racks_share_nodes() -> None:
    known = cluster(
        *(node(f"{zone}1", zone, rack="1") for zone in "ab"),
        node("a2", "a", rack="2"),
        node("c3", "c", GPU, rack="3"),
    )
    both = (ZONE, "rack")

    crossing = known.cross_domains(ZONES, CountedKey("rack", Demands()), both, Demands())

    assert crossing == CrossingDomains(2, 2, frozenset({(0, 0), (1, 1), (1, 2), (2, 2)}), 3, 2)


def test_constraints_that_no_api_server_would_take_are_left_out() -> None:
    wrong, right = constraint(max_skew=0), constraint()

    found = resolve_valid((wrong, right, replace(right, min_domains=0)), WEB, gates())

    assert [counted.index for counted in found.hard] == [1]
    assert resolve_valid((right,), WEB, gates()).hard[0].selector == right.label_selector


def test_the_last_tallies_are_cached() -> None:
    known, pod = cluster(*THREE), IncomingPod(NAMESPACE, WEB)

    measured = known.tally(pod, (constraint(),), gates())

    assert known.tally(IncomingPod(NAMESPACE, dict(WEB)), (constraint(),), gates()) is measured
    assert known.tally(pod, (constraint(max_skew=2),), gates()).hard[0].spread.max_skew == 2
    assert known.tally(pod, (constraint(),), gates()) is measured  # beside those of another pod


def test_a_pod_without_constraints_has_no_tallies() -> None:
    known = cluster(*THREE)
    pod = IncomingPod(NAMESPACE, WEB)
    assert known.tally(pod, (), gates()).by_index == []
    assert known.tallies(pod, (), gates()) == []


def test_a_soft_constraint_has_the_domains_that_the_pod_can_go_to() -> None:
    closed = [node("cp", "zone-cp", GPU), Node("d1", {ZONE: "zone-d"}, unschedulable=True)]
    known, pod = cluster(*zones("a1", "b1"), *closed), IncomingPod(NAMESPACE, WEB)
    soft, hard = constraint(when_unsatisfiable=SCHEDULE_ANYWAY), constraint(max_skew=2)

    first, second = known.tallies(pod, (soft, hard), gates())

    assert (first.spread.index, second.spread.index) == (0, 1)
    assert first.domains.sizes.keys() == {"zone-a", "zone-b"}
    assert second.domains.sizes.keys() == {"zone-a", "zone-b", "zone-cp", "zone-d"}


def test_other_pods_on_the_same_nodes_are_measured_anew() -> None:
    known, pod = cluster(*THREE), IncomingPod(NAMESPACE, WEB)
    census = Census()
    census.add(NAMESPACE, WEB, THREE[0].name, 2)

    before = known.tally(pod, (constraint(),), gates())
    after = known.with_pods(census, census).tally(pod, (constraint(),), gates())

    assert [sum(counted.hard[0].pods.values()) for counted in (before, after)] == [0, 2]


def test_the_counts_of_workloads_are_cached_for_the_same_pods() -> None:
    state = audit(members={"Job/a": {"app": "web"}}).cluster
    assert state is not None
    counted = state.count_members(NAMESPACE, selector(app="web"))

    assert counted == {"Job/a": 1}
    assert state.with_pods(state.census, state.members).members_of is state.members_of
    assert state.with_pods(state.census, Census()).members_of is not state.members_of


def test_nodes_are_known_at_admission_or_by_an_audit() -> None:
    known = admission(THREE), audit(THREE), audit([])

    assert [context.knows_nodes for context in known] == [True, True, False]
