"""The smallest changes over all filters together: each is verified against all of them."""

import pytest
from hypothesis import given

from tests.explain.filterscenarios import (
    PORT_80,
    SPREAD,
    TWO,
    cpu,
    filter_scenario,
    filter_scenarios,
    node,
    running,
    storage_scenario,
    taking,
)
from tests.policy.placement.filters.objects import (
    anti_affinity,
    pod_affinity,
    term,
)
from tests.policy.placement.filters.volumes import in_zones, volume_object
from webhook.explain.changes import find_changes
from webhook.explain.explanation import explain
from webhook.explain.newpods import place_pods
from webhook.explain.scenario import Scenario, apply_all
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.filters.failure import describe_failure
from webhook.policy.placement.filters.run import filter_nodes

# the scenario, kube-scheduler's sentence, the changes
FAILURES: dict[str, tuple[Scenario, str, list[str]]] = {
    "too large for what is left": (
        filter_scenario(TWO, [running("x", "n1", "2"), running("y", "n2", "3")], **cpu("3")),
        "0/2 nodes are available: 2 Insufficient cpu.",
        ["lower the request of the whole pod for cpu from 3 to 2", "add 1 node like n1"],
    ),
    "too large for any node": (
        filter_scenario(TWO, **cpu("5")),
        "0/2 nodes are available: 2 Insufficient cpu.",
        ["lower the request of the whole pod for cpu from 5 to 4"],
    ),
    "too large for any node but a full one": (
        filter_scenario([*TWO, node("n3", "c", "8")], [running("x", "n3", "8")], **cpu("5")),
        "0/3 nodes are available: 3 Insufficient cpu.",
        ["lower the request of the whole pod for cpu from 5 to 4", "add 1 node like n3"],
    ),
    "no room for any pod": (
        filter_scenario([node("n1", "a", pods="1")], [running("x", "n1")]),
        "0/1 nodes are available: 1 Too many pods.",
        ["add 1 node like n1"],
    ),
    "a host port": (
        filter_scenario(
            [node("n1", "a")],
            [taking("x", "n1", cpu("1", ports=PORT_80))],
            **cpu("1", ports=[{"hostPort": 80}, {"hostPort": 81}]),
        ),
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
        ["take host port 80/TCP out of the pod", "add 1 node like n1"],
    ),
    "pods that it avoids": (
        filter_scenario(
            TWO[:1], [running("x", "n1")], affinity=anti_affinity(term(ZONE, app="web"))
        ),
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
        [
            "take the required podAntiAffinity out of the pod",
            "add 1 node like n1 with zone=new-zone-1",
        ],
    ),
    "pods that it looks for": (
        filter_scenario(TWO[:1], affinity=pod_affinity(term(ZONE, app="db"))),
        "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
        ["take the required podAffinity out of the pod"],
    ),
    "pods that avoid it": (
        filter_scenario(
            TWO[:1], [running("x", "n1", affinity=anti_affinity(term(HOSTNAME, app="web")))]
        ),
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
        ["add 1 node like n1"],
    ),
    "a constraint and resources": (
        filter_scenario(
            TWO, [running("x", "n1"), running("y", "n2", "4") | {"metadata": {"name": "y"}}],
            **cpu("1"), topologySpreadConstraints=[SPREAD],
        ),
        (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology "
            "spread constraints."
        ),
        [
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            "add 1 node like n1 with zone=b",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "a volume in a zone without nodes": (
        storage_scenario(TWO, volume_object(**in_zones("c", key=ZONE))),
        "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.",
        ["add 1 node like n1 with zone=c"],
    ),
    "a volume that does not exist": (
        filter_scenario(TWO, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]),
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
    failed = filter_scenario(
        [node("n1", "a") | {"spec": {"unschedulable": True}}], [taken],
        **cpu("9", ports=[{"hostPort": 80}]), affinity=avoided,
        topologySpreadConstraints=[{**SPREAD, "minDomains": 2}],
    )  # fmt: skip

    (change,) = find_changes(failed, failed.placement())

    assert change.sentence == (
        "uncordon node n1, and take host port 80/TCP out of the pod, and lower the request of "
        "the whole pod for cpu from 9 to 1, and take the required podAntiAffinity out of the pod, "
        "and raise maxSkew of constraint 0 (zone) from 1 to 2"
    )


def test_replicas_are_placed_until_the_resources_are_used_up() -> None:
    question = filter_scenario(TWO, [running("x", "n1", "2")], **cpu("1500m"))

    found = place_pods(question, 9)

    assert dict(found.placed) == {"n1": 1, "n2": 2}
    assert describe_failure(found.end.placement().result) == (
        "0/2 nodes are available: 2 Insufficient cpu."
    )
    assert question.cluster.placed.usage("n2").pods == 0


@given(filter_scenarios())
def test_the_result_is_that_of_the_filters_in_their_order(question: Scenario) -> None:
    expected = filter_nodes(question.pod, question.spreads.hard, question.cluster)

    assert question.placement().result == expected


@given(filter_scenarios().filter(lambda question: not question.placement().passing))
def test_every_change_lets_all_filters_pass_and_has_no_unnecessary_part(question: Scenario) -> None:
    for change in find_changes(question, question.placement()):
        changed = apply_all(change.edits, question)
        result = filter_nodes(changed.pod, changed.spreads.hard, changed.cluster)
        assert result.passing == change.nodes
        assert result.passing
        for edit in change.edits:
            fewer = apply_all((other for other in change.edits if other is not edit), question)
            assert not fewer.placement().passing
