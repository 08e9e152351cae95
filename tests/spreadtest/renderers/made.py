"""A report with a case of every status."""

from webhook.spreadtest.results import CaseResult, CaseStatus, Mismatch, SuiteResult, build_report

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
                    said=("it is invalid",),
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
