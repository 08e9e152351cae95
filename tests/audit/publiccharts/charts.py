"""
The manifests of a project, in a folder: those it keeps, and what its charts are rendered to.

Charts are rendered as they come, and once more with 3 replicas wherever their values name a
number. Charts that others depend on are not fetched, and are left out.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

REQUIRED_VALUES = {
    "cilium": ("k8sServiceHost=a",),
    "descheduler": ("kind=Deployment", "leaderElection.enabled=true"),
    "external-dns": ("policy=sync",),
    "karpenter": ("settings.clusterName=a",),
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
NOT_MANIFESTS = frozenset({"testdata", "vendor"})  # folders of broken input, and of others
REPLICAS = 3  # of what a chart lets one choose: enough to be spread over the zones
SECONDS = 60  # of rendering a chart; the longest took 2


def collect(source: Path, folder: Path, helm: Path) -> None:
    """Copy the manifests of a project, and render its charts, into a folder."""
    charts = [file.parent for file in source.rglob("Chart.yaml")]
    for file in _manifests(source, charts):
        target = folder / "plain" / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    for chart in charts:
        if not set(charts) & set(chart.parents) and _is_shown(chart.relative_to(source)):
            render(chart, folder / "charts" / chart.relative_to(source), helm)


def parts(folder: Path) -> list[Path]:
    """What was collected, in parts: renderings of a chart apart, since their names are alike."""
    plain = folder / "plain"
    return [*([plain] if plain.is_dir() else []), *sorted(folder.rglob("charts/**/*.yaml"))]


def _manifests(source: Path, charts: list[Path]) -> Iterator[Path]:
    for file in (*source.rglob("*.yaml"), *source.rglob("*.yml")):
        if not file.is_file() or set(charts) & set(file.parents):
            continue
        if _is_shown(file.relative_to(source)):
            text = file.read_text(errors="replace")
            if "apiVersion:" in text and WORKLOAD.search(text):
                yield file


def _is_shown(path: Path) -> bool:
    return not NOT_MANIFESTS & set(path.parts)


def render(chart: Path, folder: Path, helm: Path) -> None:
    """
    Render a chart, with its defaults and with replicas; report a chart that cannot be rendered.

    It is rendered from a copy, without the charts that it names and does not carry.
    """
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="chart-") as scratch:
        copy = Path(scratch, chart.name)
        _copy(chart, copy)
        required = [
            word for value in REQUIRED_VALUES.get(chart.name, ()) for word in ("--set", value)
        ]
        more = [word for path in _counts(copy) for word in ("--set", f"{path}={REPLICAS}")]
        for name, chosen in (("default", required), ("replicas", [*required, *more])):
            rendered = subprocess.run(
                (
                    *(str(helm), "template", "release", str(copy), "--namespace", "app"),
                    *("--kube-version", "1.36.0", *chosen),
                ),
                check=False,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
            if rendered.returncode:
                print(f"{chart.name}, {name}: {rendered.stderr.strip()[:200]}", file=sys.stderr)
            else:
                (folder / f"{name}.yaml").write_text(rendered.stdout)


def _copy(chart: Path, copy: Path) -> None:
    for file in chart.rglob("*"):
        if file.is_file():
            target = copy / file.relative_to(chart)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    for name in ("Chart.yaml", "requirements.yaml"):
        if (copy / name).is_file():
            described = YAML(typ="safe").load(copy / name)
            carried = {carried_chart.name for carried_chart in copy.glob("charts/*")}
            described["dependencies"] = [
                dependency
                for dependency in described.get("dependencies") or ()
                if dependency["name"] in carried
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
