"""The state of a check is its worst finding."""

import pytest

from webhook.doctor.findings import CheckResult, CheckState, DoctorFinding

PROBLEM = DoctorFinding("a", "b")
NOTE = DoctorFinding("a", "b", CheckState.NOTE)


@pytest.mark.parametrize(
    ("findings", "unreadable", "state"),
    [
        ((), (), CheckState.OK),
        ((NOTE,), (), CheckState.NOTE),
        ((NOTE,), ("needs a right",), CheckState.UNKNOWN),
        ((NOTE, PROBLEM), ("needs a right",), CheckState.PROBLEM),
    ],
)
def test_a_problem_is_worse_than_the_unknown_and_that_than_a_note(
    findings: tuple[DoctorFinding, ...], unreadable: tuple[str, ...], state: CheckState
) -> None:
    assert CheckResult("id", "title", findings, unreadable).state is state
