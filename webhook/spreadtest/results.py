"""
Results of suites: one value that all renderers and programs read.

``build_report`` counts results. No member depends on time, so that equal input gives equal reports.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

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
        messages: Message of the denial and all warnings, ``said`` in JSON; empty unless it failed.
        problem: Why the case could not run; empty if it ran.
    """

    name: str
    line: int
    status: CaseStatus
    mismatches: tuple[Mismatch, ...] = ()
    messages: tuple[str, ...] = msgspec.field(default=(), name="said")
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
