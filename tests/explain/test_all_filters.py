"""The smallest changes over all filters together: each is verified against all of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policy.placement.clusters import gates
from tests.policy.placement.filters.objects import (
    Json,
    anti_affinity,
    cluster,
    container,
    node_object,
    pod_affinity,
    pod_object,
    term,
)
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.pods import read_pod
from webhook.explain.changes import find_changes
from webhook.explain.explanation import explain
from webhook.explain.newpods import place_pods
from webhook.explain.scenario import Scenario, apply_all
from webhook.policy.api.versions import Version
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.filters.failure import describe_failure
from webhook.policy.placement.filters.run import filter_nodes
from webhook.policy.placement.spreads import resolve_constraints

WEB = {"app": "web"}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": WEB},
}


def scenario(nodes: Sequence[Json], pods: Sequence[Json] = (), **spec: Any) -> Scenario:
    """Make that of a pod with this specification."""
    written = msgspec.convert(pod_object("web-9", labels=WEB, **spec), ApiPod)
    spreads = resolve_constraints(written.constraints, written.labels, gates())
    return Scenario(read_pod(written, Version(1, 36)), spreads, cluster(nodes, pods))


def node(name: str, zone: str, cpu: str = "4", pods: str = "10") -> Json:
    return node_object(name, {"cpu": cpu, "pods": pods}, {ZONE: zone})


def running(name: str, at: str, cpu: str = "1", **spec: Any) -> Json:
    return pod_object(name, labels=WEB, nodeName=at, containers=[container({"cpu": cpu})], **spec)


def cpu(amount: str, **members: Any) -> Mapping[str, Any]:
    return {"containers": [container({"cpu": amount}, **members)]}


def taking(name: str, at: str, spec: Mapping[str, Any]) -> Json:
    return pod_object(name, labels=WEB, nodeName=at, **spec)


PORT_80 = [{"hostPort": 80}]
TWO = (node("n1", "a"), node("n2", "b"))

# the scenario, kube-scheduler's sentence, the changes
FAILURES: dict[str, tuple[Scenario, str, list[str]]] = {
    "too large for what is left": (
        scenario(TWO, [running("x", "n1", "2"), running("y", "n2", "3")], **cpu("3")),
        "0/2 nodes are available: 2 Insufficient cpu.",
        ["lower the request for cpu from 3 to 2", "add 1 node"],
    ),
    "too large for any node": (
        scenario(TWO, **cpu("5")),
        "0/2 nodes are available: 2 Insufficient cpu.",
        ["lower the request for cpu from 5 to 4"],
    ),
    "no room for any pod": (
        scenario([node("n1", "a", pods="1")], [running("x", "n1")]),
        "0/1 nodes are available: 1 Too many pods.",
        ["add 1 node"],
    ),
    "a host port": (
        scenario(
            [node("n1", "a")],
            [taking("x", "n1", cpu("1", ports=PORT_80))],
            **cpu("1", ports=[{"hostPort": 80}, {"hostPort": 81}]),
        ),
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
        ["take host port 80/TCP out of the pod", "add 1 node"],
    ),
    "pods that it avoids": (
        scenario(TWO[:1], [running("x", "n1")], affinity=anti_affinity(term(ZONE, app="web"))),
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
        ["take the required podAntiAffinity out of the pod", "add 1 node with zone=new-zone-1"],
    ),
    "pods that it looks for": (
        scenario(TWO[:1], affinity=pod_affinity(term(ZONE, app="db"))),
        "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
        ["take the required podAffinity out of the pod"],
    ),
    "pods that avoid it": (
        scenario(
            TWO[:1], [running("x", "n1", affinity=anti_affinity(term(HOSTNAME, app="web")))]
        ),
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
        ["add 1 node"],
    ),
    "a constraint and resources": (
        scenario(
            TWO, [running("x", "n1"), running("y", "n2", "4") | {"metadata": {"name": "y"}}],
            **cpu("1"), topologySpreadConstraints=[SPREAD],
        ),
        (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology "
            "spread constraints."
        ),
        [
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            "add 1 node with zone=b",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "a volume that does not exist": (
        scenario(TWO, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]),
        '0/2 nodes are available: persistentvolumeclaim "d" not found.',
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("failed", "sentence", "changes"), FAILURES.values(), ids=FAILURES)
def test_the_sentence_and_the_changes(failed: Scenario, sentence: str, changes: list[str]) -> None:
    explained = explain(failed, "Pod shop/web-9")

    assert explained.failed_scheduling == sentence
    assert [change.sentence for change in explained.changes] == changes


def test_one_node_needs_several_kinds_of_changes() -> None:
    """The only node is too small, has the port, and its zone is full and avoided."""
    avoided = anti_affinity(term(HOSTNAME, app="web"))
    taken = taking("x", "n1", cpu("3", ports=PORT_80))
    failed = scenario(
        [node("n1", "a") | {"spec": {"unschedulable": True}}], [taken],
        **cpu("9", ports=[{"hostPort": 80}]), affinity=avoided,
        topologySpreadConstraints=[{**SPREAD, "minDomains": 2}],
    )  # fmt: skip

    (change,) = find_changes(failed, failed.placement())

    assert change.sentence == (
        "uncordon node n1, and take host port 80/TCP out of the pod, and lower the request for "
        "cpu from 9 to 1, and take the required podAntiAffinity out of the pod, and raise maxSkew "
        "of constraint 0 (zone) from 1 to 2"
    )


def test_replicas_are_placed_until_the_resources_are_used_up() -> None:
    question = scenario(TWO, [running("x", "n1", "2")], **cpu("1500m"))

    found = place_pods(question, 9)

    assert dict(found.placed) == {"n1": 1, "n2": 2}
    assert describe_failure(found.end.placement().result) == (
        "0/2 nodes are available: 2 Insufficient cpu."
    )
    assert question.cluster.placed.usage("n2").pods == 0


amounts = st.sampled_from(["0", "1", "2", "5"])


some_ports = st.lists(st.sampled_from([80, 81]), max_size=2, unique=True).map(
    lambda ports: [{"hostPort": port} for port in ports]
)
apps = st.sampled_from(["web", "db"])


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw a pod with requests, ports, affinity and a constraint, and a small cluster."""
    nodes = [
        node(f"n{number}", draw(st.sampled_from("ab")), draw(amounts), draw(st.sampled_from("13")))
        for number in range(draw(st.integers(1, 4)))
    ]
    found = term(draw(st.sampled_from([ZONE, HOSTNAME])), app=draw(apps))
    pods = [
        pod_object(
            f"p{number}",
            labels={"app": draw(apps)},
            nodeName=f"n{draw(st.integers(0, len(nodes) - 1))}",
            affinity=draw(st.sampled_from([{}, {}, anti_affinity(found)])),
            **cpu(draw(amounts), ports=draw(some_ports)),
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    return scenario(
        nodes,
        pods,
        affinity=draw(st.sampled_from([{}, anti_affinity(found), pod_affinity(found)])),
        topologySpreadConstraints=draw(st.sampled_from([[], [SPREAD]])),
        **cpu(draw(amounts), ports=draw(some_ports)),
    )


@settings(max_examples=200)
@given(scenarios())
def test_the_result_is_that_of_the_filters_in_their_order(question: Scenario) -> None:
    expected = filter_nodes(question.pod, question.spreads.hard, question.cluster)

    assert question.placement().result == expected


@settings(max_examples=200)
@given(scenarios().filter(lambda question: not question.placement().passing))
def test_every_change_lets_all_filters_pass_and_has_no_unnecessary_part(question: Scenario) -> None:
    for change in find_changes(question, question.placement()):
        changed = apply_all(change.edits, question)
        result = filter_nodes(changed.pod, changed.spreads.hard, changed.cluster)
        assert result.passing == change.nodes
        assert result.passing
        for edit in change.edits:
            fewer = apply_all((other for other in change.edits if other is not edit), question)
            assert not fewer.placement().passing
