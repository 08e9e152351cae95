from typing import Any

import msgspec
import pytest

from tests.audit.world import EVERYTHING, audit, finding, report
from webhook.audit.renderers import render_report
from webhook.audit.report import AuditReport, AuditSeverity


def entries(made: AuditReport) -> list[Any]:
    found: list[Any] = msgspec.json.decode(render_report(made, "codequality"))
    return found


def test_a_finding_is_an_entry_with_its_place() -> None:
    (entry,) = entries(report(finding(), source="./a/web.yaml", line=1))

    assert entry["check_name"] == "TSC101"
    assert entry["location"] == {"path": "a/web.yaml", "lines": {"begin": 7}}
    assert entry["description"] == (
        "Deployment shop/web: spec.topologySpreadConstraints[0].labelSelector: it does not match"
    )


def test_a_description_names_the_field_once() -> None:
    problem = 'unknown field "spec.maxSkew"'

    (entry,) = entries(report(finding(field="spec.maxSkew", problem=problem), source="a", line=1))

    assert entry["description"] == f"Deployment shop/web: {problem}"


@pytest.mark.parametrize(
    ("severity", "expected"),
    [
        (AuditSeverity.DENY, "critical"),
        (AuditSeverity.WARN, "minor"),
        (AuditSeverity.AUDIT, "info"),
    ],
)
def test_severities_are_those_of_gitlab(severity: AuditSeverity, expected: str) -> None:
    (entry,) = entries(report(finding(severity=severity), source="web.yaml", line=1))

    assert entry["severity"] == expected


def test_fingerprints_differ_by_file() -> None:
    one, other = (entries(report(finding(), source=name, line=1))[0] for name in ("a", "b"))

    assert one["fingerprint"] != other["fingerprint"]
    assert len({entry["fingerprint"] for entry in entries(audit(EVERYTHING))}) == len(
        entries(audit(EVERYTHING))
    )


def test_findings_without_a_file_and_exempted_ones_are_left_out() -> None:
    assert entries(report(finding(line=0))) == []
    assert entries(report(exempted=(finding(reason="r"),), source="a", line=1)) == []
