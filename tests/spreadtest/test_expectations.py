from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.spreadtest.expectations import VIEWS, compare
from webhook.spreadtest.response import CaseResponse, CaseVerdict
from webhook.spreadtest.results import Mismatch

SPREAD = {"maxSkew": 1, "topologyKey": "zone"}

scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b", "ab"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def answered(**members: Any) -> dict[str, Any]:
    written: dict[str, Any] = msgspec.to_builtins(CaseResponse(verdict=CaseVerdict.ALLOW))
    return written | members


def wrong(member: str, expected: Any, actual: Any) -> list[Mismatch]:
    return list(compare({member: expected}, answered(**{member: actual})))


# member, expected, actual
MET = {
    "the same word": ("verdict", "allow", "allow"),
    "rules in another order": ("denied", ["TSC002", "TSC001"], ["TSC001", "TSC002"]),
    "a part of the message": ("message", "must be", "maxSkew must be positive"),
    "a part of each warning": ("warnings", ["b", "c"], ["abc", "abc"]),
    "no warning": ("warnings", [], []),
    "the same constraints": ("constraints", [SPREAD], [dict(reversed(SPREAD.items()))]),
    "no constraints": ("constraints", [], []),
    "some members of an object": ("patched", {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}),
    "some members of all items": ("patched", {"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}),
    "some annotations": ("auditAnnotations", {"a": "b"}, {"a": "b", "c": "d"}),
}


@pytest.mark.parametrize(("member", "expected", "actual"), MET.values(), ids=MET.keys())
def test_met(member: str, expected: Any, actual: Any) -> None:
    assert wrong(member, expected, actual) == []


# member, expected, actual, how the actual value is shown
MISSED = {
    "another word": ("verdict", "allow", "deny", "deny"),
    "a rule too many": ("denied", ["TSC002"], ["TSC001", "TSC002"], ["TSC002", "TSC001"]),
    "a rule too few": ("denied", ["TSC001", "TSC002"], ["TSC002"], ["TSC002"]),
    "another message": ("message", "positive", "must be 1", "must be 1"),
    "no message": ("message", "positive", "", ""),
    "a warning too many": ("warnings", ["a"], ["abc", "d"], ["a", "d"]),
    "a warning too few": ("warnings", ["a", "b"], ["abc"], ["a"]),
    "warnings in another order": ("warnings", ["a", "b"], ["-b", "-a"], ["-b", "-a"]),
    "a warning though none is expected": ("warnings", [], ["a"], ["a"]),
    "true for one": ("constraints", [{"maxSkew": True}], [{"maxSkew": 1}], [{"maxSkew": 1}]),
    "a member that is not expected": ("constraints", [{}], [SPREAD], [SPREAD]),
    "constraints in another order": ("injected", [{"a": 1}, {}], [{}, {"a": 1}], [{}, {"a": 1}]),
    "another operation": ("patch", [{"op": "add"}], [{"op": "remove"}], [{"op": "remove"}]),
    "a member that is missing": ("patched", {"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {}}),
    "a list of another length": ("patched", {"a": [{}]}, {"a": [{}, {}]}, {"a": [{}, {}]}),
    "a list that is none": ("patched", {"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    "an annotation that is missing": ("auditAnnotations", {"a": "b"}, {"c": "d"}, {}),
}


@pytest.mark.parametrize(
    ("member", "expected", "actual", "shown"), MISSED.values(), ids=MISSED.keys()
)
def test_missed(member: str, expected: Any, actual: Any, shown: Any) -> None:
    assert wrong(member, expected, actual) == [Mismatch(member, expected, shown)]


def test_every_member_has_a_case_that_misses() -> None:
    assert {member for member, *_ in MISSED.values()} == VIEWS.keys() - {"skipped"}


def test_what_is_not_expected_is_not_looked_at() -> None:
    assert list(compare({"verdict": "allow"}, answered(denied=["TSC001"]))) == []


def test_members_are_told_in_one_order() -> None:
    expected = {"patch": [1], "skipped": "no-selector", "verdict": "deny"}

    assert [mismatch.member for mismatch in compare(expected, answered())] == [
        "verdict",
        "skipped",
        "patch",
    ]


@given(objects)
def test_an_answer_meets_itself(value: dict[str, Any]) -> None:
    assert wrong("patched", value, value) == []


@given(objects, objects)
def test_what_is_told_of_an_answer_is_what_was_asked_for(
    expected: dict[str, Any], actual: dict[str, Any]
) -> None:
    for mismatch in wrong("patched", expected, actual):
        assert mismatch.actual.keys() <= expected.keys()
        assert wrong("patched", mismatch.actual, actual) == []


@given(objects, objects)
def test_more_members_in_an_answer_do_not_matter(
    value: dict[str, Any], more: dict[str, Any]
) -> None:
    assert wrong("patched", value, more | value) == []


@given(values, values)
def test_only_what_is_the_same_in_json_meets(expected: Any, actual: Any) -> None:
    same = msgspec.json.encode(expected, order="sorted") == msgspec.json.encode(
        actual, order="sorted"
    )

    assert (wrong("patch", expected, actual) == []) is same
