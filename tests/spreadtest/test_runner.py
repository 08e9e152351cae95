"""Whole cases, from the text of a suite to what came of them."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.spreadtest.world import CASES, EXAMPLES, only_case, result
from webhook.spreadtest.discovery import SuiteText
from webhook.spreadtest.results import CaseStatus, Mismatch, build_report
from webhook.spreadtest.runner import run_suite
from webhook.spreadtest.suite import Suite, SuiteCase, load_suite

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
