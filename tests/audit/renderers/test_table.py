from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit import world
from tests.audit.world import EVERYTHING, MISCOUNTED, audit, finding, pod, report, spread_report
from webhook.audit.exemptionreport import report_exceptions
from webhook.audit.renderers import render_report
from webhook.audit.renderers.table import TextStyle, format_lines
from webhook.audit.report import DefaultsReport, UncountedPods
from webhook.policy.policyexceptions import PolicyException

END = datetime(2027, 1, 31, tzinfo=UTC)


def test_findings_are_grouped_by_workload_with_the_spread_of_its_pods() -> None:
    text = render_report(audit(EVERYTHING), "table")

    assert "Deployment shop/web  all.yaml:" in text
    assert "  4 pods\n" in text
    assert (
        "  spread skew 3 of 1  topology.kubernetes.io/zone: zone-a 3 | zone-b 1 | zone-c 0\n"
        in text
    )
    assert text.endswith("3 workloads, 4 pods, 3 nodes: 1 deny, 0 warn, 2 audit; 1 of 1 uneven\n")


def test_what_a_constraint_counts_is_beside_where_the_pods_are() -> None:
    text = render_report(audit(MISCOUNTED), "table")

    assert (
        "  spread skew 4 of 1  topology.kubernetes.io/zone: zone-a 4 | zone-b 0 | zone-c 0\n"
        "  counts skew 0  0 of 4 pods (4 not selected by labelSelector): "
        "zone-a 0 | zone-b 0 | zone-c 0\n"
    ) in text
    assert text.endswith("; 1 of 1 uneven\n")


def live(*pods: str) -> str:
    return world.NODES + world.DEPLOYMENT + world.REPLICA_SET + "".join(pods)


def test_a_workload_that_is_not_counted_in_full_is_neither_even_nor_uneven() -> None:
    pods = [pod(f"web-{zone}", f"node-{zone}") for zone in "abc"]

    text = render_report(audit(live(*pods, pod("web-d", ""))), "table")

    assert (
        "  spread skew 0 of 1  topology.kubernetes.io/zone: "
        "zone-a 1 | zone-b 1 | zone-c 1 | 1 Pending\n"
        "  counts skew 0  3 of 4 pods (1 Pending): zone-a 1 | zone-b 1 | zone-c 1\n"
    ) in text
    assert text.endswith("; 0 of 1 uneven, 1 not counted in full\n")


STYLES = {
    "uneven": ({"own_skew": 2}, TextStyle.BAD),
    "even": ({}, TextStyle.GOOD),
    "not counted in full": ({"uncounted": UncountedPods(pending=1)}, TextStyle.DOUBTFUL),
    "without a constraint": ({"max_skew": None}, TextStyle.PLAIN),
}


@pytest.mark.parametrize(("changes", "style"), STYLES.values(), ids=STYLES)
def test_a_spread_is_colored_by_what_it_means(changes: dict[str, Any], style: TextStyle) -> None:
    lines = format_lines(report(finding(), spreads=(spread_report(**changes),)))

    (skew,) = [line[1] for line in lines if line and line[0][0] == "  spread "]
    assert skew[1] is style


def test_pods_on_nodes_that_are_not_eligible_do_not_list_a_workload() -> None:
    cordoned = (
        world.NODES.split("---")[1]
        .replace("-a", "-d")
        .replace("metadata:", "spec: {unschedulable: true}\nmetadata:")
    )
    nodes = f"{world.NODES}---{cordoned}"
    soft = "".join(pod(f"web-{zone}", f"node-{zone}") for zone in "abcd").replace(
        "DoNotSchedule", "ScheduleAnyway"
    )

    text = render_report(audit(f"{nodes}{world.DEPLOYMENT}{world.REPLICA_SET}{soft}"), "table")

    assert "spread" not in text
    assert text.endswith("; 0 of 1 uneven, 1 not counted in full\n")


def test_too_few_domains_are_named_beside_the_skew() -> None:
    spread = spread_report(skew=1, own_skew=1, domains=3, min_domains=5)

    lines = format_lines(report(finding(), spreads=(spread,)))

    (skew,) = [line[1] for line in lines if line and line[0][0] == "  spread "]
    assert skew[0] == "skew 1 of 1, minimum 0: minDomains 5, found 3"


def test_counted_pods_of_others_are_named() -> None:
    pods = [pod(f"web-{i}", "node-a") for i in range(2)]
    others = [pod(f"old-{zone}", f"node-{zone}", "Fleet/old") for zone in "bc"]

    text = render_report(audit(live(*pods, *others)), "table")

    assert "  counts skew 1  2 of 2 pods and 2 of others: zone-a 2 | zone-b 1 | zone-c 1\n" in text


def test_revisions_have_lines_of_their_own() -> None:
    new = world.REPLICA_SET.replace("web-1", "web-2").replace("h1", "h2")
    old_pods = [pod(f"web-1-{i}", "node-a") for i in range(3)]
    new_pods = [pod(f"web-2-{i}", "node-b", "ReplicaSet/web-2", revision="h2") for i in range(2)]

    text = render_report(audit(live(new, *old_pods, *new_pods)), "table")

    zone = "topology.kubernetes.io/zone"
    assert f"  spread skew 3 of 1  {zone}, pod-template-hash=h1: zone-a 3 | zone-b 0 " in text
    assert f"  spread skew 2 of 1  {zone}, pod-template-hash=h2: zone-b 2 | zone-a 0 " in text


def test_of_many_domains_the_fullest_are_listed() -> None:
    zones = "".join(world.NODES.replace("node-", f"node-{i}-").replace("zone-", f"zone-{i}-")
                    for i in range(500))  # fmt: skip
    pods = "".join(pod(f"web-{i}", "node-7-a") for i in range(3))

    text = render_report(audit(zones + live(pods).removeprefix(world.NODES)), "table")

    assert "zone-7-a 3 | and 1499 more\n" in text


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


def test_all_workloads_are_in_the_wide_table() -> None:
    even = audit(live(*(pod(f"web-{zone}", f"node-{zone}") for zone in "abc")))

    assert "Deployment shop/web" not in render_report(even, "table")
    assert "Deployment shop/web" in render_report(even, "wide")


EXCEPTIONS = report_exceptions(
    [
        PolicyException(namespace="shop", name="a", reason="one zone", rules=("TSC110",)),
        PolicyException(namespace="shop", name="b", reason="old", defaults=True, expires=END),
    ],
    {("shop", "a"): 3},
    END,
)


def test_exceptions_are_listed_with_their_reasons_and_ends() -> None:
    text = render_report(replace(report(), exceptions=EXCEPTIONS), "table")

    assert (
        "SpreadPolicyException shop/a  without end  exempts from TSC110, 3 findings: one zone\n"
        "SpreadPolicyException shop/b  expired 2027-01-31T00:00:00Z  exempts from defaults: old\n"
        "\n1 workload, "
    ) in text
