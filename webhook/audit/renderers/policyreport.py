"""
The audit report as PolicyReports, one object for each namespace, for policy dashboards.

A cluster stores these objects, so their size is bounded: they contain the most severe findings and
the counts of all of them.

Source: kubernetes-sigs wg-policy-prototypes policy-report v1alpha2; openreports reports-api.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

from webhook.audit.rendering import RenderOptions
from webhook.audit.report import (
    SEVERITY_RANKS,
    AuditFinding,
    AuditReport,
    AuditSeverity,
    WorkloadReport,
)
from webhook.manifests import format_yaml
from webhook.policy.catalogue import CATALOGUE

Json: TypeAlias = dict[str, Any]
WorkloadFinding: TypeAlias = tuple[WorkloadReport, AuditFinding]

NAME = "evenspread"  # name and source of each object
MANAGED_BY = "app.kubernetes.io/managed-by"  # label that identifies our objects

MOST_RESULTS = 500  # of one object, 1 KB each; etcd accepts objects of 1.5 MiB
MOST_CHARACTERS = 1024  # of one message or property; typical ones have 300

RESULTS: Mapping[AuditSeverity, tuple[str, str]] = MappingProxyType(
    {
        AuditSeverity.DENY: ("fail", "high"),
        AuditSeverity.WARN: ("warn", "medium"),
        AuditSeverity.AUDIT: ("warn", "low"),
    }
)
"""Severity of the audit -> ``result`` and ``severity`` of the object."""


@dataclass(frozen=True)
class ReportApi:
    """One of the two report APIs; they differ little except in their names."""

    api_version: str
    kind: str
    has_source: bool


WG_POLICY = ReportApi("wgpolicyk8s.io/v1alpha2", "PolicyReport", has_source=False)
OPEN_REPORTS = ReportApi("openreports.io/v1alpha1", "Report", has_source=True)


def render(report: AuditReport, _options: RenderOptions) -> str:
    """Render PolicyReports of wgpolicyk8s.io/v1alpha2 as YAML documents."""
    return _format_objects(report, WG_POLICY)


def render_openreports(report: AuditReport, _options: RenderOptions) -> str:
    """Render Reports of openreports.io/v1alpha1, the successor of PolicyReports."""
    return _format_objects(report, OPEN_REPORTS)


def _format_objects(report: AuditReport, api: ReportApi) -> str:
    return "".join(f"---\n{format_yaml(item)}" for item in build_objects(report, api))


def build_objects(report: AuditReport, api: ReportApi) -> Iterator[Json]:
    """Yield one object for each namespace with workloads, sorted by name."""
    for namespace, workloads in groupby(report.workloads, lambda workload: workload.namespace):
        yield _build_object(namespace, list(workloads), api)


def _build_object(namespace: str, workloads: Sequence[WorkloadReport], api: ReportApi) -> Json:
    found = [(workload, finding) for workload in workloads for finding in workload.findings]
    skipped = [(workload, finding) for workload in workloads for finding in workload.exempted]
    found.sort(key=lambda pair: SEVERITY_RANKS[pair[1].severity])  # stable: else by kind and name
    results = [_build_result(*pair) for pair in (*found, *skipped)[:MOST_RESULTS]]
    labels = {MANAGED_BY: NAME}
    metadata: Json = {"name": NAME, "namespace": namespace, "labels": labels}
    left_out = len(found) + len(skipped) - len(results)
    if left_out:
        metadata["annotations"] = {"evenspread.io/results-left-out": str(left_out)}
    source = {"source": NAME} if api.has_source else {}
    return {
        "apiVersion": api.api_version,
        "kind": api.kind,
        "metadata": metadata,
        **source,
        "scope": {"apiVersion": "v1", "kind": "Namespace", "name": namespace},
        "summary": _build_summary(workloads, found, skipped),
        "results": results,
    }


def _build_summary(
    workloads: Sequence[WorkloadReport],
    found: Sequence[WorkloadFinding],
    skipped: Sequence[WorkloadFinding],
) -> Json:
    outcomes = [RESULTS[finding.severity][0] for _, finding in found]
    return {
        "pass": sum(not item.findings and not item.exempted for item in workloads),
        "fail": outcomes.count("fail"),
        "warn": outcomes.count("warn"),
        "error": 0,
        "skip": len(skipped),
    }


def _build_result(workload: WorkloadReport, finding: AuditFinding) -> Json:
    result, severity = RESULTS[finding.severity]
    reason = {"reason": _truncate(finding.reason)} if finding.reason else {}
    return {
        "source": NAME,
        "policy": NAME,
        "rule": finding.rule,
        "category": CATALOGUE[finding.rule].category.value,
        "severity": severity,
        "result": "skip" if finding.reason else result,
        "scored": finding.severity is AuditSeverity.DENY,
        "resources": [
            {
                "apiVersion": workload.api_version,
                "kind": workload.kind,
                "namespace": workload.namespace,
                "name": workload.name,
            }
        ],
        "message": _truncate(finding.located_problem),
        "properties": {"instead": _truncate(finding.instead), "readOn": finding.read_on, **reason},
    }


def _truncate(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."
