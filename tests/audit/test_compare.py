"""What becomes better and worse between two reports."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.audit.world import finding, report, spread_report
from webhook.audit.compare import compare_reports
from webhook.audit.comparison import AuditComparison, ChangeKind, WorkloadPresence
from webhook.audit.report import (
    AuditFinding,
    AuditReport,
    AuditSeverity,
    SpreadReport,
    UncountedPods,
    WorkloadReport,
)
from webhook.audit.scan import summarise

DENY = finding(severity=AuditSeverity.DENY)
WARN = finding(severity=AuditSeverity.WARN)
EXEMPT = finding(severity=AuditSeverity.WARN, reason="by contract")
OTHER = finding(rule="TSC110", fingerprint="f" * 16)

Findings = tuple[AuditFinding, ...]
FINDINGS: dict[str, tuple[Findings, Findings, list[tuple[str, str, str]]]] = {
    "the same": ((WARN,), (WARN,), []),
    "other numbers in its message": ((WARN,), (replace(WARN, problem="skew 5"),), []),
    "new": ((), (WARN,), [("new", "", "warn")]),
    "resolved": ((WARN,), (), [("resolved", "warn", "")]),
    "more severe": ((WARN,), (DENY,), [("worse", "warn", "deny")]),
    "less severe": ((DENY,), (WARN,), [("better", "deny", "warn")]),
    "exempted": ((WARN,), (EXEMPT,), [("resolved", "warn", "exempted")]),
    "no longer exempted": ((EXEMPT,), (WARN,), [("new", "exempted", "warn")]),
    "exempted before and gone": ((EXEMPT,), (), []),
    "one more of equals": ((WARN,), (WARN, WARN), [("new", "", "warn")]),
    "of equals the most severe are paired": ((WARN, DENY), (DENY,), [("resolved", "warn", "")]),
    "another rule": ((WARN,), (OTHER,), [("new", "", "warn"), ("resolved", "warn", "")]),
}


@pytest.mark.parametrize(("before", "after", "changes"), FINDINGS.values(), ids=FINDINGS)
def test_findings(before: Findings, after: Findings, changes: list[tuple[str, str, str]]) -> None:
    compared = compare_reports(made(before), made(after))

    found = [item for workload in compared.workloads for item in workload.findings]
    assert [(item.change, item.before, item.after) for item in found] == changes


def made(findings: Findings, *spreads: SpreadReport) -> AuditReport:
    reported = tuple(item for item in findings if not item.reason)
    return report(
        *reported, exempted=tuple(item for item in findings if item.reason), spreads=spreads
    )


def spread(skew: int, max_skew: int | None = 1, uncounted: int = 0) -> SpreadReport:
    pods = UncountedPods(pending=uncounted)
    return spread_report(skew=skew, own_skew=skew, max_skew=max_skew, uncounted=pods)


SPREADS: dict[str, tuple[SpreadReport | None, SpreadReport | None, str]] = {
    "the same": (spread(3), spread(3), ""),
    "within maxSkew": (spread(0), spread(1), ""),
    "above maxSkew": (spread(1), spread(2), "worse"),
    "less above maxSkew": (spread(5), spread(2), "better"),
    "a larger maxSkew": (spread(3), spread(3, 3), "better"),
    "more pods that are not counted": (spread(1), spread(1, uncounted=2), "worse"),
    "fewer of them, and more above maxSkew": (spread(1, uncounted=2), spread(4), "worse"),
    "a constraint for pods that stay": (spread(3, None), spread(3), ""),
    "without a constraint, a skew of 1": (spread(0, None), spread(1, None), ""),
    "without a constraint, more": (spread(1, None), spread(3, None), "worse"),
    "the first pods are even": (None, spread(1), ""),
    "the first pods are uneven": (None, spread(2), "worse"),
    "no pods are left": (spread(2), None, "better"),
    "a rollout moves the pods": (spread(1), replace(spread(9), rolling_out=True), ""),
}


@pytest.mark.parametrize(("before", "after", "change"), SPREADS.values(), ids=SPREADS)
def test_spreads(before: SpreadReport | None, after: SpreadReport | None, change: str) -> None:
    compared = compare_reports(*(made((), *filter(None, [row])) for row in (before, after)))

    found = [item.change for workload in compared.workloads for item in workload.spreads]
    assert found == ([change] if change else [])


def test_of_several_spreads_over_a_key_the_most_uneven_counts() -> None:
    before = made((), spread(2), spread(4))
    after = made((), spread(4), spread(2))

    assert compare_reports(before, after).workloads == ()


PRESENCES = {
    "added": ((), (WARN,), WorkloadPresence.ADDED),
    "removed": ((WARN,), (), WorkloadPresence.REMOVED),
}


@pytest.mark.parametrize(("before", "after", "presence"), PRESENCES.values(), ids=PRESENCES)
def test_workloads_of_one_report(
    before: Findings, after: Findings, presence: WorkloadPresence
) -> None:
    reports = [
        made(findings) if findings else replace(report(), workloads=())
        for findings in (before, after)
    ]

    compared = compare_reports(*reports)

    assert [workload.presence for workload in compared.workloads] == [presence]
    assert (compared.summary.added, compared.summary.removed) == (
        presence is WorkloadPresence.ADDED,
        presence is WorkloadPresence.REMOVED,
    )


def test_a_workload_of_another_version_of_its_api_is_the_same() -> None:
    old = report(WARN, api_version="apps/v1beta1")

    assert compare_reports(old, report(WARN)).workloads == ()
    assert len(compare_reports(report(WARN, api_version="argoproj.io/v1"), old).workloads) == 2


def test_the_summary_counts_everything() -> None:
    before = made((WARN, OTHER, EXEMPT), spread(1))
    after = made((DENY, replace(WARN, fingerprint="0" * 16)), spread(3))

    found = compare_reports(before, after).summary

    assert (found.new, found.worse, found.better, found.resolved) == (1, 1, 0, 1)
    assert (found.unchanged, found.spreads_worse, found.spreads_better) == (0, 1, 0)


severities = st.sampled_from(AuditSeverity)
findings = st.builds(
    lambda severity, number, reason: finding(
        severity=severity, rule=f"TSC10{number}", fingerprint=f"{number:016}", reason=reason
    ),
    severities,
    st.integers(1, 4),
    st.sampled_from(["", "", "by contract"]),
)
rows = st.builds(
    lambda key, skew, max_skew, uncounted: replace(
        spread(skew, max_skew, uncounted), topology_key=key
    ),
    st.sampled_from(["zone", "rack"]),
    st.integers(0, 5),
    st.sampled_from([None, 1, 3]),
    st.integers(0, 2),
)


@st.composite
def reports(draw: st.DrawFn) -> AuditReport:
    names = draw(st.lists(st.sampled_from(["web", "api", "db"]), max_size=4))
    workloads = tuple(_draw_workload(draw, name) for name in sorted(names))
    return AuditReport(
        kubernetes="1.37", summary=summarise(workloads, nodes=0), workloads=workloads
    )


def _draw_workload(draw: st.DrawFn, name: str) -> WorkloadReport:
    found = draw(st.lists(findings, max_size=4))
    (workload,) = made(tuple(found), *draw(st.lists(rows, max_size=3))).workloads
    return replace(workload, name=name)


@given(reports())
def test_a_report_has_no_changes_since_itself(one: AuditReport) -> None:
    compared = compare_reports(one, one)

    assert compared.workloads == ()
    assert compared.summary.unchanged == sum(len(item.findings) for item in one.workloads)
    assert not compared.exceeds(AuditSeverity.AUDIT)


MIRRORED = {
    ChangeKind.NEW: ChangeKind.RESOLVED,
    ChangeKind.WORSE: ChangeKind.BETTER,
    ChangeKind.BETTER: ChangeKind.WORSE,
    ChangeKind.RESOLVED: ChangeKind.NEW,
}


def changes(compared: AuditComparison) -> set[tuple[object, ...]]:
    """Every change with its states; several equal findings are one."""
    found = {
        (workload.title, item.finding.fingerprint, item.change, item.before, item.after)
        for workload in compared.workloads
        for item in workload.findings
    }
    return found | {
        (workload.title, item.topology_key, item.change, item.before, item.after)
        for workload in compared.workloads
        for item in workload.spreads
    }


@given(reports(), reports())
def test_backwards_is_the_mirror_of_forwards(one: AuditReport, other: AuditReport) -> None:
    forwards, backwards = compare_reports(one, other), compare_reports(other, one)

    assert changes(backwards) == {
        (title, what, MIRRORED[change], after, before)
        for title, what, change, before, after in changes(forwards)
        if isinstance(change, ChangeKind)
    }
    assert backwards.summary == msgspec.structs.replace(
        forwards.summary,
        new=forwards.summary.resolved,
        worse=forwards.summary.better,
        better=forwards.summary.worse,
        resolved=forwards.summary.new,
        spreads_worse=forwards.summary.spreads_better,
        spreads_better=forwards.summary.spreads_worse,
        added=forwards.summary.removed,
        removed=forwards.summary.added,
    )
