"""
Compare evenspread with Kubernetes' own code on random cases.

    python -m tests.oracle [--cases N] [--seed N] [--versions 1.36 ...] [--suites selector ...]

The seed is printed, so that a run can be repeated. A difference is printed as a line of the
conformance data, with Kubernetes' answer as ``expect``, and evenspread's answer below it. The exit
code is 1 if there is any.
"""

import argparse
import sys
from collections.abc import Sequence
from random import SystemRandom

import msgspec

from tests.controlplane.assets import known_versions
from tests.controlplane.build import BuildError
from tests.oracle.build import ensure_program
from tests.oracle.cases import COMPARED, JudgeError, find_differences, judge_cases, make_cases

CASES = 1500  # of each suite and version: a few seconds
SHOWN = 3  # differences printed of a suite: enough to see the pattern
SEEDS = 2**32


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; returns the exit code."""
    chosen = _parse(arguments)
    seed = SystemRandom().randrange(SEEDS) if chosen.seed is None else chosen.seed
    print(f"seed {seed}, {chosen.cases} cases of each suite and version", flush=True)
    try:
        differences = sum(
            _compare(suite, seed, chosen.cases, version)
            for version in chosen.versions
            for suite in chosen.suites
        )
    except (BuildError, JudgeError) as error:
        print(f"make oracle: {error}", file=sys.stderr)
        return 1
    return int(differences > 0)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    versions, suites = list(known_versions()), list(COMPARED)
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--versions", nargs="+", choices=versions, default=versions)
    parser.add_argument("--suites", nargs="+", choices=suites, default=suites)
    return parser.parse_args(arguments)


def _compare(suite: str, seed: int, number: int, version: str) -> int:
    """Compare the cases of one suite and version; returns the number of differences."""
    program = ensure_program(known_versions()[version])
    cases = make_cases(suite, seed, number, version)
    found = list(find_differences(suite, cases, judge_cases(program, suite, cases)))
    for difference in found[:SHOWN]:
        print(msgspec.json.encode(difference.case, order="sorted").decode())
        print(f"  answered {msgspec.json.encode(difference.answered, order='sorted').decode()}")
    print(f"Kubernetes {version} {suite}: {len(cases)} cases, {len(found)} different", flush=True)
    return len(found)


if __name__ == "__main__":
    raise SystemExit(main())
