"""
The audit report as SARIF 2.1.0, for code scanning; exempted findings are suppressed results.

Source: OASIS SARIF 2.1.0; section numbers are its own.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import quote

from webhook import __version__
from webhook.audit.renderers.jsonreport import format_json
from webhook.audit.report import AuditFinding, AuditReport, AuditSeverity, WorkloadReport
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.escape import printable, printable_lines

Json: TypeAlias = dict[str, Any]

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

LEVELS: Mapping[AuditSeverity, str] = MappingProxyType(
    {AuditSeverity.DENY: "error", AuditSeverity.WARN: "warning", AuditSeverity.AUDIT: "note"}
)
"""Severity -> ``level`` of 3.27.10."""

_INDEXES = {rule: index for index, rule in enumerate(CATALOGUE)}


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Render one run with all rules and all findings."""
    run = {
        "tool": {"driver": _build_driver()},
        "columnKind": "unicodeCodePoints",
        "results": [_build_result(workload, finding) for workload, finding in report.findings()],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return format_json(log)


def _build_driver() -> Json:
    return {
        "name": "evenspread",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": rule,
                "shortDescription": {"text": entry.title},
                "fullDescription": {"text": entry.effect},
                "help": {"text": f"Instead: {entry.fix}."},
                "properties": {"tags": [entry.category.value]},
            }
            for rule, entry in CATALOGUE.items()
        ],
    }


def _build_result(workload: WorkloadReport, finding: AuditFinding) -> Json:
    result: Json = {
        "ruleId": finding.rule,
        "ruleIndex": _INDEXES[finding.rule],
        "level": LEVELS[finding.severity],
        "message": {
            "text": printable(f"{workload.title}: {finding.field}: {finding.problem}. ")
            + f"Instead: {printable_lines(finding.instead)}"
        },
        "locations": [_build_location(workload, finding)],
        "partialFingerprints": {"evenspread/v1": finding.fingerprint},
    }
    if finding.reason:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.reason}]
    return result


def _build_location(workload: WorkloadReport, finding: AuditFinding) -> Json:
    location: Json = {
        "logicalLocations": [
            {
                "name": workload.name,
                "fullyQualifiedName": f"{workload.namespace}/{workload.kind}/{workload.name}",
                "kind": "resource",
            }
        ]
    }
    if workload.source:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": quote(workload.source)},
            "region": {"startLine": max(finding.line, 1)},
        }
    return location
