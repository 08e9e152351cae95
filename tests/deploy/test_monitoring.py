"""Alerts and dashboard ask for metrics that exist, and each alert fires when it should."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.deploy.manifests import CHART, DEPLOY, MONITORING, Helm, Json, by_name
from tests.deploy.promtool import run_tests
from tests.deploy.tools import PROMTOOL, ToolError, locate
from tests.required import TOOLS, skip_or_fail
from webhook.telemetry.catalogue import METRICS, Type

RULES = CHART / "monitoring" / "rules.yaml"
DASHBOARD = CHART / "monitoring" / "dashboard.json"
ALERT_TESTS = Path(__file__).with_name("alerts.yaml")

ELSEWHERE = {
    "apiserver_admission_webhook_fail_open_count",  # k8s.io/apiserver pkg/admission/metrics
    "process_resident_memory_bytes",  # prometheus-client's ProcessCollector
    "up",  # of each scrape
}
"""Queried metrics that are not in our catalogue."""

NAMED = (
    "Down",
    "NotReady",
    "ErrorRate",
    "Latency",
    "CertificateExpiring",
    "CABundleOutOfSync",
    "WebhookConfigurationDrift",
    "CacheStale",
    "TaskFailing",
    "EventLoopBlocked",
    "ConfigInvalid",
    "OwnerLookupsFailing",
    "FailOpen",
)


def alerts() -> list[Json]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    rules: list[Json] = group["rules"]
    return rules


def queries() -> Iterator[str]:
    yield from (alert["expr"] for alert in alerts())
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def metrics_of(query: str) -> set[str]:
    """The metrics of a query: names before a selector, and those with our prefix."""
    plain = re.sub(r'"[^"]*"', '""', query)
    return set(re.findall(r"[a-z_]+(?=\{)|\bevenspread_\w+", plain))


def served() -> set[str]:
    """Every name that a scrape of ours can have."""
    parts = {Type.HISTOGRAM: ("_bucket", "_count", "_sum")}
    return {f"{row.name}{part}" for row in METRICS for part in parts.get(row.type, ("",))}


def test_every_query_names_a_metric_that_exists() -> None:
    queried = set().union(*map(metrics_of, queries()))

    assert queried - served() == ELSEWHERE


def test_every_reason_of_a_query_is_in_the_reference() -> None:
    reference = (DEPLOY.parent / "docs" / "reference.md").read_text()

    for query in queries():
        for reasons in re.findall(r'reason=~"([^"]*)"', query):
            assert all(f"\n| `{reason}` |" in reference for reason in reasons.split("|"))


def test_every_label_that_is_summed_by_exists() -> None:
    of_targets = {"namespace", "pod", "job", "name", "le"}
    known = {label for row in METRICS for label in row.labels} | of_targets

    for query in queries():
        for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", query):
            assert {label.strip() for label in labels.split(",")} <= known, query


def test_there_is_an_alert_for_each_fault_with_its_runbook() -> None:
    assert [alert["alert"] for alert in alerts()] == [f"Evenspread{name}" for name in NAMED]
    for alert in alerts():
        assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}
        page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
        assert anchor == alert["alert"].lower()
        assert f"\n## {alert['alert']}\n" in (DEPLOY.parent / page).read_text()
        assert alert["labels"]["severity"] in ("warning", "critical")


def test_the_chart_links_to_the_runbooks(helm: Helm) -> None:
    values = {**MONITORING, "prometheusRule": {"enabled": True, "runbooks": "https://wiki/spread"}}

    (group,) = by_name(helm.objects(values))["PrometheusRule/evenspread"]["spec"]["groups"]
    found = [rule["annotations"]["runbook_url"] for rule in group["rules"]]
    assert all(url.startswith("https://wiki/spread#evenspread") for url in found)


def test_the_scrapes_have_the_job_that_the_alerts_ask_for(helm: Helm) -> None:
    objects = by_name(helm.objects({**MONITORING, "name": "spreader"}))

    monitor = objects["ServiceMonitor/spreader"]["spec"]
    service = objects["Service/spreader"]
    assert service["metadata"]["labels"][monitor["jobLabel"]] == "evenspread"
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert monitor["endpoints"][0]["honorLabels"], "namespace is that of the workload"


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]

    assert len(set(places)) == len(places)
    assert all(panel["title"] and panel["description"] for panel in panels)


@pytest.fixture(scope="session")
def promtool() -> Path:
    try:
        return locate(PROMTOOL)
    except ToolError as error:
        skip_or_fail(str(error), TOOLS)


def test_the_rules_are_valid(promtool: Path) -> None:
    done = subprocess.run(
        [promtool, "check", "rules", RULES], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert f"{len(NAMED)} rules found" in done.stdout


def test_each_alert_fires_when_it_should(promtool: Path, tmp_path: Path) -> None:
    tests = yaml.safe_load(ALERT_TESTS.read_text())
    wordless = [{**rule, "annotations": {}} for rule in alerts()]  # the words may change
    rules = {"groups": [{"name": "evenspread", "rules": wordless}]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules))
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests))

    run_tests(promtool, tmp_path / "tests.yaml")
    tested = {
        case["alertname"] for test in tests["tests"] for case in test.get("alert_rule_test", ())
    }
    assert tested == {f"Evenspread{name}" for name in NAMED}
