"""
Measure evenspread: python -m tests.bench

One table of ratios, each from turns that the two compared took on the same core. Eight minutes, one
more with the peer, and 15 more with a real control plane that is filled meanwhile. Nothing here is
a test: the exit code is 0 whatever the figures are, unless --strict.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from subprocess import SubprocessError

from rich.console import Console

from tests.bench import cpu, peer, servers
from tests.bench.load import CONNECTIONS, LoadError
from tests.bench.measurements import MANY, Bench, Options, Step, all_steps
from tests.bench.rounds import Generator, Meter, own_load, wrk
from tests.bench.rows import Mark, Row
from tests.bench.table import as_json, circumstances, show
from tests.controlplane.assets import AssetsError
from tests.controlplane.build import BuildError
from tests.controlplane.processes import ProcessError
from tests.deploy.manifests import HelmError
from tests.deploy.tools import ToolError

FAULTS = (
    AssetsError, BuildError, HelmError, LoadError, ProcessError, SubprocessError, ToolError,
    OSError, ValueError,
)  # fmt: skip
FAILED = 3  # exit code when something could not be measured


def main(arguments: Sequence[str]) -> int:
    """Measure and print; returns the exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        cores = cpu.choose_cores(os.sched_getaffinity(0))
        cpu.pin(0, cores.load)
        options = Options(parsed.rounds, parsed.seconds, parsed.program, cores, parsed.services)
        rows, remarks = measure(options, parsed.load, _chosen(parsed))
    except FAULTS as error:
        print(f"bench: {error}", file=sys.stderr)
        return FAILED
    if parsed.json:
        print(as_json(rows, remarks))
    else:
        show(rows, remarks)
    return int(parsed.strict and any(row.mark is not Mark.REACHED for row in rows))


def measure(options: Options, load: str, chosen: Mapping[str, Step]) -> tuple[list[Row], list[str]]:
    """Measure rows; returns them, and what to say about the run."""
    with tempfile.TemporaryDirectory(prefix="evenspread-bench-") as folder:
        generator: Generator = wrk(Path(folder)) if load == "wrk" else own_load
        meter = Meter(generator, options.seconds)
        with Bench(options, meter) as bench:
            rows = _measured(bench, chosen)
    return rows, circumstances(f"{load}, {CONNECTIONS} connections", meter.rounds)


def _chosen(parsed: argparse.Namespace) -> dict[str, Step]:
    """Choose the rows of the command line."""
    if parsed.peer and not peer.can_be_built():
        raise ValueError("there is no go on PATH to build the peer with: leave out --peer")
    steps = all_steps(with_peer=parsed.peer, with_plane=parsed.control_plane)
    return {what: step for what, step in steps.items() if parsed.only in what}


def _measured(bench: Bench, chosen: Mapping[str, Step]) -> list[Row]:
    rows: list[Row] = []
    console = Console(stderr=True)
    with console.status("") if console.is_terminal else nullcontext() as status:
        for i, (what, step) in enumerate(chosen.items(), 1):
            if status:
                status.update(f"{i} of {len(chosen)}: {what}")
            rows.append(step(bench))
    return rows


def positive(text: str) -> int:
    """Read a number of the command line that is at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--rounds", type=positive, default=7, help="turns of each two that are compared (7)")
    add("--seconds", type=float, default=0.5, help="length of a turn (0.5)")
    add("--services", type=positive, default=MANY, help=f"what is many Services ({MANY})")
    add("--load", choices=("own", "wrk"), default="own", help="what puts load on the servers (own)")
    add("--only", default="", metavar="TEXT", help="only the rows whose name holds TEXT")
    add("--peer", action="store_true", help="also the same job in Go, built first")
    add("--control-plane", action="store_true", help="also beside a real one, which is filled")
    add("--program", type=Path, default=servers.EVENSPREAD, help="the evenspread to measure")
    add("--json", action="store_true", help="print everything as JSON")
    add("--strict", action="store_true", help="exit 1 unless every row is reached")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
