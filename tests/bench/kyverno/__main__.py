"""
Measure evenspread beside Kyverno: python -m tests.bench.kyverno

Pods are created on a real control plane, in turns with nothing, with a MutatingAdmissionPolicy,
with Kyverno and with evenspread, with few Services in their namespace and with many. Kyverno is
built first, which takes minutes, once. Nothing here is a test: the exit code is 0 whatever the
figures are.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import cpu, filling, servers
from tests.bench.__main__ import FAILED, FAULTS, positive
from tests.bench.kyverno.build import KyvernoBuild, ensure_kyverno
from tests.bench.kyverno.comparison import compare
from tests.bench.kyverno.figures import Figures, as_json, figures, show
from tests.bench.live import LiveCluster
from tests.controlplane.api import ApiError
from tests.controlplane.plane import KubectlError

FEW, MANY = 2, 1_000  # Services in the namespace of the pods


def main(arguments: Sequence[str]) -> int:
    """Measure and print; returns the exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        build = ensure_kyverno()
        found = {
            services: measure(build, services, parsed.rounds, parsed.seconds)
            for services in (FEW, MANY)
        }
    except (*FAULTS, ApiError, KubectlError) as error:
        print(f"bench-kyverno: {error}", file=sys.stderr)
        return FAILED
    if parsed.json:
        print(as_json(found))
    else:
        show(found)
    return 0


def measure(build: KyvernoBuild, services: int, rounds: int, seconds: float) -> list[Figures]:
    """Measure all injectors on a control plane of their own."""
    cores = cpu.choose_cores(os.sched_getaffinity(0))
    with (
        tempfile.TemporaryDirectory(prefix="evenspread-bench-") as folder,
        LiveCluster(Path(folder), servers.EVENSPREAD, cores, filling.Size()) as live,
    ):
        return figures(compare(live, build, services, rounds, seconds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.bench.kyverno",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=positive, default=3, help="turns of each (3)")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a turn (5)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
