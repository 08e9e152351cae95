"""
Coverage of each module by its own tests alone: ``python -m tests.coverage_by_module [FOLDER ...]``.

A module that is only covered by the tests of its neighbours can break without its own tests
noticing. So a module has a test file of the same name at the mirrored place, every test file there
has its module, and the one covers the other: in the core all branches, elsewhere all lines and
nearly all branches.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


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


SCOPES = (
    Scope("policy", "webhook/policy/[!_]*.py"),
    Scope("policy/api", "webhook/policy/api/[!_]*.py"),
    Scope("policy/defaulting", "webhook/policy/defaulting/[!_]*.py"),
    Scope("policy/placement", "webhook/policy/placement/[!_]*.py"),
    Scope("policy/advice", "webhook/policy/advice/[!_]*.py"),
    Scope("policy/explain", "webhook/policy/explain/[!_]*.py"),
    Scope("certs", "certs/plan.py"),
)
"""The core, all of whose branches are covered."""

SHELLS = (
    Scope("certs", "certs/[!_]*.py", branches=95),
    *(
        Scope(folder, f"webhook/{folder}/[!_]*.py", branches=95)
        for folder in (
            "admission", "audit", "audit/renderers", "cli", "cli/inputs", "cli/views", "cluster",
            "cluster/client", "config", "doctor", "doctor/checks", "fix", "manifests", "server",
            "server/audits", "server/http", "spreadtest", "telemetry",
        )
    ),
)  # fmt: skip
"""All other modules."""


def main(folders: Sequence[str]) -> int:
    """Measure every pair and print what is missing; 0 if nothing is, else 1."""
    scopes = [scope for scope in (*SHELLS, *SCOPES) if scope.folder in folders]
    scopes = scopes or [*SHELLS, *SCOPES]  # of two rows for one module, the later one counts
    pairs = {
        source: (Path("tests", scope.folder, f"test_{source.name}"), scope.branches)
        for scope in scopes
        for source in found(scope.modules)
    }
    whole = {source: pair for source, pair in pairs.items() if (ROOT / pair[0]).exists()}
    findings = [f"{pairs[source][0]} is missing" for source in pairs.keys() - whole.keys()]
    mirrored = {tests for tests, _ in pairs.values()}
    findings += [
        f"{tests} tests no module"
        for scope in scopes
        if scope in SCOPES and scope.folder != "certs"
        for tests in found(f"tests/{scope.folder}/test_*.py")
        if tests not in mirrored
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings += filter(
            None, pool.map(measure, whole.keys(), *zip(*whole.values(), strict=True))
        )
    for finding in sorted(findings):
        print(finding)
    return 1 if findings else 0


def found(pattern: str) -> list[Path]:
    """List the files that match; paths from the root."""
    return [path.relative_to(ROOT) for path in ROOT.glob(pattern)]


def measure(source: Path, tests: Path, branches: int) -> str:
    """
    Run ``tests`` alone, in a process of their own.

    Returns:
        What failed or was not covered, for people to read; empty if all is well.
    """
    with TemporaryDirectory() as folder:
        data = f"--data-file={folder}/coverage"
        ran = coverage("run", data, "-m", "pytest", "-q", "-m", "not integration", str(tests))
        if ran.returncode:
            return f"{tests} fails when it runs alone:\n{ran.stdout}"
        report = coverage("json", data, f"--include={source}", "-o", "-", "--quiet")
        try:
            totals = json.loads(report.stdout)["totals"]
        except ValueError:
            return f"{tests} covers nothing of {source}"
        taken, all_branches = totals["covered_branches"], totals["num_branches"]
        if not totals["missing_lines"] and 100 * taken >= branches * all_branches:
            return ""
        shown = coverage("report", data, f"--include={source}")
        return f"{tests} does not cover {source}:\n{shown.stdout}"


def coverage(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the coverage tool at the root of the repository, with both of its outputs in one."""
    return subprocess.run(
        [sys.executable, "-m", "coverage", *arguments],
        cwd=ROOT,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
