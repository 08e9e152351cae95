from collections.abc import Sequence

import pytest

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.scenario import Scenario, ScenarioEdit
from webhook.explain.softening import DropConstraint, Soften, soften
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, Constraint

SOFT_ZONE = spread_over(max_skew=2, when_unsatisfiable=SCHEDULE_ANYWAY)
SCENARIO = scenario(
    [node("n1", "a")],
    spread_over(min_domains=3),
    spread_over(HOSTNAME),
    spread_over("rack", when_unsatisfiable=SCHEDULE_ANYWAY),
)


def indexes(question: Scenario) -> tuple[list[int], list[int]]:
    """List the indexes of the hard constraints, and of the soft ones."""
    spreads = question.spreads
    return [one.index for one in spreads.hard], [one.index for one in spreads.soft]


def test_a_softened_constraint_stands_in_its_order_without_min_domains() -> None:
    edit = Soften(0, ZONE)

    softened = edit.apply(SCENARIO)

    assert str(edit) == "make constraint 0 (zone) ScheduleAnyway"
    assert indexes(softened) == ([1], [0, 2])
    assert indexes(SCENARIO) == ([0, 1], [2])
    wish = softened.spreads.soft[0]
    assert (wish.min_domains, wish.constraint.min_domains) == (1, None)
    assert wish.constraint.when_unsatisfiable == SCHEDULE_ANYWAY


def test_a_constraint_is_removed_and_the_others_keep_their_indexes() -> None:
    beside = scenario([node("n1", "a")], SOFT_ZONE, spread_over(), spread_over(HOSTNAME))
    edit = DropConstraint(1, ZONE, 0)

    assert str(edit) == "remove constraint 1 (zone); constraint 0 is its ScheduleAnyway"
    assert indexes(edit.apply(beside)) == ([2], [0])
    assert edit.changes_pod(beside)
    assert not edit.changes_pod(scenario((), SOFT_ZONE))  # pods of another revision


# constraints, what is tried
SOFTENINGS: dict[str, tuple[list[Constraint], list[list[ScenarioEdit]]]] = {
    "a hard constraint becomes a wish": ([spread_over()], [[Soften(0, ZONE)]]),
    "a wish stays": ([SOFT_ZONE], []),
    "a wish over another key is none over this one": (
        [spread_over(HOSTNAME), SOFT_ZONE], [[Soften(0, HOSTNAME)]]
    ),
    "beside a wish over its key, a hard constraint is removed": (
        [spread_over(), SOFT_ZONE], [[DropConstraint(0, ZONE, 1)]]
    ),
    "one, then all": (
        [SOFT_ZONE, spread_over(HOSTNAME), spread_over()],
        [
            [Soften(1, HOSTNAME)],
            [DropConstraint(2, ZONE, 0)],
            [Soften(1, HOSTNAME), DropConstraint(2, ZONE, 0)],
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("constraints", "expected"), SOFTENINGS.values(), ids=SOFTENINGS.keys())
def test_what_is_tried(
    constraints: Sequence[Constraint], expected: list[list[ScenarioEdit]]
) -> None:
    question = scenario([node("n1", "a")], *constraints)

    assert [[*edits] for edits in soften(question, question.placement())] == expected
