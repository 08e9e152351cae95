"""
Branch coverage of each core module by its own tests alone.

A module that is only covered by the tests of its neighbours can break without its own tests
noticing. So every module of the core has a test file of the same name, every test file of the
core has its module, and the one covers all branches of the other.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent

SOURCES = {
    "policy": "webhook/policy/[!_]*.py",
    "policy/placement": "webhook/policy/placement/[!_]*.py",
    "policy/advice": "webhook/policy/advice/[!_]*.py",
    "policy/explain": "webhook/policy/explain/[!_]*.py",
    "policy/api": "webhook/policy/api/[!_]*.py",
    "policy/defaulting": "webhook/policy/defaulting/[!_]*.py",
    "certs": "certs/plan.py",
}
"""Folder of tests: the core modules, as a pattern, that are tested there."""


def main() -> int:
    """Measure every pair and print what is missing; 0 if nothing is, else 1."""
    pairs = {
        source: Path("tests", folder, f"test_{source.name}")
        for folder, pattern in SOURCES.items()
        for source in found(pattern)
    }
    whole = {source: tests for source, tests in pairs.items() if (ROOT / tests).exists()}

    findings = [f"{pairs[source]} is missing" for source in pairs.keys() - whole.keys()]
    findings += [
        f"{tests} tests no module"
        for tests in found("tests/policy/**/test_*.py")
        if tests not in pairs.values()
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings += filter(None, pool.map(measure, whole.keys(), whole.values()))

    for finding in sorted(findings):
        print(finding)
    return 1 if findings else 0


def found(pattern: str) -> list[Path]:
    """List the files that match; paths from the root."""
    return [path.relative_to(ROOT) for path in ROOT.glob(pattern)]


def measure(source: Path, tests: Path) -> str:
    """
    Run ``tests`` alone, in a process of their own.

    Returns:
        What failed or was not covered, for people to read; empty if all is well.
    """
    with TemporaryDirectory() as folder:
        data = f"--data-file={folder}/coverage"
        ran = coverage("run", data, "-m", "pytest", "-q", str(tests))
        if ran.returncode:
            return f"{tests} fails when it runs alone:\n{ran.stdout}"

        told = coverage("report", data, f"--include={source}", "--fail-under=100")
        return f"{tests} does not cover {source}:\n{told.stdout}" if told.returncode else ""


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
    raise SystemExit(main())
