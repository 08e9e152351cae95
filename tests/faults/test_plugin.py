"""The plugin in a pytest of its own."""

import subprocess
import sys
from pathlib import Path

from tests.faults.evidence import Evidence, FaultMeasurement, read_evidence
from tests.structure import ROOT

TESTS = """
import pytest

def test_of_no_case():
    assert False

@pytest.mark.fault(1, 4)
def test_that_passes(fault_report):
    fault_report.record(load="8 writers", calls=9, failed=0, outcome="nothing lost")

@pytest.mark.fault(4)
def test_that_fails():
    assert False, "a pod is lost"

@pytest.mark.fault(4)
def test_that_is_skipped():
    pytest.skip("no etcd")

@pytest.mark.fault(2)
def test_of_another_case():
    assert False
"""


def run(folder: Path, tests: str) -> tuple[list[Evidence], str]:
    (folder / "test_it.py").write_text(tests)
    lines = folder / "evidence.jsonl"
    lines.touch()
    command = [sys.executable, "-m", "pytest", "-p", "tests.faults.plugin", "-c", "/dev/null"]
    command += ["--fault-cases", "4", "--fault-evidence", str(lines), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return read_evidence(lines), done.stdout + done.stderr


def test_each_test_of_a_requested_case_leaves_its_evidence(tmp_path: Path) -> None:
    passed, failed, skipped = run(tmp_path, TESTS)[0]
    assert passed.cases == (1, 4)
    assert passed.problem == ""
    assert passed.measurements == (FaultMeasurement("8 writers", 9, 0, "nothing lost"),)
    assert "a pod is lost" in failed.problem
    assert skipped.problem == "skipped: Skipped: no etcd"


def test_an_unknown_case_is_refused(tmp_path: Path) -> None:
    evidence, output = run(tmp_path, TESTS.replace("fault(2)", "fault(32)"))
    assert evidence == []
    assert "no fault case {32}; write 1 to 31" in output
