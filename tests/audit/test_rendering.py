from tests.audit.world import finding, report
from webhook.audit.rendering import RenderOptions, finding_key
from webhook.audit.report import AuditSeverity


def test_a_finding_is_known_by_its_file_line_and_fingerprint() -> None:
    (workload,) = report(finding(), source="web.yaml", line=1).workloads
    (only,) = workload.findings

    assert finding_key(workload, only) == ("web.yaml", 7, only.fingerprint)


def test_by_default_denials_are_failures_and_there_are_no_fixes() -> None:
    options = RenderOptions()

    assert (options.threshold, dict(options.fixes), options.problems) == (
        AuditSeverity.DENY,
        {},
        (),
    )
