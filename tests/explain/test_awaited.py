import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.explain.scenarios import blocked, scenario
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.explain.awaited import MOST_PLACEMENTS, judge_for_all, note_untried
from webhook.explain.changes import find_changes
from webhook.explain.newpods import NewPod, PodSuccession, place_pods
from webhook.explain.scenario import Scenario, apply_all
from webhook.policy.model import HOSTNAME, LabelSelector, Taint

SPOT = Taint(key="spot", effect="NoSchedule")
TAINTED = node("cp", "a", taints=[GPU])
NODES = [node("a1", "a"), node("b1", "b"), node("b2", "b"), node("b3", "b"), TAINTED]
DEADLOCK = scenario(
    NODES,
    spread_over(),
    spread_over(HOSTNAME, node_taints_policy="Honor"),
    pods={"a1": 1, "b1": 1, "b2": 1},
)


def judged(question: Scenario, replicas: int) -> list[tuple[str, int | None]]:
    changes = find_changes(question, question.placement())
    return [
        (change.sentence, change.placed) for change in judge_for_all(changes, question, replicas)
    ]


def test_changes_that_place_all_replicas_come_first() -> None:
    """With maxSkew 2 of hostname, two pods on b1 and none on b3 leave the last one Pending."""
    assert judged(DEADLOCK, 3) == [
        ("raise maxSkew of constraint 1 (hostname) from 1 to 3", 3),
        ("raise maxSkew of constraint 0 (zone) from 1 to 2", 3),
        ("tolerate taint gpu:NoSchedule", 3),
        ("add 1 node with zone=a", 3),
        ("make constraint 0 (zone) ScheduleAnyway", 3),
        ("make constraint 1 (hostname) ScheduleAnyway", 3),
    ]


FULL = scenario([node("n1", "a"), node("n2", "b", taints=[GPU])], spread_over(), pods={"n1": 1})


def test_a_max_skew_is_raised_until_it_places_all_replicas() -> None:
    assert judged(FULL, 3) == [
        ("set nodeTaintsPolicy of constraint 0 (zone) to Honor", 3),
        ("raise maxSkew of constraint 0 (zone) from 1 to 4", 3),
        ("tolerate taint gpu:NoSchedule", 3),
        ("add 1 node with zone=b", 3),
        ("make constraint 0 (zone) ScheduleAnyway", 3),
    ]


def test_several_are_raised_by_the_same_number_until_all_replicas_are_placed() -> None:
    """The third zone takes no pod, and counts."""
    nodes = [node("n1", "a"), node("n2", "b"), node("n3", "c", taints=[GPU])]
    question = scenario(nodes, spread_over(), spread_over(HOSTNAME), pods={"n1": 1, "n2": 1})

    both = "raise maxSkew of constraint 0 (zone) from 1 to {0}, and raise maxSkew of constraint 1 "
    assert (f"{both}(hostname) from 1 to {{0}}".format(4), 6) in judged(question, 6)


def test_a_max_skew_that_would_be_far_too_large_is_not_suggested() -> None:
    assert ("raise maxSkew of constraint 0 (zone) from 1 to 2", 1) in judged(FULL, 20)


def test_changes_that_place_some_replicas_come_last() -> None:
    closed = [node("n2", "b", taints=[GPU]), node("n3", "c", taints=[SPOT])]
    question = scenario([node("n1", "a"), *closed], spread_over(), pods={"n1": 1})

    assert judged(question, 3)[-3:] == [
        ("tolerate taint gpu:NoSchedule", 1),
        ("tolerate taint spot:NoSchedule", 1),
        ("add 1 node with zone=b", 1),
    ]


@pytest.mark.parametrize("replicas", [0, 1])
def test_the_next_pod_alone_is_placed_by_each_change(replicas: int) -> None:
    changes = find_changes(FULL, FULL.placement())

    assert judge_for_all(changes, FULL, replicas) == changes
    assert list(note_untried(changes)) == []


def test_too_many_replicas_are_not_tried_which_is_noted() -> None:
    changes = judge_for_all(find_changes(FULL, FULL.placement()), FULL, MOST_PLACEMENTS)

    assert {(change.placed, change.awaited) for change in changes} == {(None, MOST_PLACEMENTS)}
    (note,) = note_untried(changes)
    assert "for all 20000 replicas they are tried only up to 20000 nodes times" in note
    assert list(note_untried(())) == []


def test_the_pods_of_a_stateful_set_are_judged_by_their_own_constraints() -> None:
    """Pods of odd ordinals count only themselves, so that one on each node suffices."""

    def build(ordinal: int) -> NewPod:
        labels = {"odd": str(ordinal % 2)}
        spreads = scenario((), spread_over(label_selector=LabelSelector(labels))).spreads
        return NewPod(replace(FULL.pod, labels=labels), spreads)

    succession = PodSuccession(build, is_parallel=True)
    end, placed, awaiting = place_pods(FULL, 6, succession)
    changes = judge_for_all(find_changes(end, end.placement()), end, 4, awaiting)

    assert placed == {"n1": 2}
    assert [(change.sentence, change.placed) for change in changes] == [
        ("set nodeTaintsPolicy of constraint 0 (zone) to Honor", 4),
        ("raise maxSkew of constraint 0 (zone) from 1 to 3", 4),
        ("tolerate taint gpu:NoSchedule", 4),
        ("add 1 node with zone=b", 4),
        ("make constraint 0 (zone) ScheduleAnyway", 4),
    ]


@settings(max_examples=40)
@given(blocked, st.integers(2, 6))
def test_a_change_places_as_many_replicas_as_it_promises(question: Scenario, replicas: int) -> None:
    changes = find_changes(question, question.placement())

    for change in judge_for_all(changes, question, replicas):
        assert change.awaited == replicas
        assert change.nodes == apply_all(change.edits, question).placement().passing
        assert 1 <= (change.placed or 0) <= replicas
