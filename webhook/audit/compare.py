"""
Compare two audit reports: ``compare_reports``.

A finding is the same in both if its fingerprint is: rule, object and field. Of the spreads of a
workload over one topology key, the most uneven one counts, so that a rollout, which gives the pods
another revision, is no change.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import TypeAlias

from webhook.audit.comparison import (
    AuditComparison,
    ChangedFinding,
    ChangeKind,
    ComparedReport,
    ComparisonSummary,
    SpreadChange,
    SpreadState,
    WorkloadComparison,
    WorkloadPresence,
)
from webhook.audit.report import (
    SEVERITY_RANKS,
    AuditFinding,
    AuditReport,
    SpreadReport,
    WorkloadReport,
)

EXEMPTED = "exempted"
UNAVOIDABLE_SKEW = 1  # of pods that cannot be divided among their domains

_NOT_REPORTED = len(SEVERITY_RANKS)
_RANKS: Mapping[str, int] = MappingProxyType(
    {**SEVERITY_RANKS, EXEMPTED: _NOT_REPORTED, "": _NOT_REPORTED}
)
"""Severity -> rank, from 0 for the most severe; an exempted finding is not reported."""

_Key: TypeAlias = tuple[str, str, str, str, str]
_Pair: TypeAlias = tuple[AuditFinding | None, AuditFinding | None]
_ORDER = tuple(ChangeKind)


def compare_reports(old: AuditReport, new: AuditReport) -> AuditComparison:
    """Compare two reports on the same objects at different times."""
    before, after = _group(old.workloads), _group(new.workloads)
    compared: list[WorkloadComparison] = []
    unchanged = 0
    for key in sorted({**before, **after}):
        pairs = list(_pair_findings(before.get(key, ()), after.get(key, ())))
        unchanged += sum(_is_unchanged(*pair) for pair in pairs)
        compared.append(_compare_workload(before.get(key, ()), after.get(key, ()), pairs))
    return AuditComparison(
        before=ComparedReport(old.kubernetes, old.summary),
        after=ComparedReport(new.kubernetes, new.summary),
        summary=_summarise(compared, unchanged),
        workloads=tuple(item for item in compared if item.is_changed),
    )


def _group(workloads: Iterable[WorkloadReport]) -> dict[_Key, list[WorkloadReport]]:
    """Group reports by object; it is the same one in another version of its API."""
    grouped = defaultdict[_Key, list[WorkloadReport]](list)
    for item in workloads:
        group = item.api_version.rpartition("/")[0]
        grouped[item.namespace, item.kind, item.name, group, item.part].append(item)
    return dict(grouped)


def _pair_findings(
    before: Sequence[WorkloadReport], after: Sequence[WorkloadReport]
) -> Iterator[_Pair]:
    """Pair the findings with equal fingerprints, the most severe ones first."""
    old, new = _collect_findings(before), _collect_findings(after)
    for fingerprint in {**new, **old}:
        yield from zip_longest(old.get(fingerprint, ()), new.get(fingerprint, ()))


def _collect_findings(workloads: Iterable[WorkloadReport]) -> dict[str, list[AuditFinding]]:
    found = defaultdict[str, list[AuditFinding]](list)
    for workload in workloads:
        for finding in (*workload.findings, *workload.exempted):
            found[finding.fingerprint].append(finding)
    for findings in found.values():
        findings.sort(key=lambda item: _RANKS[_severity(item)])
    return dict(found)


def _severity(finding: AuditFinding | None) -> str:
    if finding is None:
        return ""
    return EXEMPTED if finding.reason else str(finding.severity)


def _is_unchanged(old: AuditFinding | None, new: AuditFinding | None) -> bool:
    before, after = _severity(old), _severity(new)
    return before == after and before != EXEMPTED


def _compare_workload(
    before: Sequence[WorkloadReport], after: Sequence[WorkloadReport], pairs: Iterable[_Pair]
) -> WorkloadComparison:
    workload = (*after, *before)[0]
    presence = WorkloadPresence.BOTH
    if not (before and after):
        presence = WorkloadPresence.ADDED if after else WorkloadPresence.REMOVED
    changes = [change for pair in pairs if (change := _compare_findings(*pair))]
    return WorkloadComparison(
        api_version=workload.api_version,
        kind=workload.kind,
        namespace=workload.namespace,
        name=workload.name,
        part=workload.part,
        presence=presence,
        findings=tuple(sorted(changes, key=_sort_key)),
        spreads=tuple(_compare_spreads(before, after)),
    )


def _sort_key(change: ChangedFinding) -> tuple[int, int, str, str]:
    severity = min(_RANKS[change.before], _RANKS[change.after])
    return _ORDER.index(change.change), severity, change.finding.rule, change.finding.fingerprint


def _compare_findings(old: AuditFinding | None, new: AuditFinding | None) -> ChangedFinding | None:
    """Compare one finding; None if it is reported as before, or in neither report."""
    before, after = _severity(old), _severity(new)
    finding = new or old
    if finding is None or _RANKS[before] == _RANKS[after]:
        return None
    if _RANKS[before] == _NOT_REPORTED:
        change = ChangeKind.NEW
    elif _RANKS[after] == _NOT_REPORTED:
        change = ChangeKind.RESOLVED
    else:
        change = ChangeKind.WORSE if _RANKS[after] < _RANKS[before] else ChangeKind.BETTER
    return ChangedFinding(change=change, before=before, after=after, finding=finding)


def _compare_spreads(
    before: Sequence[WorkloadReport], after: Sequence[WorkloadReport]
) -> Iterator[SpreadChange]:
    old, new = _choose_spreads(before), _choose_spreads(after)
    for key in sorted({**old, **new}):
        one, other = old.get(key), new.get(key)
        is_limited = all(state is None or state.max_skew is not None for state in (one, other))
        first, second = (_unevenness(state, is_limited=is_limited) for state in (one, other))
        if first != second:
            change = ChangeKind.WORSE if second > first else ChangeKind.BETTER
            yield SpreadChange(topology_key=key, change=change, before=one, after=other)


def _choose_spreads(workloads: Iterable[WorkloadReport]) -> dict[str, SpreadState]:
    """Choose the most uneven spread of each topology key that no rollout is about to change."""
    rows = [row for workload in workloads for row in workload.spreads if not row.is_passing]
    rows.sort(key=lambda row: (row.excess, row.uncounted.total, row.worst_skew))
    return {row.topology_key: _build_state(row) for row in rows}


def _build_state(row: SpreadReport) -> SpreadState:
    uncounted = 0 if row.max_skew is None else row.uncounted.total
    return SpreadState(row.worst_skew, row.max_skew, uncounted)


def _unevenness(state: SpreadState | None, *, is_limited: bool) -> tuple[int, int]:
    """
    Measure how uneven pods are: the skew above the limit, then the pods that are not counted.

    Args:
        is_limited: Whether a constraint limits the skew in both reports; else the pods themselves
            are compared, since a new constraint moves none.
    """
    if state is None:
        return 0, 0
    limit = state.max_skew if is_limited and state.max_skew is not None else UNAVOIDABLE_SKEW
    return max(0, state.skew - limit), state.uncounted if is_limited else 0


def _summarise(compared: Sequence[WorkloadComparison], unchanged: int) -> ComparisonSummary:
    findings = Counter(change.change for item in compared for change in item.findings)
    spreads = Counter(change.change for item in compared for change in item.spreads)
    presences = Counter(item.presence for item in compared)
    return ComparisonSummary(
        new=findings[ChangeKind.NEW],
        worse=findings[ChangeKind.WORSE],
        better=findings[ChangeKind.BETTER],
        resolved=findings[ChangeKind.RESOLVED],
        unchanged=unchanged,
        spreads_worse=spreads[ChangeKind.WORSE],
        spreads_better=spreads[ChangeKind.BETTER],
        added=presences[WorkloadPresence.ADDED],
        removed=presences[WorkloadPresence.REMOVED],
    )
