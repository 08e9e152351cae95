"""JUnit, for the test view of a CI: a suite and its cases as they stand in their file."""

from xml.etree.ElementTree import Element

from webhook.audit import junit
from webhook.spreadtest.differences import format_differences
from webhook.spreadtest.results import CaseResult, CaseStatus, SuiteReport, SuiteResult


def render(report: SuiteReport) -> str:
    """Write the suites."""
    root = junit.document("evenspread test")
    for suite in report.suites:
        element = junit.add(root, "testsuite", name=suite.name)
        for case in suite.cases:
            _case(element, suite, case)
    return junit.as_text(root)


def _case(element: Element, suite: SuiteResult, case: CaseResult) -> None:
    place = {"file": suite.source, "line": str(case.line)}
    added = junit.add(element, "testcase", classname=suite.source, name=case.name, **place)
    match case.status:
        case CaseStatus.FAILED:
            members = ", ".join(each.member for each in case.mismatches)
            text = "\n".join(format_differences(case))
            message = f"answered otherwise than expected: {members}"
            junit.add(added, "failure", text, type="mismatch", message=message)
        case CaseStatus.ERROR:
            junit.add(added, "error", type="unreadable", message=case.problem)
        case CaseStatus.PASSED:
            pass
