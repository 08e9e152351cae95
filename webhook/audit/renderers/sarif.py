"""
The audit report as SARIF 2.1.0, for code scanning; exempted findings are suppressed results.

Source: OASIS SARIF 2.1.0; section numbers are its own.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import quote

from webhook import PROJECT_ADDRESS, __version__
from webhook.audit.exemptionreport import ExemptionSource
from webhook.audit.renderers.jsonreport import format_json
from webhook.audit.rendering import RenderOptions, SuggestedFix, finding_key
from webhook.audit.report import (
    AuditFinding,
    AuditReport,
    AuditSeverity,
    WorkloadReport,
)
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.escape import printable, printable_lines
from webhook.policy.rule_entry import CatalogueEntry

Json: TypeAlias = dict[str, Any]

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

RULES_PAGE = f"{PROJECT_ADDRESS}/blob/main/docs/rules.md"

LEVELS: Mapping[AuditSeverity, str] = MappingProxyType(
    {AuditSeverity.DENY: "error", AuditSeverity.WARN: "warning", AuditSeverity.AUDIT: "note"}
)
"""Severity -> ``level`` of 3.27.10."""

SUPPRESSIONS: Mapping[ExemptionSource, str] = MappingProxyType(
    {
        ExemptionSource.ANNOTATION: "inSource",
        ExemptionSource.EXCEPTION: "external",
        ExemptionSource.PROJECT: "external",
    }
)
"""Where an exemption is written -> kind of a suppression, 3.35.2."""

_INDEXES = {rule: index for index, rule in enumerate(CATALOGUE)}


def render(report: AuditReport, options: RenderOptions) -> str:
    """Render one run with all rules and all findings."""
    run = {
        "tool": {"driver": _build_driver()},
        "columnKind": "unicodeCodePoints",
        "results": [
            _build_result(workload, finding, options.fixes.get(finding_key(workload, finding)))
            for workload, finding in report.findings()
        ],
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
                "helpUri": help_address(entry),
                "properties": {"tags": [entry.category.value]},
            }
            for rule, entry in CATALOGUE.items()
        ],
    }


def help_address(entry: CatalogueEntry) -> str:
    """Give the address of a rule in the documentation; its heading is the id and the title."""
    if not entry.id.startswith("TSC"):
        return RULES_PAGE
    heading = f"{entry.id}: {entry.title}".lower()
    words = "".join(letter for letter in heading if letter.isalnum() or letter in " -_")
    return f"{RULES_PAGE}#{words.replace(' ', '-')}"


def _build_result(
    workload: WorkloadReport, finding: AuditFinding, fix: SuggestedFix | None
) -> Json:
    result: Json = {
        "ruleId": finding.rule,
        "ruleIndex": _INDEXES[finding.rule],
        "level": LEVELS[finding.severity],
        "message": {
            "text": printable(f"{workload.title}: {finding.located_problem}. ").replace("?.", "?")
            + f"Instead: {printable_lines(finding.instead)}"
        },
        "locations": [_build_location(workload, finding)],
        "partialFingerprints": {"evenspread/v1": finding.fingerprint},
    }
    if finding.exempted_by:
        kind = SUPPRESSIONS[finding.exempted_by]
        result["suppressions"] = [{"kind": kind, "justification": finding.reason}]
    if fix:
        result["fixes"] = [_build_fix(workload.source, fix)]
    return result


def _build_fix(source: str, fix: SuggestedFix) -> Json:
    """Build a fix of 3.55: one artifact change with a replacement for each edit."""
    replacements = [
        {
            "deletedRegion": {
                "startLine": replacement.region.start_line,
                "startColumn": replacement.region.start_column,
                "endLine": replacement.region.end_line,
                "endColumn": replacement.region.end_column,
            },
            "insertedContent": {"text": replacement.text},
        }
        for replacement in fix.replacements
    ]
    change = {"artifactLocation": {"uri": quote(source)}, "replacements": replacements}
    return {
        "description": {"text": printable(f"The edits of evenspread fix: {fix.description}.")},
        "artifactChanges": [change],
    }


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
