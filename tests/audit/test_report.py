"""Reports give titles, excesses, and all findings with their workloads."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.audit.world import finding, report, spread_report
from tests.schemas import describe_schema
from webhook.audit.report import (
    AuditReport,
    AuditSeverity,
    SpreadReport,
    UncountedPods,
    describe_counted,
    list_outside,
)

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
    assert spread_report(max_skew=max_skew, skew=3).excess == excess


PART = spread_report(
    domains=3,
    skew=1,
    own=7,
    own_skew=0,
    counted=1,
    others=4,
    uncounted=UncountedPods(pending=1, unknown_node=1, without_key=1, ineligible=1, unselected=2),
)
FULL = replace(PART, counted=7, others=0, uncounted=UncountedPods())

EVEN = {
    "all pods are counted": (FULL, True, False),
    "pods are not counted": (PART, False, True),
    "other pods count": (replace(FULL, others=1), True, True),
    "the counted pods are uneven": (replace(FULL, skew=2), False, False),
    "the pods themselves are uneven": (replace(FULL, own_skew=2), False, False),
    "a rollout deletes the pods": (replace(FULL, skew=9, replaced=True), True, False),
    "a rollout can end the skew": (replace(FULL, skew=9, rolling_out=True), True, False),
    "nothing limits them": (replace(PART, max_skew=None, own_skew=9), True, False),
}


@pytest.mark.parametrize(("spread", "even", "differs"), EVEN.values(), ids=EVEN)
def test_a_spread_is_even_if_its_pods_are_and_all_are_counted(
    spread: SpreadReport, even: bool, differs: bool
) -> None:
    assert (spread.is_even, spread.counts_differ) == (even, differs)


def test_uncounted_pods_are_described_by_their_reasons() -> None:
    assert describe_counted(PART) == (
        "1 of 7 pods (1 Pending, 1 on unknown nodes, 1 on nodes without the key, 1 on nodes that "
        "are not eligible, 2 not selected by labelSelector) and 4 of others"
    )
    assert describe_counted(FULL) == "7 of 7 pods"
    assert list_outside(PART.uncounted) == [
        "1 Pending",
        "1 on unknown nodes",
        "1 on nodes without the key",
    ]


EXCEEDS = {
    "a warning is no denial": (AuditSeverity.DENY, False),
    "a warning is a warning": (AuditSeverity.WARN, True),
    "a warning is more severe than an audit": (AuditSeverity.AUDIT, True),
    "there is no threshold": (None, False),
}


@pytest.mark.parametrize(("threshold", "expected"), EXCEEDS.values(), ids=EXCEEDS)
def test_a_report_exceeds_a_threshold(threshold: AuditSeverity | None, expected: bool) -> None:
    assert report(finding(severity=AuditSeverity.WARN)).exceeds(threshold) is expected


PROBLEMS = {
    "the problem does not name the field": ("it is 0", "spec.maxSkew: it is 0"),
    "the problem names the field": ('unknown field "spec.maxSkew"', 'unknown field "spec.maxSkew"'),
}


@pytest.mark.parametrize(("problem", "located"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_located_problem_names_its_field_once(problem: str, located: str) -> None:
    assert finding(field="spec.maxSkew", problem=problem).located_problem == located


ABOUT = {
    "all pods": (FULL, "zone"),
    "a revision": (replace(FULL, revision="hash=h1"), "zone, hash=h1"),
    "a revision that is rolled out": (
        replace(FULL, revision="hash=h2", rolling_out=True),
        "zone, hash=h2, being rolled out",
    ),
    "a replaced revision": (
        replace(FULL, revision="hash=h1", replaced=True),
        "zone, hash=h1, being replaced",
    ),
}


@pytest.mark.parametrize(("spread", "about"), ABOUT.values(), ids=ABOUT)
def test_a_spread_describes_its_pods(spread: SpreadReport, about: str) -> None:
    assert spread.about == about


SHORTAGES = {
    "enough domains": (replace(PART, min_domains=3), ""),
    "too few domains": (replace(PART, min_domains=5), "minimum 0: minDomains 5, found 3"),
    "no domain": (replace(PART, min_domains=5, domains=0), ""),
}


@pytest.mark.parametrize(("spread", "text"), SHORTAGES.values(), ids=SHORTAGES)
def test_a_minimum_without_enough_domains_is_described(spread: SpreadReport, text: str) -> None:
    assert spread.shortage == text
