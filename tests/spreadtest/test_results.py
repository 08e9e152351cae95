from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from junitparser import Error, Failure, JUnitXml

from tests.schemas import describe_schema
from webhook.spreadtest.results import (
    TEST_FORMATS,
    CaseResult,
    CaseStatus,
    Mismatch,
    SuiteReport,
    SuiteResult,
    build_report,
    format_differences,
)

SCHEMA = Path(__file__).parents[2] / "docs/test-report.schema.json"

MISMATCHES = (Mismatch("verdict", "allow", "deny"), Mismatch("denied", [], ["TSC001"]))

EVERYTHING = build_report(
    [
        SuiteResult(
            "tests/denials.yaml",
            "denials",
            (
                CaseResult(name="in order", line=4, status=CaseStatus.PASSED),
                CaseResult(
                    name="denied",
                    line=8,
                    status=CaseStatus.FAILED,
                    mismatches=MISMATCHES,
                    messages=("it is invalid",),
                ),
            ),
        ),
        SuiteResult(
            "tests/broken.yaml",
            "tests/broken.yaml",
            (
                CaseResult(
                    name="broken", line=4, status=CaseStatus.ERROR, problem="pod.yaml:1: a tab"
                ),
            ),
        ),
    ]
)
"""A report with a case of every status."""

# member, expected, actual, its lines
DIFFERENCES = {
    "words": ("verdict", "patch", "allow", ["verdict: expected patch, got allow"]),
    "a word and nothing": (
        "skipped", "no-selector", "", ["skipped: expected no-selector, got none"]
    ),
    "lists": (
        "denied",
        ["TSC001"],
        ["TSC001", "TSC002"],
        ["denied:", "--- expected", "+++ actual", "@@ -1 +1,2 @@", " - TSC001", "+- TSC002"],
    ),
    "something and nothing": (
        "warnings",
        [],
        ["a: b"],
        ["warnings:", "--- expected", "+++ actual", "@@ -1 +1 @@", "-[]", "+- 'a: b'"],
    ),
    "mappings": (
        "patched",
        {"spec": {"a": 1, "b": 2}},
        {"spec": {"a": 1, "b": 3}},
        [
            "patched:", "--- expected", "+++ actual", "@@ -1,3 +1,3 @@",
            " spec:", "   a: 1", "-  b: 2", "+  b: 3",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("member", "expected", "actual", "shown"), DIFFERENCES.values(), ids=DIFFERENCES.keys()
)
def test_difference(member: str, expected: Any, actual: Any, shown: list[str]) -> None:
    assert list(format_differences(failed(Mismatch(member, expected, actual)))) == shown


def test_the_messages_of_the_server_come_last() -> None:
    case = failed(Mismatch("verdict", "allow", "deny"), "it is invalid")

    assert list(format_differences(case)) == [
        "verdict: expected allow, got deny",
        "message: it is invalid",
    ]


def failed(mismatch: Mismatch, *messages: str) -> CaseResult:
    return CaseResult(
        name="a", line=1, status=CaseStatus.FAILED, mismatches=(mismatch,), messages=messages
    )


def test_report_is_read_back_as_it_was() -> None:
    text = TEST_FORMATS["json"](EVERYTHING)

    assert msgspec.json.decode(text, type=SuiteReport) == EVERYTHING
    assert text.endswith("}\n")


def test_report_is_of_its_report_schema() -> None:
    jsonschema.validate(
        msgspec.json.decode(TEST_FORMATS["json"](EVERYTHING)), describe_schema(SuiteReport)
    )


def test_the_schema_in_the_docs_is_that_of_the_report() -> None:
    assert msgspec.json.decode(SCHEMA.read_bytes()) == describe_schema(SuiteReport)


def read_junit() -> Any:
    return JUnitXml.fromstring(TEST_FORMATS["junit"](EVERYTHING).encode())


def test_a_suite_a_file_and_a_case_a_case() -> None:
    suites = read_junit()

    assert [suite.name for suite in suites] == ["denials", "tests/broken.yaml"]
    assert [(suite.tests, suite.failures, suite.errors) for suite in suites] == [
        (2, 1, 0), (1, 0, 1),
    ]  # fmt: skip
    assert (suites.tests, suites.failures, suites.errors) == (3, 1, 1)


def test_case_contains_its_file_and_line() -> None:
    passed, failed = next(iter(read_junit()))

    assert (passed.classname, passed.name) == ("tests/denials.yaml", "in order")
    assert (failed._elem.get("file"), failed._elem.get("line")) == ("tests/denials.yaml", "8")
    assert passed.result == []


def test_failure_contains_what_is_wrong() -> None:
    _, failed = next(iter(read_junit()))
    (failure,) = failed.result

    assert isinstance(failure, Failure)
    assert failure.message == "the response differs from the expectation: verdict, denied"
    assert failure.text is not None
    assert failure.text.splitlines() == [
        "verdict: expected allow, got deny",
        "denied:", "--- expected", "+++ actual", "@@ -1 +1 @@", "-[]", "+- TSC001",
        "message: it is invalid",
    ]  # fmt: skip


def test_error_contains_what_could_not_be_read_junit() -> None:
    _, (broken,) = read_junit()
    (error,) = broken.result

    assert isinstance(error, Error)
    assert error.message == "pod.yaml:1: a tab"


def test_each_case_is_counted_by_its_status() -> None:
    cases = tuple(CaseResult(name=status, line=1, status=status) for status in CaseStatus)
    passed = CaseResult(name="again", line=2, status=CaseStatus.PASSED)

    summary = build_report([SuiteResult("a", "a", cases), SuiteResult("b", "b", (passed,))]).summary

    assert (summary.suites, summary.cases) == (2, 4)
    assert (summary.passed, summary.failed, summary.errors) == (2, 1, 1)
