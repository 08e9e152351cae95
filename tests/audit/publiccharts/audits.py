"""The audit of manifests: without a cluster, and on one of 3 zones with 3 nodes each."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

COMPLETE, UNREAD = 0, 3  # exit codes of an audit; of one that could not read some manifests
SECONDS = 300  # of an audit; the longest, of Kyverno's 1 200 manifests, took 9


class Outcome(NamedTuple):
    """Results of audits: number of workloads, of unreadable documents, rule -> findings."""

    workloads: int
    unread: int
    rules: Counter[str]

    def __str__(self) -> str:
        counts = (f"{rule} {number}" for rule, number in sorted(self.rules.items()))
        return f"{self.workloads} workloads, {', '.join(counts) or 'no finding'}"


def total(outcomes: Iterable[Outcome]) -> Outcome:
    """Add outcomes up."""
    listed = list(outcomes)
    rules = Counter[str]()
    for outcome in listed:
        rules.update(outcome.rules)
    return Outcome(
        sum(outcome.workloads for outcome in listed),
        sum(outcome.unread for outcome in listed),
        rules,
    )


def audit(manifests: Path, *options: str) -> Outcome:
    """Audit a file or a folder with the command, as in CI."""
    command = (sys.executable, "-m", "webhook", "audit", "-f", str(manifests), *options)
    done = subprocess.run(
        (*command, "-o", "json", "--fail-on", "never"),
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode not in (COMPLETE, UNREAD):
        done.check_returncode()
    report = json.loads(done.stdout)
    return Outcome(
        report["summary"]["workloads"],
        sum(line.startswith("error: ") for line in done.stderr.splitlines()),
        Counter(finding["rule"] for one in report["workloads"] for finding in one["findings"]),
    )


def nodes() -> dict[str, Any]:
    """A cluster of 3 zones with 3 nodes each, as a manifest."""
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
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
        ],
    }
