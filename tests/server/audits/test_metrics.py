"""What is shown of an audit."""

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from tests.audit.world import EVERYTHING, MISCOUNTED, audit, finding, report, spread_report
from webhook.audit.report import AuditReport, AuditSeverity, DomainCount, SpreadReport
from webhook.audit.spreads import MOST_CELLS
from webhook.server.audits.metrics import (
    MOST_DOMAIN_ROWS,
    MOST_SKEW_ROWS,
    AuditGauges,
    SkewRow,
    skew_rows,
)
from webhook.telemetry.catalogue import (
    AUDIT_FINDINGS,
    AUDIT_NAMESPACES_LEFT_OUT,
    AUDIT_ROWS_LEFT_OUT,
    AUDIT_WORKLOADS,
    AUDITED,
    DOMAIN_PODS,
    DOMAINS,
    MAX_SKEW,
    NEEDED_EVICTIONS,
    POD_SKEW,
    SKEW,
    UNCOUNTED_PODS,
    WORKLOAD_PODS,
)
from webhook.telemetry.exposition import Samples, expose

ZONE = "topology.kubernetes.io/zone"
WEB = ("shop", "Deployment/web", ZONE)


def spread(skew: int, max_skew: int | None = 1, topology_key: str = ZONE) -> SpreadReport:
    return spread_report(
        topology_key=topology_key, max_skew=max_skew, skew=skew, own_skew=skew, domains=3
    )


def gauges(*reports: AuditReport, most: int = MOST_SKEW_ROWS) -> AuditGauges:
    made = AuditGauges(most)
    for audit_report in reports:
        made.add(audit_report)
    return made


def test_skew_and_max_skew() -> None:
    samples = gauges(audit(EVERYTHING)).samples()

    assert samples[SKEW] == samples[POD_SKEW] == {WEB: 3}
    assert samples[MAX_SKEW] == {WEB: 1}
    assert samples[DOMAINS] == {WEB: 3}
    assert samples[WORKLOAD_PODS] == {WEB: 4}
    assert samples[NEEDED_EVICTIONS] == {WEB: 1}
    assert samples[DOMAIN_PODS] == {
        (*WEB, "zone-a"): 3,
        (*WEB, "zone-b"): 1,
        (*WEB, "zone-c"): 0,
    }
    assert samples[AUDIT_WORKLOADS] == {(): 3}


def test_the_skew_of_counted_pods_and_that_of_all_pods_are_two_metrics() -> None:
    samples = gauges(audit(MISCOUNTED)).samples()

    assert (samples[SKEW], samples[MAX_SKEW]) == ({WEB: 0}, {WEB: 1})
    assert samples[POD_SKEW] == {WEB: 4}
    assert samples[UNCOUNTED_PODS] == {WEB: 4}


def test_a_workload_without_constraints_has_only_the_skew_of_its_pods() -> None:
    samples = gauges(report(spreads=(spread(2, None),))).samples()

    assert (samples[POD_SKEW], samples[SKEW], samples[MAX_SKEW]) == ({WEB: 2}, {}, {})
    assert samples[NEEDED_EVICTIONS] == {}


@pytest.mark.parametrize("mark", ["replaced", "rolling_out"])
def test_pods_that_a_rollout_deletes_or_evens_out_have_no_series(mark: str) -> None:
    leaving = replace(spread(9), **{mark: True})

    assert gauges(report(spreads=(leaving, spread(1)))).samples()[SKEW] == {WEB: 1}


SEVERAL = {
    "the one that is exceeded by more": ((spread(3, 2), spread(3, 1)), 1),
    "the one that is exceeded, not the one of more pods": ((spread(9, 9), spread(3, 1)), 1),
    "of equals the first": ((spread(3, 1), spread(3, 1)), 1),
    "one with a maxSkew, if it is exceeded": ((spread(3, None), spread(3, 2)), 2),
}


@pytest.mark.parametrize(("spreads", "max_skew"), SEVERAL.values(), ids=SEVERAL)
def test_of_constraints_with_one_key_counts(
    spreads: tuple[SpreadReport, ...], max_skew: int
) -> None:
    (row,) = skew_rows(report(spreads=spreads).workloads)

    assert row.max_skew == max_skew


def test_findings_are_counted_by_rule_and_action() -> None:
    one = report(finding(), finding(), exempted=(finding(reason="by contract"),))
    other = report(finding(severity=AuditSeverity.DENY))

    made = gauges(one, other)

    assert made.samples()[AUDIT_FINDINGS] == {
        ("TSC101", "warn"): 2,
        ("TSC101", "exempt"): 1,
        ("TSC101", "deny"): 1,
    }
    assert (made.workloads, made.findings) == (2, 3)


def test_of_too_many_workloads_the_most_uneven_are_shown_and_the_rest_counted() -> None:
    reports = [report(name=f"web-{skew}", spreads=(spread(skew),)) for skew in range(30)]

    samples = gauges(*reports, most=3).samples()

    assert [workload for _, workload, _ in samples[SKEW]] == [
        "Deployment/web-29",
        "Deployment/web-28",
        "Deployment/web-27",
    ]
    assert samples[AUDIT_ROWS_LEFT_OUT] == {(): 27}


def test_namespaces_that_were_left_out_are_counted() -> None:
    assert gauges().samples()[AUDIT_NAMESPACES_LEFT_OUT] == {(): 0}
    assert gauges().samples(["a", "b"])[AUDIT_NAMESPACES_LEFT_OUT] == {(): 2}


def test_skews_of_counted_pods_and_of_all_pods_have_equal_weight_in_the_order() -> None:
    counted = spread_report(topology_key=ZONE, skew=3, own_skew=0)
    located = spread_report(topology_key=ZONE, skew=0, own_skew=4)
    reports = [report(name=name, spreads=(one,)) for name, one in (("a", counted), ("b", located))]

    (first,) = gauges(*reports, most=1).samples()[POD_SKEW]

    assert first == ("shop", "Deployment/b", ZONE)


def test_the_order_in_which_namespaces_come_is_of_no_account() -> None:
    reports = [report(name=f"web-{number}", spreads=(spread(2),)) for number in range(9)]

    assert gauges(*reports, most=3).samples() == gauges(*reversed(reports), most=3).samples()


def test_the_text_is_as_small_as_documented() -> None:
    rows = [
        SkewRow("n" * 63, f"Deployment/{i:063}", ZONE, 1, 1, 1, 3) for i in range(MOST_SKEW_ROWS)
    ]
    metrics = SKEW, POD_SKEW, UNCOUNTED_PODS, MAX_SKEW, DOMAINS, WORKLOAD_PODS, NEEDED_EVICTIONS
    samples: Samples = {metric: {row.labels: 1.0 for row in rows} for metric in metrics}
    assert len(expose(samples)) < 3.5e6

    domains = [f"{i:063}" for i in range(MOST_CELLS)]
    fullest: dict[tuple[str, ...], float] = {
        (*row.labels, domain): 1.0 for row in rows[:MOST_DOMAIN_ROWS] for domain in domains
    }
    assert len(expose({DOMAIN_PODS: fullest})) < 0.7e6


def test_domains_are_shown_of_the_most_uneven_workloads_and_none_without_nodes() -> None:
    cells = DomainCount("a", 1, 2, 2, 1), DomainCount("no domain", 0, 1, 1, 1)
    reports = [
        report(name=f"web-{skew}", spreads=(replace(spread(skew), cells=cells),))
        for skew in range(MOST_DOMAIN_ROWS + 5)
    ]

    shown = gauges(*reports).samples()[DOMAIN_PODS]

    assert len(shown) == MOST_DOMAIN_ROWS
    assert ("shop", f"Deployment/web-{MOST_DOMAIN_ROWS + 4}", ZONE, "a") in shown
    assert ("shop", "Deployment/web-4", ZONE, "a") not in shown


def test_every_metric_is_named_and_read_by_prometheus() -> None:
    text = expose({SKEW: {("shop", 'a"b\\c\n', ZONE): 2.0}}).decode()

    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families.keys() == {metric.name for metric in AUDITED}
    (sample,) = families[SKEW.name].samples
    assert (sample.labels["workload"], sample.value) == ('a"b\\c\n', 2)
