"""
Mutate modules, and count the mutants that their tests notice: ``python -m tests.mutation``.

A random sample of all mutants is tried, one after the other, each with the mirrored tests of its
module alone. Printed are the survivors and a table; the exit code is 1 if too many survive.
"""

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.mirrored import own_tests
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.trial import Outcome, Trial, TrialError, run, warm_up

ROOT = Path(__file__).parents[2]

MODULES = (
    "webhook/policy/api/[!_]*.py",
    "webhook/policy/defaulting/[!_]*.py",
    "webhook/policy/placement/[!_]*.py",
    "webhook/policy/selectors.py",
    "certs/plan.py",
    "certs/state.py",
)
"""The rules of the API, gates, defaulting, placement, selectors, and the certificate planner."""

SAMPLE = 600
LEAST_KILLED = 95  # percent
SLOWER = 4  # times the CPU time of the unchanged module, before a mutant counts as killed
START_S = 5  # seconds of CPU time beyond that, for the start of the child


def main(arguments: Sequence[str]) -> int:
    """Draw the sample, run it, and print the result; returns the exit code."""
    parsed = _parser().parse_args(arguments)
    sources = {path: (ROOT / path).read_bytes() for path in find_modules()}
    found = [mutant for path, text in sources.items() for mutant in mutants_of(path, text)]
    sample = draw(found, parsed.sample, parsed.seed, parsed.only)
    console = Console(stderr=True)
    warm_up({path for mutant in sample for path in own_tests(mutant.path)})
    outcomes: dict[Mutant, Outcome] = {}
    try:
        for mutant, outcome in try_all(sample, sources):
            outcomes[mutant] = outcome
            if outcome is Outcome.SURVIVED:
                print(f"survived: {mutant.describe(sources[mutant.path])}", flush=True)
            elif parsed.verbose:
                print(f"{outcome}: {mutant.describe(sources[mutant.path])}", flush=True)
            if console.is_terminal:
                print(f"\r{len(outcomes)} of {len(sample)}", end="\r", file=sys.stderr)
    except TrialError as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 1
    Console(width=100).print(summarize(Counter(mutant.path for mutant in found), outcomes))
    killed = sum(outcome is not Outcome.SURVIVED for outcome in outcomes.values())
    print(
        f"seed {parsed.seed}: {killed} of {len(sample)} mutants killed, "
        f"{100 * killed / max(1, len(sample)):.1f} % (at least {LEAST_KILLED} %); "
        f"{len(found)} mutants in all; {time.process_time() + _children_s():.0f} s of CPU time"
    )
    return int(100 * killed < LEAST_KILLED * len(sample))


def find_modules() -> list[Path]:
    """List the mutated modules, as paths from the root."""
    found = (path for pattern in MODULES for path in sorted(ROOT.glob(pattern)))
    return [path.relative_to(ROOT) for path in found]


def draw(found: Sequence[Mutant], size: int, seed: int, only: str) -> list[Mutant]:
    """Draw a sample of the mutants whose path contains ``only``, in the order of the modules."""
    eligible = [mutant for mutant in found if only in str(mutant.path)]
    chosen = random.Random(seed).sample(range(len(eligible)), min(size, len(eligible)))
    return [eligible[i] for i in sorted(chosen)]


def try_all(
    sample: Sequence[Mutant], sources: Mapping[Path, bytes]
) -> Iterator[tuple[Mutant, Outcome]]:
    """
    Try mutants, grouped by module, after the unchanged module.

    Raises:
        TrialError: The tests of a module fail on the unchanged module.
    """
    trials: dict[Path, Trial] = {}
    for mutant in sample:
        if mutant.path not in trials:
            trials[mutant.path] = _measure(mutant.path, sources[mutant.path])
        yield mutant, run(trials[mutant.path], mutant.apply(sources[mutant.path]))


def _measure(path: Path, text: bytes) -> Trial:
    """Run the tests of the unchanged module, to bound the CPU time of its mutants."""
    name = ".".join(path.with_suffix("").parts)
    trial = Trial(name, path, own_tests(path), cpu_s=600)
    before = _children_s()
    if run(trial, text) is not Outcome.SURVIVED:
        raise TrialError(f"{trial.tests[0]} fails on the unchanged module")
    if run(trial, b"raise ImportError\n") is Outcome.SURVIVED:
        raise TrialError(f"{trial.tests[0]} does not import {name}")
    return trial._replace(cpu_s=START_S + round(SLOWER * (_children_s() - before)))


def _children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def summarize(found: Mapping[Path, int], outcomes: Mapping[Mutant, Outcome]) -> Table:
    """Lay out the counts of each module."""
    table = Table(box=None, pad_edge=False)
    table.add_column("module")
    for title in ("mutants", "tried", "killed", "timed out", "survived"):
        table.add_column(title, justify="right")
    for path, count in found.items():
        counts = Counter(outcomes[mutant] for mutant in outcomes if mutant.path == path)
        if counts:
            table.add_row(
                str(path), str(count), str(counts.total()),
                *(str(counts[outcome]) for outcome in Outcome),
            )  # fmt: skip
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the sample; default: 1")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants to try")
    parser.add_argument("--only", default="", help="only modules whose path contains this")
    parser.add_argument("--verbose", action="store_true", help="print every mutant")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
