"""Each node that needs a pod of a DaemonSet has it, or lacks it for a reason."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.explain.scenarios import scenario, scenarios
from tests.policy.placement.clusters import GPU, node, reject_others, spread_over
from webhook.explain.daemonreport import MissingPod, summarize_daemons
from webhook.explain.daemons import (
    DaemonPods,
    WaitingPod,
    describe_pinned,
    find_missing,
    pin,
    pin_after_others,
    pin_first,
    roll_out_daemons,
)
from webhook.explain.explanation import explain_daemons
from webhook.explain.nodeedits import AddNodes, Cordon, RemoveNodes
from webhook.explain.scenario import Scenario, ScenarioEdit
from webhook.policy.model import HOSTNAME, ZONE, Constraint, Node, Taint
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodes import UNSCHEDULABLE, Demands, Toleration, find_mismatch
from webhook.policy.placement.place import place_pod, tally_constraints

NODES = (node("a1", "a"), node("a2", "a"), node("b1", "b"), node("g1", "b", taints=[GPU]))
DEMANDS = daemon_demands(Demands(), host_network=False)
ALL = spread_over(node_affinity_policy="Ignore")


def question(
    *constraints: Constraint, pods: Sequence[str] = (), nodes: Sequence[Node] = NODES
) -> Scenario:
    return scenario(nodes, *constraints, pods=dict.fromkeys(pods, 1), demands=DEMANDS)


def test_nodes_that_the_pods_may_go_to_need_one() -> None:
    report = find_missing(question(spread_over()), DaemonPods({"a1": "p", "g1": "q", "gone": "r"}))

    assert (report.desired, report.running, report.unneeded) == (3, 1, ("g1",))
    assert report.missing == (
        MissingPod("a2", "", "not created", ""), MissingPod("b1", "", "not created", ""),
    )  # fmt: skip


def test_a_missing_pod_is_judged_by_itself() -> None:
    pods = DaemonPods({"a1": "p"}, {"a2": WaitingPod("q", "Pending")})

    report = find_missing(question(ALL, pods=["a1"]), pods)

    assert report.missing == (
        MissingPod("a2", "q", "Pending", "zone: skew 2 > maxSkew 1"),
        MissingPod("b1", "", "not created", ""),
    )
    assert [pod.is_placeable for pod in report.missing] == [False, True]


def test_a_node_without_the_topology_key_cannot_have_its_pod() -> None:
    report = find_missing(question(spread_over(), nodes=[node("x")]), DaemonPods())

    assert [pod.reason for pod in report.missing] == ["node(s) lack a topology key " + ZONE]


def test_daemons_tolerate_what_their_controller_adds() -> None:
    pressure = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")
    offline = Taint(key="node.kubernetes.io/network-unavailable", effect="NoSchedule")
    cordoned = replace(node("c", taints=[UNSCHEDULABLE, pressure]), unschedulable=True)
    demands = daemon_demands(Demands(tolerations=None), host_network=True)

    assert find_missing(question(nodes=[cordoned]), DaemonPods()).missing[0].is_placeable
    assert find_mismatch(node("d", taints=[offline]), DEMANDS) is not None
    assert find_mismatch(node("d", taints=[offline]), demands) is None


def test_a_new_pod_beside_an_old_one_is_judged() -> None:
    waiting = {"a1": WaitingPod("q", "Pending"), "b1": WaitingPod("r", "being deleted")}
    pods = DaemonPods({"a1": "p", "a2": "p2", "b1": "p3"}, waiting)

    for placed, stuck in ((["a1", "a2", "b1"], True), (["b1"], False)):
        situation = question(ALL, pods=placed)
        report = find_missing(situation, pods)
        explained = explain_daemons(situation, "DaemonSet web", pods)

        assert [one.pod for one in report.replacing] == ["q"]
        assert explained.placeable is not stuck
        assert bool(explained.changes) is stuck


def test_a_pod_that_waits_for_another_is_placed_after_it() -> None:
    rollout, end, pods = roll_out_daemons(question(ALL, pods=["a1"]), [], DaemonPods({"a1": "p"}))

    assert (
        rollout.sentence == "as it is: 3 nodes would need a pod; all would run; skew of zone 1 -> 1"
    )
    assert (rollout.replicas, rollout.running, rollout.pending) == (3, 1, 0)
    assert list(rollout.placed) == ["b1", "a2"]
    assert dict(pods.running) == {"a1": "p", "b1": "", "a2": ""}
    assert find_missing(end, pods).missing == ()


WHAT_IFS: dict[str, tuple[list[ScenarioEdit], int, int, int, int]] = {
    "a zone is lost": ([RemoveNodes(ZONE, "b")], 2, 1, 0, 1),
    "a cordon is tolerated": ([Cordon("b1")], 3, 1, 2, 0),
    "new nodes get a pod": ([AddNodes({ZONE: "b"}, 2)], 5, 1, 4, 0),
}


def test_what_ifs_work_by_node() -> None:
    for edits, desired, running, placed, pending in WHAT_IFS.values():
        narrow = spread_over(node_affinity_policy="Ignore", min_domains=2)
        rollout, _, _ = roll_out_daemons(
            question(narrow, pods=["a1"]), edits, DaemonPods({"a1": "p"})
        )
        found = rollout.replicas, rollout.running, len(rollout.placed), rollout.pending
        assert found == (desired, running, placed, pending)


def is_placed_among_all(question: Scenario, name: str) -> bool:
    """Whether kube-scheduler would place the pod pinned to a node, with all nodes in view."""
    found = next(item for item in question.topology.nodes if item.name == name)
    pinned = pin(question, found).with_nodes(question.topology.nodes)
    tallies = tally_constraints(pinned.pod, pinned.spreads, pinned.topology, pinned.census)
    rejections = reject_others(pinned.topology, pinned.pod.demands)
    return name in place_pod(tallies, pinned.topology, rejections).passing


@given(scenarios(), st.sets(st.sampled_from([f"n{i}" for i in range(8)])))
def test_reasons_are_those_of_a_placement_among_all_nodes(
    question: Scenario, running: set[str]
) -> None:
    demands = daemon_demands(question.pod.demands, host_network=False)
    of_daemons = replace(question, pod=replace(question.pod, demands=demands))

    report = find_missing(of_daemons, DaemonPods(dict.fromkeys(running, "p")))

    needing = [
        item.name for item in of_daemons.topology.nodes if find_mismatch(item, demands) is None
    ]
    assert report.desired == len(needing)
    assert [pod.node for pod in report.missing] == [x for x in needing if x not in running]
    for pod in report.missing:
        assert pod.is_placeable is is_placed_among_all(of_daemons, pod.node)


IN_A = replace(DEMANDS, pairs=((ZONE, "a"),))


def test_pods_that_cannot_all_be_placed_are_marked() -> None:
    apart = replace(question(ALL), pod=replace(question(ALL).pod, demands=IN_A))

    report = find_missing(apart, DaemonPods())

    assert [(pod.node, pod.reason, pod.reason_after) for pod in report.missing] == [
        ("a1", "", ""), ("a2", "", "zone: skew 2 > maxSkew 1")
    ]  # fmt: skip
    assert summarize_daemons(report) == (
        "has its pod on 0 of 2 nodes that need one; 2 pods missing, 1 of which can be placed"
    )
    end = pin_after_others(apart, NODES[1], report, DaemonPods())
    assert end.placement().tallies.hard[0].pods == {"a": 1}


def test_the_first_missing_pod_that_cannot_be_placed_is_pinned() -> None:
    blocked, free = question(ALL, pods=["a1"]), question(ALL)

    one, all_pods = DaemonPods({"a1": "p"}), DaemonPods({node.name: "p" for node in NODES})

    first = pin_first(blocked, find_missing(blocked, one), one)

    assert first is not None
    assert not first.placement().passing
    assert pin_first(free, find_missing(free, all_pods), all_pods) is None


def test_a_pod_that_cannot_be_placed_after_the_others_is_pinned_after_them() -> None:
    uneven = question(ALL, nodes=(*NODES[:2], node("a3", "a"), NODES[2]))
    report = find_missing(uneven, DaemonPods())

    first = pin_first(uneven, report, DaemonPods())

    assert [pod.node for pod in report.missing if pod.reason_after] == ["a3"]
    assert first is not None
    assert not first.placement().passing


def test_the_failure_of_a_pinned_pod_names_all_nodes() -> None:
    nodes = [replace(node("n1", "a"), unschedulable=True), node("n2", "b")]
    cluster = scenario(nodes)

    assert describe_pinned(pin(cluster, nodes[0]), nodes) == (
        "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], "
        "1 node(s) were unschedulable."
    )
    assert describe_pinned(None, nodes) == ""


RACK = replace(ALL, topology_key="example.com/rack")


def test_a_pending_pod_is_judged_by_its_own_constraints() -> None:
    own, new = question(RACK), question()
    pods = DaemonPods({"a1": "p"}, {"a2": WaitingPod("q", "Pending", own)})

    report = find_missing(new, pods)

    lacking = "node(s) lack a topology key example.com/rack"
    assert [(pod.node, pod.reason) for pod in report.missing] == [("a2", lacking), ("b1", "")]
    first = pin_first(new, report, pods)
    assert first is not None
    assert first.spreads == own.spreads
    rollout, _, after = roll_out_daemons(new, [], pods)
    assert (rollout.pending, list(rollout.placed)) == (1, ["b1"])
    assert find_missing(new, after).missing == report.missing[:1]


def test_a_pending_pod_counts_those_that_are_placed_before_it() -> None:
    own = replace(question(ALL), pod=replace(question(ALL).pod, demands=IN_A))
    waiting = {name: WaitingPod(name, "Pending", own) for name in ("a1", "a2")}

    report = find_missing(question(), DaemonPods({"b1": "p"}, waiting))

    assert [(pod.node, pod.reason, pod.reason_after) for pod in report.missing] == [
        ("a1", "", ""), ("a2", "", "zone: skew 2 > maxSkew 1")
    ]  # fmt: skip


def test_the_controller_chooses_nodes_by_the_template_without_its_runtime_class() -> None:
    kata = (node("k1", "a", pool="kata"), node("k2", "b", pool="kata", taints=[GPU]))
    tolerating = replace(
        DEMANDS, tolerations=(*(DEMANDS.tolerations or ()), Toleration("gpu", "Exists"))
    )
    required = replace(tolerating, pairs=(("pool", "kata"),))
    of_class = scenario((*NODES, *kata), demands=required)
    existing = DaemonPods({"k1": "p"}, template_demands=DEMANDS)

    report = find_missing(of_class, existing)
    rollout, _, pods = roll_out_daemons(of_class, [], existing)

    mismatch = "node(s) didn't match Pod's node affinity/selector"
    reasons = {pod.node: pod.reason for pod in report.missing}
    assert reasons == dict.fromkeys(("a1", "a2", "b1"), mismatch)
    assert (report.desired, report.running, report.unneeded) == (4, 1, ())
    assert (rollout.pending, pods.template_demands) == (3, DEMANDS)


def test_a_what_if_counts_new_pods_beside_old_ones() -> None:
    own = question(spread_over(HOSTNAME, min_domains=2), pods=["a1"])
    for situation, pending in ((own, 1), (question(), 0)):
        waiting = {"a1": WaitingPod("q", "Pending", situation)}

        rollout, _, _ = roll_out_daemons(own, [], DaemonPods({"a1": "p"}, waiting))

        assert rollout.pending == pending
