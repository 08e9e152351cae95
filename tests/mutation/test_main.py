"""The sample, and one trial of each outcome."""

import subprocess
import sys
from pathlib import Path

from tests.mirrored import mirrored_tests
from tests.mutation.__main__ import ROOT, draw, find_modules
from tests.mutation.mutants import Mutant

FOUND = [Mutant(Path(path), 1, start, start, b"") for path in "ab" for start in range(50)]


def test_a_sample_depends_on_its_seed_alone() -> None:
    assert draw(FOUND, 10, 1, "") == draw(FOUND, 10, 1, "")
    assert draw(FOUND, 10, 1, "") != draw(FOUND, 10, 2, "")
    assert {mutant.path for mutant in draw(FOUND, 10, 1, "b")} == {Path("b")}
    assert draw(FOUND, 1000, 1, "") == FOUND


def test_every_mutated_module_has_its_tests() -> None:
    assert len(find_modules()) > 20
    assert all((ROOT / mirrored_tests(path)).is_file() for path in find_modules())


SCRIPT = """
from pathlib import Path
from tests.mirrored import ROOT, own_tests
from tests.mutation.trial import Trial, run, warm_up

path = Path("webhook/policy/api/fielderrors.py")  # its tests import it from its package
text = (ROOT / path).read_bytes()
trial = Trial("webhook.policy.api.fielderrors", path, own_tests(path), cpu_s=60)
warm_up(trial.tests)
print(run(trial, text), run(trial, text.replace(b'"Forbidden"', b'""')))
"""


def test_a_mutant_is_tried_without_a_change_of_its_file() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["survived", "killed"]
