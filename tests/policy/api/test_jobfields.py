"""Numbers and completion modes of Jobs that kube-apiserver refuses, in its words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.api.fieldcases import ACCEPTED_JOBS, INDEXED, JOBS, Json, RefusedSpec
from webhook.policy.api.jobfields import check_job
from webhook.policy.model import GroupKind

OTHERS: dict[str, tuple[Json, str, str]] = {
    "a number in quotes": (
        {**INDEXED, "parallelism": "3"}, "spec.parallelism",
        'the string "3" is no int32: write 3, without quotes',
    ),
    "a negative backoff": (
        {**INDEXED, "completions": 3, "backoffLimitPerIndex": -2}, "spec.backoffLimitPerIndex",
        "Invalid value: -2: must be greater than or equal to 0: write 0 or more",
    ),
    "a mode that is no string": (
        {"completionMode": ["Indexed"]}, "spec.completionMode",
        "an array is no string: write NonIndexed or Indexed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", JOBS.values(), ids=JOBS.keys())
def test_what_is_refused(case: RefusedSpec) -> None:
    assert list(check_job(case.spec, "spec")) == case.errors


@pytest.mark.parametrize(("spec", "field", "message"), OTHERS.values(), ids=OTHERS.keys())
def test_a_wrong_type(spec: Json, field: str, message: str) -> None:
    assert list(check_job(spec, "spec")) == [(field, message)]


@pytest.mark.parametrize(("_kind", "spec"), ACCEPTED_JOBS.values(), ids=ACCEPTED_JOBS.keys())
def test_what_is_accepted(_kind: GroupKind, spec: Json) -> None:
    assert list(check_job(spec, "spec")) == []


def test_errors_of_a_cron_job_have_its_path() -> None:
    (error,) = check_job({"parallelism": -1}, "spec.jobTemplate.spec")

    assert error.field == "spec.jobTemplate.spec.parallelism"


@given(
    st.none() | st.lists(st.none()) | st.dictionaries(
        st.sampled_from(["parallelism", "completions", "completionMode", "backoffLimitPerIndex"]),
        st.none() | st.booleans() | st.integers() | st.text() | st.just("Indexed"),
    )
)  # fmt: skip
def test_any_value_can_be_read(value: Any) -> None:
    list(check_job(value, "spec"))
