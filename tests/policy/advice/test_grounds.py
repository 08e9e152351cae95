from msgspec.structs import replace

from tests.build import NAMESPACE, constraint, gates, policy
from tests.policy.advice.subjects import GPU, THREE, admission, node, zones
from tests.policy.placement.clusters import WEB
from webhook.policy.advice.feasibility import Shape
from webhook.policy.advice.grounds import Survey, tolerates_cordons, understood
from webhook.policy.defaulting.profiles import HOSTNAME, ZONE
from webhook.policy.model import Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SOFT
from webhook.policy.placement.taints import Toleration
from webhook.policy.placement.tallies import Incoming

ANY = Demands(tolerations=(Toleration(operator="Exists"),))
EVERYTHING = Demands(tolerations=None)


def survey(*nodes: Node) -> Survey:
    return Survey(nodes, Census(), Census())


def test_cordoned_nodes_are_for_those_that_tolerate_it() -> None:
    cordoned = Node("c1", {}, unschedulable=True)
    known = survey(*THREE, cordoned)

    assert cordoned not in known.schedulable(Demands()).nodes
    assert cordoned in known.schedulable(ANY).nodes
    assert tolerates_cordons(ANY)
    assert not tolerates_cordons(Demands())


def test_the_gates_are_those_of_the_policy() -> None:
    obeyed = policy()

    assert admission(obeyed=obeyed).gates is obeyed.gates


def test_nodes_lie_within_zones() -> None:
    known = survey(*zones("a1", "b1", "b2"), node("c1", "zone-c", GPU))

    nesting = known.nest(ZONE, HOSTNAME, Demands(), EVERYTHING)

    assert nesting == (3, 4, {Shape(1, 0): 1, Shape(2, 0): 1, Shape(0, 1): 1})
    assert known.nest(ZONE, HOSTNAME, Demands(), EVERYTHING) is nesting


def test_zones_do_not_lie_within_nodes() -> None:
    assert survey(*zones("a1", "a2")).nest(HOSTNAME, ZONE, Demands(), EVERYTHING) is None


def test_there_is_nothing_to_nest_where_the_pod_cannot_go() -> None:
    known = survey(node("a1", "zone-a", GPU))

    assert known.nest(ZONE, HOSTNAME, Demands(), EVERYTHING) is None


def test_constraints_that_no_api_server_would_take_are_left_out() -> None:
    wrong, right = constraint(max_skew=0), constraint()

    found = understood((wrong, right, replace(right, min_domains=0)), WEB, gates())

    assert [each.index for each in found.hard] == [1]
    assert understood((right,), WEB, gates()).hard[0].selector == right.label_selector


def test_what_is_measured_is_remembered_until_something_else_is_asked() -> None:
    known, pod = survey(*THREE), Incoming(NAMESPACE, WEB)

    measured = known.measure(pod, (constraint(),), gates())

    assert known.measure(Incoming(NAMESPACE, dict(WEB)), (constraint(),), gates()) is measured
    assert known.measure(pod, (constraint(max_skew=2),), gates()).hard[0].spread.max_skew == 2


def test_a_soft_constraint_has_the_domains_that_the_pod_can_go_to() -> None:
    closed = [node("cp", "zone-cp", GPU), Node("d1", {ZONE: "zone-d"}, unschedulable=True)]
    known, pod = survey(*zones("a1", "b1"), *closed), Incoming(NAMESPACE, WEB)
    soft, hard = constraint(when_unsatisfiable=SOFT), constraint(max_skew=2)

    first, second = known.tallies(pod, (soft, hard), gates())

    assert (first.spread.index, second.spread.index) == (0, 1)
    assert first.domains.sizes.keys() == {"zone-a", "zone-b"}
    assert second.domains.sizes.keys() == {"zone-a", "zone-b", "zone-cp", "zone-d"}


def test_other_pods_on_the_same_nodes_are_measured_anew() -> None:
    known, pod = survey(*THREE), Incoming(NAMESPACE, WEB)
    census = Census()
    census.add(NAMESPACE, WEB, THREE[0].name, 2)

    before = known.measure(pod, (constraint(),), gates())
    after = known.over(census, census).measure(pod, (constraint(),), gates())

    assert [sum(each.hard[0].pods.values()) for each in (before, after)] == [0, 2]
