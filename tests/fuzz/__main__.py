"""
Search for inputs that a reader mishandles: ``python -m tests.fuzz``, or ``make fuzz``.

Each target gets the same share of the time. Inputs that take new branches are kept in a folder
beside the corpus, and the next run starts with them. A finding ends the search of its target; it
becomes a file of the corpus, which the tests run until it is fixed. The exit code is 1 if there is
a finding.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from tests.fuzz.bounds import LARGEST_INPUT, run_bounded
from tests.fuzz.engine import NOT_INSTALLED
from tests.fuzz.targets import NAMES, load

ROOT = Path(__file__).parents[2]
CORPUS = Path("tests/fuzz/corpus")
KEPT = Path(".fuzz")

SECONDS = 600
LONGEST_INPUT_S = 60  # of wall time, after which an input counts as a hang; a busy machine is slow
LONGEST_START_S = 300  # beyond its share, after which a search counts as failed
MOST_MIB = 2000  # of memory of the whole process
REPORT_S = 10  # between two lines of progress

_executed = re.compile(rb"stat::number_of_executed_units:\s*(\d+)").search
_progress = re.compile(rb"^#(\d+)\s.*cov: (\d+)", re.MULTILINE).findall


class SearchResult(NamedTuple):
    """
    Result of the search of one target.

    Attributes:
        inputs: How many were tried.
        kept: How many of them took new branches.
        findings: Files of the corpus, new or not.
        problem: Why the search failed; empty if it did not.
    """

    inputs: int
    kept: int
    findings: tuple[Path, ...]
    problem: str = ""


def main(arguments: Sequence[str]) -> int:
    """Replay files, or search all targets; returns the exit code."""
    parsed = _parser().parse_args(arguments)
    if parsed.replay:
        return max(replay(Path(file)) for file in parsed.replay)
    results: dict[str, SearchResult] = {}
    for name in parsed.targets:
        results[name] = search(name, parsed.seconds / len(parsed.targets), parsed.seed)
        for finding in results[name].findings:
            print(f"{name}: finding; replay it: python -m tests.fuzz --replay {finding}")
        if results[name].problem:
            print(f"{name}: {results[name].problem}", file=sys.stderr)
    Console(width=100).print(summarize(results))
    return int(any(result.findings or result.problem for result in results.values()))


def replay(file: Path) -> int:
    """Check one file of the corpus, whose folder names its target; 1 if it is a finding."""
    target, data = load(file.resolve().parent.name), file.read_bytes()
    try:
        run_bounded(target.check, data)
    except Exception:  # noqa: BLE001 - any exception is a finding
        traceback.print_exc()
        return 1
    print(f"{file}: read as it should be")
    return 0


def search(name: str, seconds: float, seed: int) -> SearchResult:
    """Search one target in a process of its own."""
    kept = ROOT / KEPT / name
    kept.mkdir(parents=True, exist_ok=True)
    before = len(list(kept.iterdir()))
    with TemporaryDirectory(prefix="evenspread-fuzz-") as held:
        folder = Path(held)
        code, log = _run(name, kept, folder, seconds, seed)
        found = tuple(_keep_finding(name, file) for file in sorted(folder.glob("finding-*")))
    executed = _executed(log)
    if found:
        print(log.decode(errors="replace"))
    problem = ""
    if not found and code:
        problem = f"the search ended with {code}: {log[-2000:].decode(errors='replace')}"
    inputs = int(executed[1]) if executed else 0
    return SearchResult(inputs, len(list(kept.iterdir())) - before, found, problem)


def _run(name: str, kept: Path, folder: Path, seconds: float, seed: int) -> tuple[int, bytes]:
    """Run the engine, and report its progress; returns its exit code and its output."""
    words = folder / "tokens"
    words.write_text("".join(f'"{_escape(token)}"\n' for token in load(name).tokens))
    options = (
        f"-max_total_time={max(1, round(seconds))}", f"-max_len={LARGEST_INPUT}",
        f"-timeout={LONGEST_INPUT_S}", f"-rss_limit_mb={MOST_MIB}", f"-dict={words}",
        f"-artifact_prefix={folder}/finding-", f"-seed={seed}", "-print_final_stats=1",
    )  # fmt: skip
    command = [sys.executable, "-m", "tests.fuzz.engine", name, *options]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, str(kept), str(ROOT / CORPUS / name)],
            cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(folder)},
        )  # fmt: skip
        deadline = time.monotonic() + seconds + LONGEST_START_S
        while True:
            try:
                code = process.wait(REPORT_S)
            except subprocess.TimeoutExpired:
                _report(name, log.read_bytes())
                if time.monotonic() > deadline:
                    process.kill()
            else:
                break
    if code == NOT_INSTALLED:
        raise SystemExit(log.read_text())
    return code, log.read_bytes()


def _report(name: str, log: bytes) -> None:
    if lines := _progress(log):
        count, branches = lines[-1]
        print(f"{name}: {int(count)} inputs, {int(branches)} branches", flush=True)


def _escape(token: bytes) -> str:
    """Write a token as libFuzzer's dictionaries do."""
    return "".join(f"\\x{byte:02x}" for byte in token)


def _keep_finding(name: str, file: Path) -> Path:
    data = file.read_bytes()
    kept = CORPUS / name / f"finding-{hashlib.sha256(data).hexdigest()[:12]}"
    (ROOT / kept).write_bytes(data)
    return kept


def summarize(results: dict[str, SearchResult]) -> Table:
    """Lay out a row for each target."""
    table = Table(box=None, pad_edge=False)
    table.add_column("target")
    for title in ("inputs", "new corpus entries", "findings"):
        table.add_column(title, justify="right")
    for name, result in results.items():
        findings = "failed" if result.problem else str(len(result.findings))
        table.add_row(name, str(result.inputs), str(result.kept), findings)
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all targets together")
    parser.add_argument("--seed", type=int, default=1, help="of the search; default: 1")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="files of the corpus to check")
    parser.add_argument(
        "targets", nargs="*", default=NAMES, choices=(*NAMES, NAMES), metavar="TARGET"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
