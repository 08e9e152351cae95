"""
The audit on manifests that others wrote: ``python -m tests.audit.publiccharts`` counts findings.

Well-known projects publish their Helm charts and examples inside their Go modules. These are
fetched into Go's own cache, pinned and checked against the checksum database; nothing of them is
kept here. Charts are rendered as they come, and once more with 3 replicas wherever their values
name a number. Each project is audited without a cluster, and on one of 3 zones with 3 nodes each.
Needs the network, Go, and the Helm of ``make tools``; takes 90 s on 2 cores, and is no part of the
suite: whether a finding is a false alarm is for a person to judge. What was judged is in
CONTRIBUTING.md. Charts that others depend on are not fetched, and are left out.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from tests.deploy.tools import HELM, ToolError, locate

MODULES = (
    "github.com/argoproj/argo-cd/v2@v2.14.21",
    "github.com/cert-manager/cert-manager@v1.21.2",
    "github.com/chaos-mesh/chaos-mesh@v0.9.1-0.20260902003049-47411975a8cb",
    "github.com/cilium/cilium@v1.20.2",
    "github.com/dapr/dapr@v1.14.0",
    "github.com/envoyproxy/gateway@v1.9.1",
    "github.com/external-secrets/external-secrets@v1.3.2",
    "github.com/fluxcd/flagger@v1.36.1",
    "github.com/grafana/loki/v3@v3.7.8",
    "github.com/kedacore/keda/v2@v2.21.0",
    "github.com/kyverno/kyverno@v1.19.1",
    "github.com/open-policy-agent/gatekeeper/v3@v3.23.1",
    "github.com/projectcontour/contour@v1.33.8",
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "istio.io/istio@v0.0.0-20260827124520-eed52ebb66ad",
    "k8s.io/ingress-nginx@v0.0.0-20240708192948-52c50467d67d",
    "knative.dev/serving@v0.51.0",
    "sigs.k8s.io/aws-load-balancer-controller@v1.1.9",
    "sigs.k8s.io/descheduler@v0.36.0",
    "sigs.k8s.io/metrics-server@v0.9.0",
)

ASKED = {
    "cilium": ("k8sServiceHost=a",),
    "descheduler": ("kind=Deployment", "leaderElection.enabled=true"),
    "loki": (
        "loki.useTestSchema=true",
        "loki.storage.bucketNames.chunks=a",
        "loki.storage.bucketNames.ruler=a",
    ),
}
"""Values that a chart, by the name of its folder, must be given to be rendered, or to have
replicas at all."""

WORKLOAD = re.compile(
    r"^kind: (Deployment|StatefulSet|DaemonSet|ReplicaSet|Job|CronJob|Pod)\s*$", re.MULTILINE
)
NOT_MANIFESTS = frozenset({"testdata", "test", "tests", "vendor"})  # folders of broken input
REPLICAS = 3  # of what a chart lets one choose: enough to be spread over the zones
SECONDS = 300  # of one command; all of them together took 86 when Go had the modules


COMPLETE, UNREAD = 0, 3  # exit codes of an audit; of one that could not read some manifests


class Outcome(NamedTuple):
    """What an audit said of a project: its workloads, what it could not read, rule -> findings."""

    workloads: int
    unread: int
    rules: Counter[str]


def main() -> int:
    """Audit every module and print the counts; returns the exit code."""
    try:
        helm = locate(HELM)
    except ToolError as error:
        print(f"publiccharts: {error}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="publiccharts-") as scratch:
        cluster = Path(scratch, "cluster.yaml")
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _nodes()}))
        totals = {"no cluster": Counter[str](), "3 zones": Counter[str]()}
        workloads = unread = 0
        for module in MODULES:
            folder = Path(scratch, re.sub(r"\W+", "-", module))
            collect(fetch(module), folder, helm)
            for name, options in (("no cluster", ()), ("3 zones", ("--cluster", str(cluster)))):
                outcome = audit(folder, *options)
                totals[name] += outcome.rules
                print(f"{module}, {name}: {outcome.workloads} workloads, {_told(outcome.rules)}")
            workloads, unread = workloads + outcome.workloads, unread + outcome.unread
    for name, rules in totals.items():
        print(f"{len(MODULES)} projects, {name}: {_told(rules)}")
    print(f"{workloads} workloads, {unread} documents or files that are no YAML")
    return 0


def fetch(module: str) -> Path:
    """Have Go download a module, unless it has it; returns its folder, which is read-only."""
    told = _run("go", "mod", "download", "-json", module, folder=tempfile.gettempdir())
    return Path(json.loads(told)["Dir"])


def collect(source: Path, folder: Path, helm: Path) -> None:
    """Copy the manifests of a module, and render its charts, into a folder."""
    charts = [each.parent for each in source.rglob("Chart.yaml")]
    for file in _manifests(source, charts):
        target = folder / "plain" / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    for chart in charts:
        if not set(charts) & set(chart.parents) and _is_shown(chart.relative_to(source)):
            render(chart, folder / "charts" / chart.relative_to(source), helm)


def _manifests(source: Path, charts: list[Path]) -> Iterator[Path]:
    for file in (*source.rglob("*.yaml"), *source.rglob("*.yml")):
        if _is_shown(file.relative_to(source)) and not set(charts) & set(file.parents):
            text = file.read_text(errors="replace")
            if "apiVersion:" in text and WORKLOAD.search(text):
                yield file


def _is_shown(path: Path) -> bool:
    return not NOT_MANIFESTS & set(path.parts)


def render(chart: Path, folder: Path, helm: Path) -> None:
    """
    Render a chart, as it comes and with replicas; says so if it cannot be rendered.

    It is rendered from a copy, without the charts that it names and does not carry.
    """
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="chart-") as scratch:
        copy = Path(scratch, chart.name)
        _copy(chart, copy)
        asked = [word for each in ASKED.get(chart.name, ()) for word in ("--set", each)]
        more = [word for each in _counts(copy) for word in ("--set", f"{each}={REPLICAS}")]
        for name, chosen in (("default", asked), ("replicas", [*asked, *more])):
            try:
                manifests = _run(
                    *(str(helm), "template", "release", str(copy), "--namespace", "app"),
                    *("--kube-version", "1.36.0", *chosen),
                )
            except subprocess.CalledProcessError as error:
                print(f"{chart.name}, {name}: {str(error.stderr).strip()[:200]}", file=sys.stderr)
            else:
                (folder / f"{name}.yaml").write_text(manifests)


def _copy(chart: Path, copy: Path) -> None:
    for file in chart.rglob("*"):
        if file.is_file():
            target = copy / file.relative_to(chart)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    for name in ("Chart.yaml", "requirements.yaml"):
        if (copy / name).is_file():
            described = YAML(typ="safe").load(copy / name)
            carried = {each.name for each in copy.glob("charts/*")}
            described["dependencies"] = [
                each for each in described.get("dependencies") or () if each["name"] in carried
            ]
            (copy / name).write_text(json.dumps(described))
    (copy / "Chart.lock").unlink(missing_ok=True)


def _counts(chart: Path) -> list[str]:
    """The values of a chart that are numbers of replicas, as --set names them."""
    values = chart / "values.yaml"
    return list(_numbers(YAML(typ="safe").load(values))) if values.is_file() else []


def _numbers(values: Any, path: str = "") -> Iterator[str]:
    for key, value in values.items() if isinstance(values, dict) else ():
        if key in ("replicas", "replicaCount") and not isinstance(value, dict):
            yield f"{path}{key}"
        yield from _numbers(value, f"{path}{key}.")


def _nodes() -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"node-{zone}{number}",
                "labels": {
                    "kubernetes.io/hostname": f"node-{zone}{number}",
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "topology.kubernetes.io/region": "region",
                    "topology.kubernetes.io/zone": f"zone-{zone}",
                },
            },
        }
        for zone in "abc"
        for number in range(3)
    ]


def audit(folder: Path, *options: str) -> Outcome:
    """Audit a folder with the command; each version of a chart alone, since all are named alike."""
    workloads, unread, rules = 0, 0, Counter[str]()
    plain = [folder / "plain"] if (folder / "plain").is_dir() else []
    for part in (*plain, *sorted(folder.rglob("charts/**/*.yaml"))):
        command = (sys.executable, "-m", "webhook", "audit", "-f", str(part))
        done = subprocess.run(
            (*command, *options, "-o", "json", "--fail-on", "never"),
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode not in (COMPLETE, UNREAD):
            done.check_returncode()
        report = json.loads(done.stdout)
        workloads += report["summary"]["workloads"]
        unread += sum(line.startswith("error: ") for line in done.stderr.splitlines())
        rules.update(each["rule"] for one in report["workloads"] for each in one["findings"])
    return Outcome(workloads, unread, rules)


def _told(rules: Counter[str]) -> str:
    return ", ".join(f"{rule} {number}" for rule, number in sorted(rules.items())) or "no finding"


def _run(*command: str, folder: str | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=SECONDS
    )
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
