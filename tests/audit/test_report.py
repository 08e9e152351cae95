"""Reports give titles, excesses, and all findings with their workloads."""

from pathlib import Path

import msgspec
import pytest

from tests.audit.world import finding, report
from tests.schemas import describe_schema
from webhook.audit.report import AuditReport, AuditSeverity, SpreadReport

SCHEMA = Path(__file__).parents[2] / "docs" / "audit.schema.json"


def test_the_schema_in_the_docs_is_that_of_the_report() -> None:
    assert msgspec.json.decode(SCHEMA.read_bytes()) == describe_schema(AuditReport)


def test_exempted_findings_of_a_workload_come_last() -> None:
    exempted = finding(reason="known")

    found = list(report(finding(), exempted=(exempted,)).findings())

    assert [(workload.title, item.reason) for workload, item in found] == [
        ("Deployment shop/web", ""),
        ("Deployment shop/web", "known"),
    ]


@pytest.mark.parametrize(
    ("max_skew", "excess"),
    [(1, 2), (3, 0), (None, 0)],
    ids=["above the limit", "at the limit", "without a limit"],
)
def test_the_excess_of_a_spread_is_its_skew_above_the_limit(
    max_skew: int | None, excess: int
) -> None:
    spread = SpreadReport(
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        max_skew=max_skew,
        minimum=0,
        floor="",
        skew=3,
        domains=0,
        cells=(),
    )

    assert spread.excess == excess


EXCEEDS = {
    "a warning is no denial": (AuditSeverity.DENY, False),
    "a warning is a warning": (AuditSeverity.WARN, True),
    "a warning is more severe than an audit": (AuditSeverity.AUDIT, True),
    "there is no threshold": (None, False),
}


@pytest.mark.parametrize(("threshold", "expected"), EXCEEDS.values(), ids=EXCEEDS)
def test_a_report_exceeds_a_threshold(threshold: AuditSeverity | None, expected: bool) -> None:
    assert report(finding(severity=AuditSeverity.WARN)).exceeds(threshold) is expected
