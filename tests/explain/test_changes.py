from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from tests.explain.scenarios import blocked, scenario, scenarios
from tests.policy.placement.clusters import GPU, gates, node, reject_others, spread_over
from webhook.explain.changes import find_changes
from webhook.explain.scenario import (
    HonorPolicy,
    LowerMinDomains,
    RaiseMaxSkew,
    Scenario,
    ScenarioEdit,
    apply_all,
)
from webhook.explain.softening import DropConstraint, Soften
from webhook.policy.model import HONOR, HOSTNAME, IGNORE, SCHEDULE_ANYWAY, ZONE
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.place import place_pod, tally_constraints
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.placement.topology import Topology

CORDONED = replace(node("n3", "c"), unschedulable=True)
ZONES = (node("n1", "a"), node("n2", "b"))

# scenario, sentences
CHANGES: dict[str, tuple[Scenario, list[str]]] = {
    "a pod that can be placed": (scenario(ZONES, spread_over()), []),
    "a zone that is cordoned": (
        scenario([*ZONES, CORDONED], spread_over(), pods={"n1": 2, "n2": 1}),
        [
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            "uncordon node n3",
            "add 1 node with zone=c",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "a third domain is required": (
        scenario(ZONES, spread_over(min_domains=3), pods={"n1": 1, "n2": 2}),
        [
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            "drop minDomains of constraint 0 (zone) from 3 to 2",
            "add 1 node with zone=new-zone-1",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "the only free zone is tainted": (
        scenario([node("n1", "a"), node("n2", "b", taints=[GPU])], spread_over(), pods={"n1": 1}),
        [
            "set nodeTaintsPolicy of constraint 0 (zone) to Honor",
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            "tolerate taint gpu:NoSchedule",
            "add 1 node with zone=b",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "zones that the node selector closes count": (
        scenario(
            ZONES,
            spread_over(node_affinity_policy=IGNORE),
            pods={"n1": 1},
            demands=Demands(pairs=((ZONE, "a"),)),
        ),
        [
            "set nodeAffinityPolicy of constraint 0 (zone) to Honor",
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            f"take {ZONE}=a out of nodeSelector",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "a zone is closed by both": (
        scenario(
            [*ZONES, node("n3", "c", taints=[GPU])],
            spread_over(node_affinity_policy=IGNORE),
            pods={"n1": 1},
            demands=Demands(pairs=((HOSTNAME, "n1"),)),
        ),
        [
            "set nodeAffinityPolicy of constraint 0 (zone) to Honor",
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            f"take {HOSTNAME}=n1 out of nodeSelector",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "before Kubernetes knew node policies": (
        replace(
            scenario(
                [node("n1", "a"), node("n2", "b", taints=[GPU])], spread_over(), pods={"n1": 1}
            ),
            node_policies=False,
        ),
        [
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            "tolerate taint gpu:NoSchedule",
            "add 1 node with zone=b",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "no node has the key": (
        scenario([node("n1"), node("n2")], spread_over()),
        [
            "label node n1 with zone=new-zone-1",
            "add 1 node with zone=new-zone-1",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "the pod requires what no node has": (
        scenario(ZONES, demands=Demands(pairs=(("disk", "ssd"),))),
        ["take disk=ssd out of nodeSelector", "add 1 node with disk=ssd"],
    ),
    "two constraints leave no node": (
        scenario(
            [node("n1", "a", rack="r"), node("n2", "b", rack="s"), node("n3", "b", rack="r")],
            spread_over(),
            spread_over("rack"),
            pods={"n1": 1, "n2": 1, "n3": 1},
        ),
        [
            "raise maxSkew of constraint 1 (rack) from 1 to 2",
            "raise maxSkew of constraint 0 (zone) from 1 to 2",
            "add 1 node with zone=a, rack=s",
            "make constraint 0 (zone) ScheduleAnyway",
            "make constraint 1 (rack) ScheduleAnyway",
        ],
    ),
    "only the smallest maxSkew of a constraint": (
        scenario(
            [
                node("n1", "a", rack="r"),
                node("n2", "b", rack="s"),
                replace(node("n3", "a", rack="t"), unschedulable=True),
            ],
            spread_over(),
            spread_over("rack"),
            pods={"n1": 1, "n2": 2},
        ),
        [
            "raise maxSkew of constraint 1 (rack) from 1 to 2",
            "uncordon node n3",
            "add 1 node with zone=a, rack=t",
            "make constraint 1 (rack) ScheduleAnyway",
        ],
    ),
    "two nodes need different values": (
        scenario(
            [node("n1"), node("n2")], spread_over(min_domains=2), pods={"n1": 1, "n2": 1}
        ),
        [
            (
                "label node n1 with zone=new-zone-1, and label node n2 with zone=new-zone-2"
            ),
            "add 1 node with zone=new-zone-1",
            "make constraint 0 (zone) ScheduleAnyway",
        ],
    ),
    "there is no node": (scenario((), spread_over()), ["add 1 node with zone=new-zone-1"]),
}  # fmt: skip


@pytest.mark.parametrize(("question", "sentences"), CHANGES.values(), ids=CHANGES.keys())
def test_changes(question: Scenario, sentences: list[str]) -> None:
    found = find_changes(question, question.placement())

    assert [change.sentence for change in found] == sentences


def test_changes_that_only_help_together_are_combined() -> None:
    """One node, tainted and in a full zone, without room for another."""
    crowded = scenario(
        [replace(node("n1", "a", taints=[GPU]), unschedulable=True)],
        spread_over(min_domains=2),
        pods={"n1": 1},
        demands=Demands(terms=()),
    )

    (change,) = find_changes(crowded, crowded.placement())

    assert change.sentence == (
        "uncordon node n1, and tolerate taint gpu:NoSchedule, and take the required node affinity "
        "out of the pod, and raise maxSkew of constraint 0 (zone) from 1 to 2"
    )


def passing(question: Scenario) -> tuple[str, ...]:
    """Place anew, with nothing of what was remembered."""
    topology = Topology(question.topology.nodes)
    measured = tally_constraints(question.pod, question.spreads, topology, question.census.copy())
    return place_pod(measured, topology, reject_others(topology, question.pod.demands)).passing


def written(edits: Sequence[ScenarioEdit], question: Scenario) -> Scenario:
    """Do it as an author would: change what is written, and have it resolved again."""
    spreads = sorted(
        (*question.spreads.hard, *question.spreads.soft), key=lambda entry: entry.index
    )
    constraints = [spread.constraint for spread in spreads]
    others: list[ScenarioEdit] = []
    dropped: set[int] = set()
    for edit in edits:
        match edit:
            case RaiseMaxSkew(index=index, after=after):
                constraints[index] = replace(constraints[index], max_skew=after)
            case LowerMinDomains(index=index, after=after):
                constraints[index] = replace(constraints[index], min_domains=after)
            case HonorPolicy(index=index, policy="nodeTaintsPolicy"):
                constraints[index] = replace(constraints[index], node_taints_policy=HONOR)
            case HonorPolicy(index=index):
                constraints[index] = replace(constraints[index], node_affinity_policy=HONOR)
            case DropConstraint(index=index):
                dropped.add(index)
            case Soften(index=index):
                wish = replace(
                    constraints[index], when_unsatisfiable=SCHEDULE_ANYWAY, min_domains=None
                )
                constraints[index] = wish
            case other:
                others.append(other)
    kept = tuple(one for index, one in enumerate(constraints) if index not in dropped)
    spreads_again = resolve_constraints(kept, question.pod.labels, gates())
    return apply_all(others, replace(question, spreads=spreads_again))


@settings(max_examples=60)
@given(blocked)
def test_every_change_lets_the_pod_be_placed(question: Scenario) -> None:
    changes = find_changes(question, question.placement())

    assert changes
    for change in changes:
        assert passing(written(change.edits, question)) == change.nodes != ()


@settings(max_examples=60)
@given(blocked)
def test_no_part_of_a_change_can_be_left_out(question: Scenario) -> None:
    for change in find_changes(question, question.placement()):
        for edit in change.edits:
            fewer = [entry for entry in change.edits if entry is not edit]
            assert not passing(apply_all(fewer, question)), f"{edit} of {change.sentence}"


@settings(max_examples=60)
@given(blocked)
def test_no_number_of_a_change_could_be_nearer(question: Scenario) -> None:
    for change in find_changes(question, question.placement()):
        for place_of, edit in enumerate(change.edits):
            match edit:
                case RaiseMaxSkew(after=after):
                    nearer: ScenarioEdit = replace(edit, after=after - 1)
                case LowerMinDomains(after=after):
                    nearer = replace(edit, after=after + 1)
                case _:
                    continue
            edits = [*change.edits[:place_of], nearer, *change.edits[place_of + 1 :]]
            assert not passing(apply_all(edits, question))


@settings(max_examples=60)
@given(blocked)
def test_no_change_contains_a_smaller_one(question: Scenario) -> None:
    changes = [change.edits for change in find_changes(question, question.placement())]
    for edits in changes:
        raised = {one.index: one.after for one in edits if isinstance(one, RaiseMaxSkew)}
        others = [one for one in edits if not isinstance(one, RaiseMaxSkew)]
        smaller = [
            known
            for known in changes
            if known is not edits
            and all(
                one.after <= raised.get(one.index, 0)
                if isinstance(one, RaiseMaxSkew)
                else one in others
                for one in known
            )
        ]
        assert not smaller


@given(scenarios())
def test_a_pod_that_can_be_placed_needs_no_change(question: Scenario) -> None:
    placement = question.placement()

    assert bool(find_changes(question, placement)) is not bool(placement.passing)


def test_a_hostname_is_no_label_to_give() -> None:
    full = scenario([node("n1")], spread_over(HOSTNAME, min_domains=2), pods={"n1": 1})

    sentences = [str(change.sentence) for change in find_changes(full, full.placement())]

    assert "add 1 node" in sentences


@pytest.mark.parametrize(("key", "number"), [("rack", 2), ("a/b/rack", 0), ("my rack", 0)])
def test_no_node_is_given_a_label_that_kube_apiserver_refuses(key: str, number: int) -> None:
    found = scenario([node("n1")], spread_over(key))

    sentences = [change.sentence for change in find_changes(found, found.placement())]

    named = [text for text in sentences if text.startswith(("label node", "add "))]
    assert len(named) == number
