"""The command: counts of findings, or with ``--apiserver`` of verdicts."""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.audit.publiccharts import audits, charts
from tests.audit.publiccharts.projects import MODULES, fetch
from tests.audit.publiccharts.verdicts import Comparison, compare
from tests.controlplane import assets
from tests.controlplane.assets import AssetsError
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.deploy.tools import HELM, ToolError, locate


def main() -> int:
    """Run the requested command; returns the exit code."""
    parser = argparse.ArgumentParser("python -m tests.audit.publiccharts", description=__doc__)
    parser.add_argument(
        "--apiserver",
        action="store_true",
        help="compare `evenspread validate` with the API server of `make envtest`",
    )
    compared = parser.parse_args().apiserver
    try:
        helm = locate(HELM)
        with tempfile.TemporaryDirectory(prefix="publiccharts-") as scratch:
            projects = _collected(Path(scratch), helm)
            return _compare(projects) if compared else _audit(projects, Path(scratch))
    except (ToolError, AssetsError) as error:
        print(f"publiccharts: {error}", file=sys.stderr)
        return 1


def _collected(scratch: Path, helm: Path) -> Iterator[tuple[str, list[Path]]]:
    """Each module, and its manifests in parts."""
    for module in MODULES:
        folder = scratch / re.sub(r"\W+", "-", module)
        charts.collect(fetch(module), folder, helm)
        yield module, charts.parts(folder)


def _audit(projects: Iterator[tuple[str, list[Path]]], scratch: Path) -> int:
    cluster = scratch / "cluster.yaml"
    cluster.write_text(json.dumps(audits.nodes()))
    ways = {"no cluster": (), "3 zones": ("--facts", str(cluster))}
    outcomes_of: dict[str, list[audits.Outcome]] = {way: [] for way in ways}
    for module, parts in projects:
        for way, options in ways.items():
            outcomes_of[way].append(audits.total(audits.audit(part, *options) for part in parts))
            print(f"{module}, {way}: {outcomes_of[way][-1]}", flush=True)
    for way, outcomes in outcomes_of.items():
        added = audits.total(outcomes)
        print(f"{len(outcomes)} projects, {way}: {added}; {added.unread} are no YAML")
    return 0


def _compare(projects: Iterator[tuple[str, list[Path]]]) -> int:
    bare = Options(controllers=False, scheduler=False, service_accounts=False)
    seen = Comparison()
    with ControlPlane(assets.locate(), bare) as plane:
        reply = plane.api.call("GET", "/version")
        version = f"{reply['major']}.{reply['minor']}"
        for module, parts in projects:
            for part in parts:
                compare(part, plane.api, version, seen)
            print(f"{module}: {dict(seen.counts)} so far", flush=True)
    for difference in seen.differences:
        print(difference)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(seen.counts.items()))
    print(f"{seen.counts.total()} objects: {counts}; {len(seen.differences)} differences")
    return bool(seen.differences)


if __name__ == "__main__":
    raise SystemExit(main())
