"""
Soak evenspread: python -m tests.soak [--seconds N] [--json FILE]

20 minutes of warm-up and then an hour, at 100 calls a second. Prints progress, then the report;
exits with 1 if a bound is missed and with 3 if the soak could not be run.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.controlplane import assets
from tests.controlplane.assets import AssetsError
from tests.controlplane.processes import ProcessError
from tests.soak.run import SoakOptions, run_soak

FAILED = 3  # exit code when the soak could not be run to its end


def main(arguments: Sequence[str]) -> int:
    """Run a soak and print its report; returns the exit code."""
    parsed = _parser().parse_args(arguments)
    options = SoakOptions(seconds=parsed.seconds, rate=parsed.rate, seed=parsed.seed)
    folder = Path(tempfile.mkdtemp(prefix="evenspread-soak-"))
    try:
        report = run_soak(assets.locate(), folder, options, _show)
    except (AssetsError, ProcessError, OSError) as error:
        print(f"soak: {error}; the logs of the replicas are in {folder}", file=sys.stderr)
        return FAILED
    if parsed.json:
        Path(parsed.json).write_text(report.as_json())
    print(report.as_text())
    if report.misses:
        print(f"the logs of the replicas are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def _show(line: str) -> None:
    print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.soak", description="Soak evenspread.")
    parser.add_argument(
        "--seconds", type=float, default=4800, help="how long; a quarter of it is the warm-up"
    )
    parser.add_argument("--rate", type=float, default=100, help="calls of webhooks a second")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the faults")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON as well")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
