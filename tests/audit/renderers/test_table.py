from tests.audit.world import EVERYTHING, audit, finding, report
from webhook.audit.renderers import render_report
from webhook.audit.report import DefaultsReport


def test_findings_are_grouped_by_workload_with_the_spread_of_its_pods() -> None:
    text = render_report(audit(EVERYTHING), "table")

    assert "Deployment shop/web  all.yaml:" in text
    assert "  4 pods\n" in text
    assert (
        "  spread skew 3 of 1  topology.kubernetes.io/zone: zone-a 3 | zone-b 1 | zone-c 0\n"
        in text
    )
    assert text.endswith("3 workloads, 5 pods, 3 nodes: 1 deny, 0 warn, 2 audit; 1 of 1 uneven\n")


def test_there_is_no_line_a_pod() -> None:
    assert "web-1-0" not in render_report(audit(EVERYTHING), "table")


def test_workloads_in_order_are_left_out() -> None:
    assert (
        render_report(report(), "table") == "1 workload, 0 pods, 0 nodes: 0 deny, 0 warn, 0 audit\n"
    )


def test_a_finding_shows_its_fix_in_several_lines() -> None:
    text = render_report(report(finding(instead="a: 1\nb: 2"), source="web.yaml", line=3), "table")

    assert text.splitlines()[:4] == [
        "Deployment shop/web  web.yaml:3",
        f"  warn   TSC101  web.yaml:7: {finding().field}: it does not match",
        "         instead: a: 1",
        "                  b: 2",
    ]


def test_exemptions_are_listed_with_their_reason() -> None:
    text = render_report(report(exempted=(finding(reason="by contract"),)), "table")

    assert "  exempt TSC101  " in text
    assert "it does not match (exempted: by contract)\n" in text


def test_the_defaults_of_the_next_pods_are_listed() -> None:
    constraint = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "ScheduleAnyway"}
    defaults = DefaultsReport(profile="all", constraints=(constraint,))

    text = render_report(report(finding(), defaults=defaults), "table")

    assert "\n  its next pods get, by profile all: zone (maxSkew 2, ScheduleAnyway)\n" in text
