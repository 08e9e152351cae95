"""Tests of rules and expressions, as promtool runs them."""

import subprocess
from pathlib import Path


def run_tests(promtool: Path, tests: Path) -> None:
    """Run the tests of a file; an error shows what promtool printed."""
    done = subprocess.run(
        [promtool, "test", "rules", tests], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
