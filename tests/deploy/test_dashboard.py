"""Every panel about workloads shows what two audits expose, evaluated by Prometheus itself."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.audit import world
from tests.audit.world import audit
from tests.deploy.manifests import CHART
from tests.deploy.promtool import run_tests
from tests.deploy.tools import PROMTOOL, ToolError, locate
from tests.required import TOOLS, skip_or_fail
from webhook.server.audits.metrics import AuditGauges
from webhook.telemetry.exposition import expose

PANELS = json.loads((CHART / "monitoring" / "dashboard.json").read_text())["panels"]
VARIABLES = {
    "$__rate_interval": "5m",
    "$namespace": "evenspread",
    "$audited": ".*",
    "$workload": ".*",
}
BEFORE_MINUTES = 10  # of the first audit's metrics; those of the second follow


@pytest.fixture(scope="module")
def promtool() -> Path:
    try:
        return locate(PROMTOOL)
    except ToolError as error:
        skip_or_fail(str(error), TOOLS)


def expressions(title: str) -> list[str]:
    """The queries of a panel, as Grafana sends them."""
    (panel,) = [panel for panel in PANELS if panel["title"] == title]
    return [fill_in(target["expr"]) for target in panel["targets"]]


def fill_in(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def workload(name: str, *numbers: int) -> str:
    """A Deployment with these numbers of pods in zones a, b and c."""
    places = (
        f"{zone}{i}" for zone, number in zip("abc", numbers, strict=True) for i in range(number)
    )
    pods = "".join(world.pod(f"web-{place}", f"node-{place[0]}") for place in places)
    return (world.DEPLOYMENT + world.REPLICA_SET + pods).replace("web", name)


def scrape(text: str) -> dict[str, float]:
    """Series -> value, as the server exposes them after an audit of these objects."""
    gauges = AuditGauges()
    gauges.add(audit(world.NODES + text))
    families = text_string_to_metric_families(expose(gauges.samples()).decode())
    return {
        name_series(sample.name, sample.labels): sample.value
        for family in families
        for sample in family.samples
    }


def name_series(name: str, labels: dict[str, str]) -> str:
    written = ",".join(f"{label}={json.dumps(value)}" for label, value in labels.items())
    return f"{name}{{{written}}}"


def merge(first: dict[str, float], second: dict[str, float]) -> Iterator[dict[str, str]]:
    """The series over time, in the notation of promtool; ``_`` is a missing value."""
    for series in {**first, **second}:
        begin, end = (format_value(part.get(series)) for part in (first, second))
        yield {"series": series, "values": f"{begin}x{BEFORE_MINUTES} {end}x20"}
    yield {
        "series": 'evenspread_bindings_total{namespace="evenspread",result="ranked"}',
        "values": "0+60x40",
    }


def format_value(value: float | None) -> str:
    return "_" if value is None else f"{value:g}"


# A scale-down leaves api even, and web uneven.
BEFORE = workload("web", 3, 3, 2) + workload("api", 2, 2, 2)
AFTER = workload("web", 3, 1, 0) + workload("api", 1, 1, 1)

ZONE = 'topology_key="topology.kubernetes.io/zone"'
WEB = f'namespace="shop",{ZONE},workload="Deployment/web"'
API = f'namespace="shop",{ZONE},workload="Deployment/api"'

SHOWN: dict[str, list[dict[str, float]]] = {
    "Pods above maxSkew": [{f"{{{WEB}}}": 2}],
    "Skew against maxSkew": [
        {f"evenspread_skew{{{WEB}}}": 3, f"evenspread_skew{{{API}}}": 0},
        {f"evenspread_max_skew{{{WEB}}}": 1, f"evenspread_max_skew{{{API}}}": 1},
    ],
    "Pods by domain": [
        {
            f'evenspread_domain_pods{{domain="zone-{zone}",{labels}}}': pods
            for labels, numbers in ((WEB, (3, 1, 0)), (API, (1, 1, 1)))
            for zone, pods in zip("abc", numbers, strict=True)
        }
    ],
    "Evictions that even out": [{"{}": 1}, {f"evenspread_needed_evictions{{{WEB}}}": 1}],
    "Scale-downs": [{"{}": 2}, {"{}": 1}],
    "Ranks given a second": [{'{result="ranked"}': 1}, {}],
    "Workloads by spread": [{"{}": 1}, {"{}": 0}, {"{}": 2}],
    "Findings of the last audit": [{'{action="audit",rule="TSC114"}': 1}],
}


def test_the_panels_show_two_audits_and_a_scale_down(promtool: Path, tmp_path: Path) -> None:
    tests = [
        {
            "expr": expression,
            "eval_time": f"{BEFORE_MINUTES + 3}m",
            "exp_samples": [{"labels": name, "value": value} for name, value in shown.items()],
        }
        for title, expected in SHOWN.items()
        for expression, shown in zip(expressions(title), expected, strict=True)
    ]
    series = list(merge(scrape(BEFORE), scrape(AFTER)))
    suite = {"interval": "1m", "input_series": series, "promql_expr_test": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump({"tests": [suite]}))

    run_tests(promtool, tmp_path / "tests.yaml")


def test_every_query_is_valid(promtool: Path, tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{panel['id']}:{target['refId']}", "expr": fill_in(target["expr"])}
        for panel in PANELS
        for target in panel["targets"]
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    done = subprocess.run(
        [promtool, "check", "rules", file], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(rules)} rules found" in done.stdout
