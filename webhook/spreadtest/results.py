"""
What came of suites, as a value that all renderers are made from and programs can read.

Nothing tells of time, so that equal input makes equal results.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

SUITE_REPORT_API_VERSION = "evenspread.io/v1alpha1"
SUITE_REPORT_KIND = "SpreadTestReport"


class CaseStatus(StrEnum):
    """What came of a case."""

    PASSED = "pass"
    FAILED = "fail"
    """It was answered otherwise than expected."""
    ERROR = "error"
    """It could not be run, since something it needs could not be read."""


class Mismatch(msgspec.Struct, frozen=True):
    """
    A member that was answered otherwise than expected.

    Attributes:
        member: Of an ``Expectation``.
        expected: As it stands in the suite; of JSON's types, as is the next.
        actual: As it was answered, but for what was not asked for.
    """

    member: str
    expected: Any
    actual: Any


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """
    What came of a case.

    Attributes:
        line: Where the case stands in its suite, from 1.
        mismatches: None unless it failed.
        said: If it failed, the message of the denial, if there was one, and all warnings.
        problem: Why it could not be run; empty if it could.
    """

    name: str
    line: int
    status: CaseStatus
    mismatches: tuple[Mismatch, ...] = ()
    said: tuple[str, ...] = ()
    problem: str = ""


class SuiteResult(msgspec.Struct, frozen=True):
    """
    What came of a suite.

    Attributes:
        source: Its file.
        name: As it is called; the file's path if it is not.
    """

    source: str
    name: str
    cases: tuple[CaseResult, ...]


class SuiteSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Everything counted; each case is in one of the last three."""

    suites: int
    cases: int
    passed: int
    failed: int
    errors: int


class SuiteReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of all suites, in the order in which they were found."""

    api_version: str = SUITE_REPORT_API_VERSION
    kind: str = SUITE_REPORT_KIND
    summary: SuiteSummary
    suites: tuple[SuiteResult, ...]


def build_report(suites: Iterable[SuiteResult]) -> SuiteReport:
    """Count what came of suites."""
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
