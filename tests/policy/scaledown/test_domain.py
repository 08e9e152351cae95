"""The constraint whose domains a pod is ranked in."""

from dataclasses import dataclass

import pytest

from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME, SCHEDULE_ANYWAY, ZONE, Constraint
from webhook.policy.scaledown.domain import ranking_key

HARD_ZONE = Constraint(1, ZONE, DO_NOT_SCHEDULE)
HARD_RACK = Constraint(1, "rack", DO_NOT_SCHEDULE)
HARD_HOST = Constraint(1, HOSTNAME, DO_NOT_SCHEDULE)
SOFT_ZONE = Constraint(1, ZONE, SCHEDULE_ANYWAY)
SOFT_HOST = Constraint(1, HOSTNAME, SCHEDULE_ANYWAY)


@pytest.mark.parametrize(
    ("constraints", "key"),
    [
        ((), ""),
        ((HARD_ZONE,), ZONE),
        ((HARD_HOST, SOFT_ZONE, HARD_RACK, HARD_ZONE), "rack"),
        ((SOFT_ZONE, HARD_HOST), HOSTNAME),
        ((SOFT_HOST, SOFT_ZONE), HOSTNAME),
        ((SOFT_ZONE, SOFT_HOST), ZONE),
    ],
)
def test_a_hard_constraint_on_other_keys_than_the_hostname_comes_first(
    constraints: tuple[Constraint, ...], key: str
) -> None:
    assert ranking_key(constraints) == key


def test_only_two_fields_of_a_constraint_are_read() -> None:
    @dataclass(frozen=True)
    class Term:
        topology_key: str
        when_unsatisfiable: str

    assert ranking_key([Term(HOSTNAME, DO_NOT_SCHEDULE), Term("rack", DO_NOT_SCHEDULE)]) == "rack"
