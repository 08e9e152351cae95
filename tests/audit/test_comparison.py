"""A comparison as a value: its schema, and what exceeds a threshold."""

from pathlib import Path

import msgspec
import pytest

from tests.audit.world import finding
from tests.schemas import describe_schema
from webhook.audit.comparison import (
    AuditComparison,
    ChangedFinding,
    ChangeKind,
    ComparedReport,
    ComparisonSummary,
    WorkloadComparison,
)
from webhook.audit.report import AuditSeverity, AuditSummary

SCHEMA = Path(__file__).parents[2] / "docs" / "audit-changes.schema.json"
SIDE = ComparedReport("1.37", AuditSummary())


def comparison(*findings: ChangedFinding) -> AuditComparison:
    workload = WorkloadComparison(
        api_version="apps/v1", kind="Deployment", namespace="shop", name="web", findings=findings
    )
    summary = ComparisonSummary(new=len(findings))
    return AuditComparison(before=SIDE, after=SIDE, summary=summary, workloads=(workload,))


def change(kind: ChangeKind, before: str, after: str) -> ChangedFinding:
    return ChangedFinding(change=kind, before=before, after=after, finding=finding())


def test_the_schema_in_the_docs_is_that_of_the_comparison() -> None:
    assert msgspec.json.decode(SCHEMA.read_bytes()) == describe_schema(AuditComparison)


THRESHOLDS = {
    "a new one": (change(ChangeKind.NEW, "", "warn"), AuditSeverity.WARN, True),
    "a new one below": (change(ChangeKind.NEW, "", "warn"), AuditSeverity.DENY, False),
    "a worse one": (change(ChangeKind.WORSE, "warn", "deny"), AuditSeverity.DENY, True),
    "a better one": (change(ChangeKind.BETTER, "deny", "warn"), AuditSeverity.AUDIT, False),
    "a resolved one": (change(ChangeKind.RESOLVED, "deny", ""), AuditSeverity.AUDIT, False),
    "no threshold": (change(ChangeKind.NEW, "", "deny"), None, False),
}


@pytest.mark.parametrize(("item", "threshold", "is_above"), THRESHOLDS.values(), ids=THRESHOLDS)
def test_new_and_worse_findings_count_for_the_exit_code(
    item: ChangedFinding, threshold: AuditSeverity | None, *, is_above: bool
) -> None:
    assert comparison(item).exceeds(threshold) is is_above


def test_the_title_names_the_template() -> None:
    (workload,) = comparison().workloads

    assert workload.title == "Deployment shop/web"
    assert msgspec.structs.replace(workload, part="ps").title == "Deployment shop/web, template ps"
    assert not workload.is_changed
