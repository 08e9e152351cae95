"""Without its programs the tests of the control plane are skipped, but never in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ONE_TEST = "tests/controlplane/test_plane.py::test_kubectl_speaks_to_it"

CASES = {
    "skipped on a developer's machine": ({}, "SKIPPED", "1 skipped"),
    "an error where they are required": ({"EVENSPREAD_REQUIRE_ENVTEST": "1"}, "ERROR", "1 error"),
}


@pytest.mark.parametrize(("setting", "verdict", "count"), CASES.values(), ids=CASES.keys())
def test_without_programs(
    setting: dict[str, str], verdict: str, count: str, tmp_path: Path
) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": "500", **setting}

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rsE", "-p", "no:cacheprovider", ONE_TEST],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    (line,) = (line for line in done.stdout.splitlines() if line.startswith(verdict))
    assert "run `make envtest`" in done.stdout
    assert "test_plane.py" in line
    assert count in done.stdout.splitlines()[-1]
