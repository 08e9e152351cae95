"""
Put conformance cases through evenspread.

    python -m tests.conformance SUITE < cases.jsonl > answers.jsonl
    python -m tests.conformance check FILE.jsonl[.gz]...

SUITE is one of validation, gates, selector, defaults-config, placement, filters, rebalance,
scaledown. The first form answers line by line; the second compares with the recorded answers of the
real components and exits with 1 if any answer differs. A file's name begins with its suite.
"""

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path

import msgspec

from tests.conformance.case import Answer, Case
from tests.conformance.comparison import differs

SUITES = {
    "validation": "validation",
    "gates": "validation",
    "selector": "selector",
    "defaults-config": "defaults_config",
    "placement": "placement",
    "filters": "filters",
    "rebalance": "rebalance",
    "scaledown": "scaledown",
}
"""Suite -> the module of this package whose ``answer`` it is."""

SHOWN = 5  # differences printed a file: enough to see the pattern

USAGE = 2  # exit code of wrong usage


def main(arguments: list[str]) -> int:
    """Run one of the two forms; returns the exit code."""
    match arguments:
        case ["check", *files] if files:
            return check([Path(file) for file in files])
        case [suite] if suite in SUITES:
            for given in answers(suite, sys.stdin.buffer):
                sys.stdout.buffer.write(msgspec.json.encode(given) + b"\n")
            return 0
        case _:
            print(__doc__, file=sys.stderr)
            return USAGE


def answers(suite: str, lines: Iterable[bytes]) -> Iterator[Answer]:
    """Answer every line of a suite, with the id of its case."""
    answer = solver(suite)
    for case in cases(lines):
        yield {"id": case.get("id"), **answer(case)}


def solver(suite: str) -> Callable[[Case], Answer]:
    """The function that answers the cases of a suite."""
    found: Callable[[Case], Answer] = import_module(f"{__package__}.{SUITES[suite]}").answer
    return found


def cases(lines: Iterable[bytes]) -> Iterator[Case]:
    """Decode lines, skipping empty ones."""
    decode = msgspec.json.Decoder(dict).decode
    return (decode(line) for line in lines if line.strip())


def read(file: Path) -> Iterator[Case]:
    """The cases of a file, plain or compressed."""
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
        yield from cases(lines)


def suite_of(file: Path) -> str:
    """
    The suite that a file belongs to, by its name.

    Raises:
        SystemExit: Its name begins with none.
    """
    for suite in SUITES:
        if file.name.startswith(suite):
            return suite
    raise SystemExit(f"{file}: the name begins with no suite; suites: {', '.join(SUITES)}")


def differences(file: Path) -> Iterator[tuple[Case, Answer | None]]:
    """Every case of a file, with the answer if it differs from the expected one."""
    answer = solver(suite_of(file))
    for case in read(file):
        given = answer(case)
        yield case, given if differs(case, given) else None


def check(files: list[Path]) -> int:
    """Compare, print the first differences of each file, and close with a count."""
    passed = failed = 0
    for file in files:
        wrong = 0
        for case, given in differences(file):
            passed += given is None
            wrong += given is not None
            if given is not None and wrong <= SHOWN:
                print(f"{file.name} {case['id']}\n  expected {case['expect']}\n  answered {given}")
        failed += wrong
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
