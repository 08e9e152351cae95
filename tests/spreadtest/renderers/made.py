"""A report with a case of every status."""

from webhook.spreadtest.results import CaseResult, Mismatch, Status, SuiteResult, report

MISMATCHES = (Mismatch("verdict", "allow", "deny"), Mismatch("denied", [], ["TSC001"]))

EVERYTHING = report(
    [
        SuiteResult(
            "tests/denials.yaml",
            "denials",
            (
                CaseResult(name="in order", line=4, status=Status.PASSED),
                CaseResult(
                    name="denied",
                    line=8,
                    status=Status.FAILED,
                    mismatches=MISMATCHES,
                    said=("it is invalid",),
                ),
            ),
        ),
        SuiteResult(
            "tests/broken.yaml",
            "tests/broken.yaml",
            (CaseResult(name="broken", line=4, status=Status.ERROR, problem="pod.yaml:1: a tab"),),
        ),
    ]
)
