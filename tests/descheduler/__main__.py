"""
Compare ``evenspread rebalance`` with descheduler on the same random clusters.

    python -m tests.descheduler [--clusters N] [--seed N]

Each cluster has three Deployments with hard constraints over zones and nodes, on a real control
plane. descheduler runs pass after pass, until a pass evicts nothing; all replacements are ready
before the next one.
"""

import argparse
import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from tests.controlplane import assets
from tests.controlplane.assets import AssetsError
from tests.controlplane.build import BuildError
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.descheduler.build import ensure_descheduler
from tests.e2e.ranks import all_ready, join_zones, pods_in, zone_of_nodes
from tests.e2e.uneven import (
    Kubelets,
    UnevenWorkload,
    build_workload,
    create_uneven,
    draw_workload,
    is_uneven,
)
from webhook.__main__ import main as evenspread

ZONES = {"a": 3, "b": 2, "c": 1}
MOST_PASSES = 10  # of descheduler; then it goes on without end
LONGEST_PASS_S = 60.0

POLICY = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: spread
  pluginConfig:
  - name: DefaultEvictor
    args: {{nodeFit: true}}
  - name: RemovePodsViolatingTopologySpreadConstraint
    args: {{constraints: [DoNotSchedule], namespaces: {{include: [{namespace}]}}}}
  plugins:
    balance: {{enabled: [RemovePodsViolatingTopologySpreadConstraint]}}
"""


class Outcome(NamedTuple):
    """The evictions of a cluster, and the workloads that are still uneven."""

    evictions: int
    uneven: int


Restore: TypeAlias = Callable[[str, Sequence[UnevenWorkload]], int]
"""Restores the spread of workloads in a namespace; returns the number of evictions."""


class Comparison:
    """Runs both on the same clusters."""

    def __init__(self, plane: ControlPlane, descheduler: Path) -> None:
        self._plane, self._descheduler = plane, descheduler

    def compare(self, seed: int) -> tuple[Outcome, Outcome]:
        """Return the outcomes of evenspread and of descheduler for one cluster."""
        return self._measure(seed, self._rebalance), self._measure(seed, self._deschedule)

    def _measure(self, seed: int, restore: Restore) -> Outcome:
        random, nodes = Random(seed), list(zone_of_nodes(ZONES))
        workloads = [draw_workload(random, f"w{number}", nodes) for number in range(3)]
        namespace = self._plane.create_namespace()
        create_uneven(self._plane, namespace, *workloads)
        with Kubelets(self._plane, namespace):
            evictions = restore(namespace, workloads)
        uneven = sum(is_uneven(self._plane, namespace, one, nodes) for one in workloads)
        self._plane.kubectl("delete", "deployments", "--all", "-n", namespace)
        until(lambda: not pods_in(self._plane, namespace), "the pods to be gone")
        return Outcome(evictions, uneven)

    def _uids(self, namespace: str) -> set[str]:
        return {pod["metadata"]["uid"] for pod in pods_in(self._plane, namespace)}

    def _rebalance(self, namespace: str, _workloads: Sequence[UnevenWorkload]) -> int:
        kubeconfig = str(self._plane.apiserver.kubeconfig)
        command = ["rebalance", "--kubeconfig", kubeconfig, "-n", namespace, "--apply", "--yes"]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            evenspread([*command, "-o", "json"])
        return len(json.loads(out.getvalue())["evicted"])

    def _deschedule(self, namespace: str, workloads: Sequence[UnevenWorkload]) -> int:
        evictions = 0
        for _ in range(MOST_PASSES):
            before = self._uids(namespace)
            self._run_descheduler(namespace)
            until(partial(self._are_ready, namespace, workloads), "ready pods")
            gone = len(before - self._uids(namespace))
            evictions += gone
            if not gone:
                break
        return evictions

    def _are_ready(self, namespace: str, workloads: Sequence[UnevenWorkload]) -> bool:
        return all(
            all_ready(self._plane, build_workload(one, namespace), len(one.nodes))
            for one in workloads
        )

    def _run_descheduler(self, namespace: str) -> None:
        policy = self._plane.folder / "descheduler.yaml"
        policy.write_text(POLICY.format(namespace=namespace))
        subprocess.run(
            [
                str(self._descheduler),
                f"--kubeconfig={self._plane.apiserver.kubeconfig}",
                f"--policy-config-file={policy}",
                "--descheduling-interval=0",  # one pass
                "--secure-port=0",
            ],
            check=True,
            capture_output=True,
            timeout=LONGEST_PASS_S,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print a table; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.descheduler", description=__doc__)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    try:
        descheduler = ensure_descheduler()
        with ControlPlane(assets.locate()) as plane:
            join_zones(plane, **ZONES)
            comparison = Comparison(plane, descheduler)
            pairs = [comparison.compare(chosen.seed + n) for n in range(chosen.clusters)]
    except (AssetsError, BuildError) as error:
        print(f"tests.descheduler: {error}", file=sys.stderr)
        return 1
    for name, outcomes in zip(("evenspread", "descheduler"), zip(*pairs, strict=True), strict=True):
        evictions = sum(one.evictions for one in outcomes)
        uneven = sum(one.uneven for one in outcomes)
        print(f"{name:<12} {evictions} evictions, {uneven} of {3 * len(outcomes)} still uneven")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
