"""
Coverage of each module by its own tests alone: ``python -m tests.coverage_by_module [NAME ...]``.
A name is a folder, such as ``policy/advice``, or a module, such as ``webhook/cli/fix.py``.
``--part 2/3`` measures every third module, beginning with the second.

A module that is only covered by the tests of its neighbours can break without its own tests
noticing. So a module has a test file of the same name at the mirrored place, which others beside it
may continue, every test file there has its module, and the one covers the other: in the core all
branches, elsewhere all lines and nearly all branches.
"""

import argparse
import json
import multiprocessing
import os
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import coverage
import pytest
from coverage.exceptions import NoDataError

from tests.mirrored import mirrored_tests, own_tests

ROOT = Path(__file__).parent.parent

CONTEXT = multiprocessing.get_context("forkserver")

PRELOADED = (
    "aiohttp.web", "click", "coverage", "cryptography.x509", "msgspec",
    "prometheus_client", "pydantic", "pydantic_settings", "pytest", "rich.console", "trustme",
    "yaml",
)  # fmt: skip
"""Libraries that are imported once: each measurement starts as a fork of a process with them."""


class Scope(NamedTuple):
    """
    Modules that are covered by tests of their own.

    Attributes:
        folder: Of their tests.
        modules: A pattern of paths.
        branches: Percent of the branches that are covered at least.
    """

    folder: str
    modules: str
    branches: int = 100

    def names(self, names: Sequence[str]) -> bool:
        """Whether its folder or one of its modules is among some names."""
        return self.folder in names or any(Path(name).match(self.modules) for name in names)


SCOPES = (
    Scope("policy", "webhook/policy/[!_]*.py"),
    Scope("policy/api", "webhook/policy/api/[!_]*.py"),
    Scope("policy/defaulting", "webhook/policy/defaulting/[!_]*.py"),
    Scope("policy/placement", "webhook/policy/placement/[!_]*.py"),
    Scope("policy/placement/filters", "webhook/policy/placement/filters/[!_]*.py"),
    Scope("policy/advice", "webhook/policy/advice/[!_]*.py"),
    Scope("explain", "webhook/explain/[!_]*.py"),
    Scope("explain/rollingupdate", "webhook/explain/rollingupdate/[!_]*.py"),
    Scope("rebalance", "webhook/rebalance/[!_]*.py"),
    Scope("export", "webhook/export/[!_]*.py"),
    Scope("policy/scaledown", "webhook/policy/scaledown/[!_]*.py"),
    Scope("certs", "certs/plan.py"),
)
"""The core, all of whose branches are covered."""

SHELLS = (
    Scope("certs", "certs/[!_]*.py", branches=95),
    *(
        Scope(folder, f"webhook/{folder}/[!_]*.py", branches=95)
        for folder in (
            "admission", "audit", "audit/renderers", "cli", "cli/commands", "cli/inputs",
            "cli/views", "cluster", "cluster/client", "cluster/scheduling", "config", "doctor",
            "doctor/checks", "fix", "manifests", "server", "server/audits", "server/http",
            "spreadtest", "telemetry",
        )
    ),
)  # fmt: skip
"""All other modules."""


def main(names: Sequence[str], first: int = 1, step: int = 1) -> int:
    """
    Measure pairs and print what is missing.

    Args:
        names: Folders and modules; none stands for all.
        first: Number of the first module to measure, from 1.
        step: From a module to the next one.

    Returns:
        0 if nothing is missing, 1 if something is, 2 if no module has such a name.
    """
    scopes = [scope for scope in (*SHELLS, *SCOPES) if not names or scope.names(names)]
    pairs = {  # of two rows for one module, the later one counts
        source: (mirrored_tests(source), scope.branches)
        for scope in scopes
        for source in found(scope.modules)
        if not names or scope.folder in names or str(source) in names
    }
    if not pairs:
        print(f"no folder or module of the product: {' '.join(names)}", file=sys.stderr)
        return 2
    there = {source: pair for source, pair in pairs.items() if (ROOT / pair[0]).exists()}
    findings = [f"{pairs[source][0]} is missing" for source in pairs.keys() - there.keys()]
    measured = dict(sorted(there.items())[first - 1 :: step])
    os.environ["HYPOTHESIS_PROFILE"] = "thorough"  # the processes inherit it
    mirrored = {tests for source in pairs for tests in own_tests(source)}
    findings += [
        f"{tests} tests no module"
        for scope in scopes
        if scope in SCOPES and scope.folder != "certs" and (not names or scope.folder in names)
        for tests in found(f"tests/{scope.folder}/test_*.py")
        if tests not in mirrored
    ]
    CONTEXT.set_forkserver_preload(list(PRELOADED))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings += filter(
            None, pool.map(measure_apart, measured.keys(), *zip(*measured.values(), strict=True))
        )
    for finding in sorted(findings):
        print(finding)
    return 1 if findings else 0


def found(pattern: str) -> list[Path]:
    """List the files that match; paths from the root."""
    return [path.relative_to(ROOT) for path in ROOT.glob(pattern)]


def measure_apart(source: Path, tests: Path, branches: int) -> str:
    """Measure in a new process. A ProcessPoolExecutor that renews its processes can hang."""
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=send_findings, args=(sender, source, tests, branches))
    process.start()
    sender.close()
    with receiver:
        try:
            finding: str = receiver.recv()
        except EOFError:
            return f"{tests}: the process that measures it ended with {process.exitcode}"
        finally:
            process.join()
    return finding


def send_findings(sender: Connection, source: Path, tests: Path, branches: int) -> None:
    """Measure in this process, and send what is missing."""
    sender.send(measure(source, tests, branches))


def measure(source: Path, tests: Path, branches: int) -> str:
    """
    Run ``tests`` alone, in this process, which has imported nothing of the product before.

    Returns:
        What failed or was not covered, for people to read; empty if all is well.
    """
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    measured = coverage.Coverage(data_file=None)
    measured.set_option("run:source", None)
    measured.set_option("run:include", [str(source)])
    with TemporaryDirectory() as folder:
        output, report = Path(folder, "output"), Path(folder, "coverage.json")
        with redirect(output), measured.collect():
            # A folder of its own: processes that share one also share the removal of old ones.
            own = ["-q", "-m", "not integration", f"--basetemp={folder}/tests"]
            failed = pytest.main([*own, *map(str, own_tests(source))])
        if failed:
            return f"{tests} fails when it runs alone:\n{output.read_text()}"
        try:
            measured.json_report(outfile=str(report))
        except NoDataError:
            return f"{tests} covers nothing of {source}"
        totals = json.loads(report.read_bytes())["totals"]
    taken, all_branches = totals["covered_branches"], totals["num_branches"]
    if not totals["missing_lines"] and 100 * taken >= branches * all_branches:
        return ""
    shown = StringIO()
    measured.report(file=shown)
    return f"{tests} does not cover {source}:\n{shown.getvalue()}"


@contextmanager
def redirect(path: Path) -> Generator[None]:
    """Send both outputs of this process and its children into a file."""
    kept = os.dup(1), os.dup(2)
    with path.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        try:
            yield
        finally:
            sys.stdout.flush()
            for stream, was in zip((1, 2), kept, strict=True):
                os.dup2(was, stream)
                os.close(was)


def read_part(text: str) -> tuple[int, int]:
    """Read ``2/3`` as the number of the first module and the step to the next."""
    first, _, step = text.partition("/")
    return int(first), int(step)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.coverage_by_module")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--part", type=read_part, default=(1, 1), metavar="N/M")
    arguments = parser.parse_args()
    sys.exit(main(arguments.names, *arguments.part))
