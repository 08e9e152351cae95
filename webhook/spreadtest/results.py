"""
What came of suites, as a value that all renderers are made from and programs can read.

Nothing tells of time, so that equal input makes equal results.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

API_VERSION = "evenspread.io/v1alpha1"
KIND = "SpreadTestReport"


class Status(StrEnum):
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
    status: Status
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


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Everything counted; each case is in one of the last three."""

    suites: int
    cases: int
    passed: int
    failed: int
    errors: int


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of all suites, in the order in which they were found."""

    api_version: str = API_VERSION
    kind: str = KIND
    summary: Summary
    suites: tuple[SuiteResult, ...]


def report(suites: Iterable[SuiteResult]) -> Report:
    """Count what came of suites."""
    suites = tuple(suites)
    statuses = [case.status for suite in suites for case in suite.cases]
    summary = Summary(
        suites=len(suites),
        cases=len(statuses),
        passed=statuses.count(Status.PASSED),
        failed=statuses.count(Status.FAILED),
        errors=statuses.count(Status.ERROR),
    )
    return Report(summary=summary, suites=suites)
