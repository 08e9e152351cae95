"""
Show every fault case: ``python -m tests.faults``, or ``make faults``.

Runs the tests that carry the marker ``fault`` in their long forms, then prints one row for each
case. The exit code is 0 only if every requested case is shown and holds.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from rich.console import Console
from rich.table import Table

from tests.faults.cases import CASES
from tests.faults.evidence import CaseRow, Outcome, case_rows, markdown_rows, read_evidence

ROOT = Path(__file__).parents[2]
STYLES = {Outcome.HOLDS: "", Outcome.FAILED: "bold red", Outcome.MISSING: "yellow"}
MARKER = "mark.fault("  # in the text of a file with such tests
WIDEST = 160  # columns where the output is no terminal


def main(arguments: Sequence[str]) -> int:
    """Run the tests and print the table; returns the exit code."""
    parsed = make_parser().parse_args(arguments)
    wanted = {case: CASES[case] for case in parsed.cases or CASES}
    with TemporaryDirectory(prefix="evenspread-faults-") as folder:
        file = Path(folder) / "evidence.jsonl"
        file.touch()
        _run_tests(wanted, file, short=parsed.short)
        rows = list(case_rows(wanted, read_evidence(file)))
    if parsed.json:
        parsed.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
    if parsed.markdown:
        parsed.markdown.write_text("".join(f"{line}\n" for line in markdown_rows(rows)))
    print_table(rows, Console(width=None if sys.stdout.isatty() else WIDEST))
    return int(any(row.result is not Outcome.HOLDS for row in rows))


def print_table(rows: Sequence[CaseRow], console: Console) -> None:
    """Print one row for each case, and how many hold."""
    table = Table("case", "title", "load", "calls", "failed", "result", "outcome")
    for row in rows:
        figures = (f"{row.calls}", f"{row.failed}", row.result.value)
        texts = (f"{row.case}", row.title, row.load, *figures, row.outcome)
        table.add_row(*texts, style=STYLES[row.result])
    console.print(table)
    held = sum(row.result is Outcome.HOLDS for row in rows)
    console.print(f"{held} of {len(rows)} fault cases hold")


def _run_tests(wanted: Iterable[int], evidence: Path, *, short: bool) -> None:
    """Run pytest in a process of its own, whose progress is seen."""
    cases = " ".join(map(str, wanted))
    command = [sys.executable, "-m", "pytest", "-v", "--tb=short", "-m", "fault", *_marked()]
    command += ["--fault-cases", cases, "--fault-evidence", str(evidence)]
    form = "short" if short else "long"
    environment = {**os.environ, "EVENSPREAD_E2E": form, "PYTEST_TIMEOUT": "7200"}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)


def _marked() -> list[str]:
    """List the files with marked tests: collecting all tests takes far longer than reading them."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in files if MARKER in file.read_text()]


def make_parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("cases", nargs="*", type=_read_case, help="default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the same for the docs")
    parser.add_argument("--short", action="store_true", help="run the short forms, as CI does")
    return parser


def _read_case(text: str) -> int:
    if text not in map(str, CASES):
        raise argparse.ArgumentTypeError(f"{text!r} is no case: they are 1 to {len(CASES)}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
