"""
PolicyReports, one object a namespace, as dashboards of policies read them.

They are stored in a cluster, so each is bounded: the hardest findings are told, all are counted.

Source: kubernetes-sigs wg-policy-prototypes policy-report v1alpha2; openreports reports-api.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import yaml

from webhook.audit.report import (
    SEVERITY_RANKS,
    AuditFinding,
    AuditReport,
    AuditSeverity,
    WorkloadReport,
)
from webhook.policy.catalogue import CATALOGUE

Json: TypeAlias = dict[str, Any]
WorkloadFinding: TypeAlias = tuple[WorkloadReport, AuditFinding]

NAME = "evenspread"  # of each object, and its source
MANAGED_BY = "app.kubernetes.io/managed-by"  # label by which our objects are known

MOST_RESULTS = 500  # of one object, 1 KB each; etcd takes objects of 1.5 MiB
MOST_CHARACTERS = 1024  # of one message or property; usual ones have 300

RESULTS: Mapping[AuditSeverity, tuple[str, str]] = MappingProxyType(
    {
        AuditSeverity.DENY: ("fail", "high"),
        AuditSeverity.WARN: ("warn", "medium"),
        AuditSeverity.AUDIT: ("warn", "low"),
    }
)
"""Weight -> ``result`` and ``severity``."""


class ReportApi(NamedTuple):
    """One of the two APIs; they differ in little more than their names."""

    api_version: str
    kind: str
    has_source: bool


WG_POLICY = ReportApi("wgpolicyk8s.io/v1alpha2", "PolicyReport", has_source=False)
OPEN_REPORTS = ReportApi("openreports.io/v1alpha1", "Report", has_source=True)


def render(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Render PolicyReports of wgpolicyk8s.io/v1alpha2 as YAML documents."""
    return format_objects(report, WG_POLICY)


def render_openreports(report: AuditReport, _threshold: AuditSeverity | None) -> str:
    """Render Reports of openreports.io/v1alpha1, the successor of PolicyReports."""
    return format_objects(report, OPEN_REPORTS)


def format_objects(report: AuditReport, dialect: ReportApi) -> str:
    """Write the objects of one API."""
    text: str = yaml.dump_all(
        list(build_objects(report, dialect)),
        Dumper=yaml.CSafeDumper,
        sort_keys=False,
        allow_unicode=True,
        explicit_start=True,
        width=120,
    )
    return text


def build_objects(report: AuditReport, dialect: ReportApi) -> Iterator[Json]:
    """Give an object for each namespace that has workloads, in the order of names."""
    for namespace, each in groupby(report.workloads, lambda workload: workload.namespace):
        yield _object(namespace, list(each), dialect)


def _object(namespace: str, workloads: Sequence[WorkloadReport], dialect: ReportApi) -> Json:
    told: list[WorkloadFinding] = [
        (each, finding) for each in workloads for finding in each.findings
    ]
    skipped: list[WorkloadFinding] = [
        (each, finding) for each in workloads for finding in each.exempted
    ]
    told.sort(key=lambda pair: SEVERITY_RANKS[pair[1].weight])  # stable: else by kind and name
    results = [_result(*pair) for pair in (*told, *skipped)[:MOST_RESULTS]]
    labels = {MANAGED_BY: NAME}
    metadata: Json = {"name": NAME, "namespace": namespace, "labels": labels}
    left_out = len(told) + len(skipped) - len(results)
    if left_out:
        metadata["annotations"] = {"evenspread.io/results-left-out": str(left_out)}
    source = {"source": NAME} if dialect.has_source else {}
    return {
        "apiVersion": dialect.api_version,
        "kind": dialect.kind,
        "metadata": metadata,
        **source,
        "scope": {"apiVersion": "v1", "kind": "Namespace", "name": namespace},
        "summary": _summary(workloads, told, skipped),
        "results": results,
    }


def _summary(
    workloads: Sequence[WorkloadReport],
    told: Sequence[WorkloadFinding],
    skipped: Sequence[WorkloadFinding],
) -> Json:
    outcomes = [RESULTS[finding.weight][0] for _, finding in told]
    return {
        "pass": sum(not each.findings and not each.exempted for each in workloads),
        "fail": outcomes.count("fail"),
        "warn": outcomes.count("warn"),
        "error": 0,
        "skip": len(skipped),
    }


def _result(workload: WorkloadReport, finding: AuditFinding) -> Json:
    result, severity = RESULTS[finding.weight]
    reason = {"reason": _clip(finding.reason)} if finding.reason else {}
    return {
        "source": NAME,
        "policy": NAME,
        "rule": finding.rule,
        "category": CATALOGUE[finding.rule].category.value,
        "severity": severity,
        "result": "skip" if finding.reason else result,
        "scored": finding.weight is AuditSeverity.DENY,
        "resources": [
            {
                "apiVersion": workload.api_version,
                "kind": workload.kind,
                "namespace": workload.namespace,
                "name": workload.name,
            }
        ],
        "message": _clip(f"{finding.field}: {finding.problem}"),
        "properties": {"instead": _clip(finding.instead), "readOn": finding.read_on, **reason},
    }


def _clip(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."
