"""Suggestions beside a constraint that they would repeat."""

import pytest

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    deployed,
)
from webhook.policy.advice.repeats import describe_repeated, find_actions, suggest_soft
from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME, SCHEDULE_ANYWAY, ZONE

SOFT: Json = spread(maxSkew=3, whenUnsatisfiable=SCHEDULE_ANYWAY)
SOFT_NODES: Json = spread(topologyKey=HOSTNAME, whenUnsatisfiable=SCHEDULE_ANYWAY)
WRITTEN = "whenUnsatisfiable: ScheduleAnyway"
REMOVED = (
    f'# remove this constraint: topologySpreadConstraints[1] already spreads softly over "{ZONE}"'
)
UNCLEAR = f"correct whenUnsatisfiable first: topologySpreadConstraints[1] has topologyKey: {ZONE}"

# constraints, what makes the first one soft
SOFTENED: dict[str, tuple[list[Json], str]] = {
    "a hard constraint": ([spread()], WRITTEN),
    "a soft constraint must not have minDomains": (
        [spread(minDomains=1)], f"{WRITTEN}\nminDomains: null"
    ),
    "beside a soft one over another key": ([spread(), SOFT_NODES], WRITTEN),
    "beside a soft one over the same key": ([spread(), SOFT], REMOVED),
    "with minDomains": ([spread(minDomains=3), SOFT], REMOVED),
    "beside one that may be soft": ([spread(), spread(whenUnsatisfiable="Soft")], f"# {UNCLEAR}"),
    "a soft one beyond those that are advised on": (
        [spread(), *(spread(topologyKey=f"rack-{i}") for i in range(31)), SOFT],
        REMOVED.replace("[1]", "[32]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("constraints", "expected"), SOFTENED.values(), ids=SOFTENED.keys())
def test_what_makes_a_constraint_soft(constraints: list[Json], expected: str) -> None:
    subject = deployed(*constraints)

    assert suggest_soft(subject.constraints[0], subject) == expected


# key, action, what is in the way
REPEATED = {
    "the action of another entry": (
        ZONE, SCHEDULE_ANYWAY, "remove this entry: it repeats topologySpreadConstraints[1]"
    ),
    "another action": (HOSTNAME, DO_NOT_SCHEDULE, ""),
    "another key": ("rack", SCHEDULE_ANYWAY, ""),
    "an action that may be the same": (ZONE, "Maybe", UNCLEAR),
}  # fmt: skip


@pytest.mark.parametrize(("key", "action", "expected"), REPEATED.values(), ids=REPEATED.keys())
def test_what_an_entry_would_repeat(key: str, action: str, expected: str) -> None:
    assert describe_repeated(key, action, deployed(SOFT_NODES, SOFT)) == expected


def test_actions_keep_the_indexes_of_their_constraints() -> None:
    constraints = deployed(SOFT_NODES, spread(), SOFT).constraints

    assert find_actions(ZONE, enumerate(constraints)) == {DO_NOT_SCHEDULE: 1, SCHEDULE_ANYWAY: 2}
    assert find_actions("rack", enumerate(constraints)) == {}
