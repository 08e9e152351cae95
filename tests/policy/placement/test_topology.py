from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.policy.placement.clusters import GPU, KEYS, demands, node, node_lists
from webhook.policy.model import ZONE, Node
from webhook.policy.placement.nodes import Demands, NodeRejection, RejectionReason, Toleration
from webhook.policy.placement.topology import Domains, Topology, carries_keys

NODES = (node("n1", "a"), node("n2", "b", taints=[GPU]), node("n3"), node("n4", "a"))


def test_nodes_are_grouped_by_their_value() -> None:
    domains = Topology(NODES).domains(ZONE, (ZONE,), Demands(tolerations=None))

    assert domains == Domains(
        key=ZONE,
        values={"n1": "a", "n2": "b", "n4": "a"},
        sizes={"a": 2, "b": 1},
        left_out={"n3": NodeRejection(RejectionReason.MISSING_KEY, ZONE)},
    )


def test_a_node_is_left_out_for_its_taints_where_they_are_honored() -> None:
    domains = Topology(NODES).domains(ZONE, (ZONE,), Demands())

    assert domains.sizes == {"a": 2}
    assert domains.left_out["n2"] == NodeRejection(RejectionReason.TAINT, "gpu:NoSchedule")


def test_domains_that_a_pod_can_go_to() -> None:
    cordoned = Node("n5", {ZONE: "c"}, unschedulable=True)
    topology = Topology([*NODES, cordoned])
    tolerating = Demands(tolerations=(Toleration(operator="Exists"),))

    assert topology.reachable(ZONE, (ZONE,), Demands()).sizes == {"a": 2}
    assert topology.reachable(ZONE, (ZONE,), tolerating).sizes == {"a": 2, "b": 1, "c": 1}


def test_only_some_domains_are_kept() -> None:
    domains = Topology(NODES).domains(ZONE, (ZONE,), Demands(tolerations=None))

    assert domains.keep({"b", "c"}) == Domains(ZONE, {"n2": "b"}, {"b": 1}, domains.left_out)
    assert domains.keep_nodes({"n1", "n3"}).values == {"n1": "a"}


def test_a_key_that_is_not_required_has_the_empty_value() -> None:
    assert Topology(NODES).domains(ZONE, (), Demands()).values["n3"] == ""


def test_every_required_key_is_checked() -> None:
    domains = Topology(NODES).domains(ZONE, (ZONE, "rack"), Demands())

    assert domains.values == {}
    assert domains.left_out["n1"] == NodeRejection(RejectionReason.MISSING_KEY, "rack")


def test_the_same_question_is_answered_from_memory() -> None:
    topology = Topology(NODES)

    required = [topology.domains(ZONE, (ZONE,), Demands()) for _ in range(2)]

    assert required[0] is required[1]


def test_a_node_carries_all_keys_or_does_not() -> None:
    assert carries_keys(node("n1", "a", rack="r1"), (ZONE, "rack"))
    assert not carries_keys(node("n1", "a"), (ZONE, "rack"))


@given(node_lists(), st.sampled_from(KEYS), demands)
def test_every_node_is_in_one_domain_or_left_out(
    nodes: list[Node], key: str, required: Demands
) -> None:
    domains = Topology(nodes).domains(key, (key,), required)

    assert domains.values.keys().isdisjoint(domains.left_out)
    assert {*domains.values, *domains.left_out} == {node.name for node in nodes}
    assert sum(domains.sizes.values()) == len(domains.values)


@given(node_lists(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_does_not_matter(nodes: list[Node], random: Random) -> None:
    shuffled = random.sample(nodes, len(nodes))

    answers = [Topology(order).domains(ZONE, (ZONE,), Demands()) for order in (nodes, shuffled)]

    assert answers[0] == answers[1]


def in_order(domains: Domains) -> list[object]:
    return [domains.key, *(list(part.items()) for part in (domains.values, domains.sizes)), domains]


@given(node_lists(), node_lists(), node_lists(), st.sampled_from(KEYS), demands)
def test_changed_nodes_form_the_domains_that_they_form_by_themselves(
    nodes: list[Node], some: list[Node], more: list[Node], key: str, required: Demands
) -> None:
    before = Topology(nodes)
    by_name = {one.name: one for one in (*nodes, *some, *more)}

    changed = before.change(some).change(more)

    assert changed.nodes == Topology(by_name.values()).nodes
    assert changed.by_name == by_name
    for keys in ((key,), (), (key, ZONE)):
        anew = Topology(by_name.values()).domains(key, keys, required)
        assert in_order(changed.domains(key, keys, required)) == in_order(anew)
    assert before.nodes == tuple(nodes)


def test_a_changed_node_stays_in_its_place() -> None:
    changed = Topology(NODES).change([node("n1", "a", rack="r1"), node("n5", "b")])

    domains = changed.domains(ZONE, (ZONE,), Demands(tolerations=None))

    assert list(domains.values) == ["n1", "n2", "n4", "n5"]
    assert domains.sizes == {"a": 2, "b": 2}
