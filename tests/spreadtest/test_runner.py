"""Whole cases, from the text of a suite to the results."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.spreadtest.world import CASES, EXAMPLES, only_case, result
from webhook.spreadtest.response import CaseResponse, CaseVerdict
from webhook.spreadtest.results import CaseStatus, Mismatch, build_report
from webhook.spreadtest.runner import compare, run_suite
from webhook.spreadtest.suite import Suite, SuiteCase, SuiteText, load_suite

SUITES = [
    load_suite(SuiteText(str(path), path.read_text()))
    for path in sorted(EXAMPLES.rglob("evenspread-test.yaml"))
]
CASES_OF_EXAMPLES = {
    f"{suite.name}: {case.name}": (suite, case) for suite in SUITES for case in suite.cases
}


def case(members: str) -> str:
    return f"cases:\n- name: a\n  {members}\n"


def test_case_passes(folder: Path) -> None:
    found = only_case(CASES, folder)

    assert (found.status, found.mismatches, found.messages) == (CaseStatus.PASSED, (), ())


def test_failed_case_has_its_differences_and_messages(folder: Path) -> None:
    found = only_case(case("object: broken.yaml\n  expect: {verdict: allow}"), folder)

    assert found.status is CaseStatus.FAILED
    assert found.mismatches == (Mismatch("verdict", "allow", "deny"),)
    assert found.messages[0].startswith(
        'Pod "web-1" is invalid: [spec.topologySpreadConstraints[0]'
    )


ERRORS = {
    "an object that cannot be read": case("object: syntax.yaml\n  expect: {verdict: allow}"),
    "a cluster that cannot be read": f"cluster: [syntax.yaml]\n{CASES}",
    "a recorded review that is none": case(
        "object: {apiVersion: admission.k8s.io/v1, kind: AdmissionReview}\n"
        "  expect: {verdict: allow}"
    ),
}


@pytest.mark.parametrize("text", ERRORS.values(), ids=ERRORS.keys())
def test_case_that_cannot_be_run_is_an_error(text: str, folder: Path) -> None:
    found = only_case(text, folder)

    assert found.status is CaseStatus.ERROR
    assert found.problem.startswith(f"{folder}/")


def test_report_counts(folder: Path) -> None:
    failing = case("object: broken.yaml\n  expect: {verdict: allow}")
    broken = case("object: syntax.yaml\n  expect: {verdict: allow}")

    counted = build_report(result(text, folder) for text in (CASES, CASES, failing, broken)).summary

    assert (counted.suites, counted.cases) == (4, 4)
    assert (counted.passed, counted.failed, counted.errors) == (2, 1, 1)


@pytest.mark.parametrize(("suite", "one"), CASES_OF_EXAMPLES.values(), ids=CASES_OF_EXAMPLES.keys())
def test_example_passes(suite: Suite, one: SuiteCase) -> None:
    assert status(suite, one) is CaseStatus.PASSED


@pytest.mark.parametrize(("suite", "one"), CASES_OF_EXAMPLES.values(), ids=CASES_OF_EXAMPLES.keys())
def test_example_fails_when_any_member_expects_something_else(suite: Suite, one: SuiteCase) -> None:
    for member, expected in one.expected.items():
        changed = replace(one, expected={**one.expected, member: other(expected)})

        assert status(suite, changed) is CaseStatus.FAILED, member


def other(expected: Any) -> Any:
    match expected:
        case str():
            return f"{expected}?"
        case list():
            return (
                [*expected, {}] if expected and isinstance(expected[0], dict) else [*expected, "?"]
            )
        case _:
            return {**expected, "?": 1}


def status(suite: Suite, one: SuiteCase) -> CaseStatus:
    (found,) = run_suite(replace(suite, cases=(one,))).cases
    return found.status


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
MATCHES = {
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


@pytest.mark.parametrize(("member", "expected", "actual"), MATCHES.values(), ids=MATCHES.keys())
def test_matching_answers(member: str, expected: Any, actual: Any) -> None:
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
    members = {field.encode_name for field in msgspec.structs.fields(CaseResponse)}
    assert {member for member, *_ in MISSED.values()} == members - {"skipped"}


def test_what_is_not_expected_is_not_looked_at() -> None:
    assert list(compare({"verdict": "allow"}, answered(denied=["TSC001"]))) == []


def test_members_are_reported_in_one_order() -> None:
    expected = {"patch": [1], "skipped": "no-selector", "verdict": "deny"}

    assert [mismatch.member for mismatch in compare(expected, answered())] == [
        "verdict",
        "skipped",
        "patch",
    ]


@given(objects)
def test_a_response_matches_itself(value: dict[str, Any]) -> None:
    assert wrong("patched", value, value) == []


@given(objects, objects)
def test_the_reported_members_of_a_response_are_the_expected_ones(
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
def test_only_what_is_the_same_in_json_matches(expected: Any, actual: Any) -> None:
    same = msgspec.json.encode(expected, order="sorted") == msgspec.json.encode(
        actual, order="sorted"
    )

    assert (wrong("patch", expected, actual) == []) is same
