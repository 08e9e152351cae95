"""
Results of suites, and their reports as texts: JSON and JUnit for programs, differences for people.

``build_report`` counts results. No member depends on time, so that equal input gives equal reports.
``TEST_FORMATS`` lists the formats; ``format_differences`` explains a failed case.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import unified_diff
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from xml.etree.ElementTree import Element

import msgspec

from webhook.audit.renderers import junit
from webhook.audit.renderers.jsonreport import format_json
from webhook.manifests import format_yaml
from webhook.policy.escape import printable

SUITE_REPORT_API_VERSION = "evenspread.io/v1alpha1"
SUITE_REPORT_KIND = "SpreadTestReport"


class CaseStatus(StrEnum):
    """The result of a case in one word."""

    PASSED = "pass"
    FAILED = "fail"
    """The response differs from the expectation."""
    ERROR = "error"
    """The case could not run, because a file that it needs cannot be read."""


class Mismatch(msgspec.Struct, frozen=True):
    """
    A member of the response that differs from the expectation.

    Attributes:
        member: Name of the member of an ``Expectation``.
        expected: The value in the suite, of JSON's types.
        actual: The value in the response, reduced to what the suite expects; of JSON's types.
    """

    member: str
    expected: Any
    actual: Any


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """
    The result of a case.

    Attributes:
        line: Line of the case in its suite, from 1.
        mismatches: Differences; empty unless the case failed.
        messages: Message of the denial and all warnings; empty unless it failed.
        problem: Why the case could not run; empty if it ran.
    """

    name: str
    line: int
    status: CaseStatus
    mismatches: tuple[Mismatch, ...] = ()
    messages: tuple[str, ...] = ()
    problem: str = ""


class SuiteResult(msgspec.Struct, frozen=True):
    """
    The result of a suite.

    Attributes:
        source: Path of its file.
        name: Its name; the path of its file if it has none.
    """

    source: str
    name: str
    cases: tuple[CaseResult, ...]


class SuiteSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of suites and cases; each case counts in one of the last three."""

    suites: int
    cases: int
    passed: int
    failed: int
    errors: int


class SuiteReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The results of all suites, in the order in which they were found."""

    api_version: str = SUITE_REPORT_API_VERSION
    kind: str = SUITE_REPORT_KIND
    summary: SuiteSummary
    suites: tuple[SuiteResult, ...]


def build_report(suites: Iterable[SuiteResult]) -> SuiteReport:
    """Build the report on suites, with its counts."""
    suites = tuple(suites)
    statuses = [case.status for suite in suites for case in suite.cases]
    summary = SuiteSummary(
        suites=len(suites),
        cases=len(statuses),
        passed=statuses.count(CaseStatus.PASSED),
        failed=statuses.count(CaseStatus.FAILED),
        errors=statuses.count(CaseStatus.ERROR),
    )
    return SuiteReport(summary=summary, suites=suites)


def render_junit(report: SuiteReport) -> str:
    """Render JUnit XML for the test view of a CI system, with suites and cases in file order."""
    root = junit.document("evenspread test")
    for suite in report.suites:
        element = junit.add(root, "testsuite", name=suite.name)
        for case in suite.cases:
            _add_case(element, suite, case)
    return junit.as_text(root)


TEST_FORMATS: Mapping[str, Callable[[SuiteReport], str]] = MappingProxyType(
    {"json": format_json, "junit": render_junit}
)
"""Value of ``-o`` -> the function that renders it; the text ends with a line break."""


def _add_case(element: Element, suite: SuiteResult, case: CaseResult) -> None:
    place = {"file": suite.source, "line": str(case.line)}
    added = junit.add(element, "testcase", classname=suite.source, name=case.name, **place)
    if case.status is CaseStatus.FAILED:
        members = ", ".join(mismatch.member for mismatch in case.mismatches)
        text = "\n".join(map(printable, format_differences(case)))
        message = f"the response differs from the expectation: {members}"
        junit.add(added, "failure", text, type="mismatch", message=message)
    elif case.status is CaseStatus.ERROR:
        junit.add(added, "error", type="unreadable", message=case.problem)


def format_differences(case: CaseResult) -> Iterator[str]:
    """Format all differences of a case, then the server's messages; nothing if it passed."""
    for mismatch in case.mismatches:
        yield from _format_mismatch(mismatch)
    for text in case.messages:
        yield f"message: {text}"


def _format_mismatch(mismatch: Mismatch) -> Iterator[str]:
    """Format strings side by side, and all other values as a diff of YAML."""
    expected, actual = mismatch.expected, mismatch.actual
    if isinstance(expected, str):
        yield f"{mismatch.member}: expected {expected}, got {actual or 'none'}"
        return
    yield f"{mismatch.member}:"
    before, after = (format_yaml(value).splitlines() for value in (expected, actual))
    yield from unified_diff(before, after, "expected", "actual", lineterm="")
