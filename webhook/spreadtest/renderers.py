"""
Reports of suites as texts: JSON and JUnit for programs, differences for both and for people.

``TEST_FORMATS`` lists the formats; ``format_differences`` explains a failed case. All functions are
pure; the command writes what a terminal shows.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import unified_diff
from types import MappingProxyType
from xml.etree.ElementTree import Element

from webhook.audit import junit
from webhook.audit.renderers.jsonreport import format_json
from webhook.manifests import format_yaml
from webhook.policy.escape import printable
from webhook.spreadtest.results import CaseResult, CaseStatus, Mismatch, SuiteReport, SuiteResult


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
        yield f"said: {text}"


def _format_mismatch(mismatch: Mismatch) -> Iterator[str]:
    """Format strings side by side, and all other values as a diff of YAML."""
    expected, actual = mismatch.expected, mismatch.actual
    if isinstance(expected, str):
        yield f"{mismatch.member}: expected {expected}, got {actual or 'none'}"
        return
    yield f"{mismatch.member}:"
    before, after = (format_yaml(value).splitlines() for value in (expected, actual))
    yield from unified_diff(before, after, "expected", "actual", lineterm="")
