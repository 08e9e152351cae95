"""Reports on suites count their cases."""

from webhook.spreadtest.results import CaseResult, CaseStatus, SuiteResult, build_report


def test_each_case_is_counted_by_its_status() -> None:
    cases = tuple(CaseResult(name=status, line=1, status=status) for status in CaseStatus)
    passed = CaseResult(name="again", line=2, status=CaseStatus.PASSED)

    summary = build_report([SuiteResult("a", "a", cases), SuiteResult("b", "b", (passed,))]).summary

    assert (summary.suites, summary.cases) == (2, 4)
    assert (summary.passed, summary.failed, summary.errors) == (2, 1, 1)
