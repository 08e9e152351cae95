"""Strategic merge patches among manifests, in the commands that judge files."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

REPLACED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      topologySpreadConstraints:
      - $patch: replace
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
"""

MERGED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      topologySpreadConstraints:
      - topologyKey: kubernetes.io/hostname
        $patch: delete
      - topologyKey: topology.kubernetes.io/zone
        maxSkew: 2
"""


@pytest.mark.parametrize("text", [REPLACED, MERGED], ids=["replaced", "merged"])
def test_a_patch_is_neither_denied_nor_changed(folder: Path, run: Run, text: str) -> None:
    (folder / "patch.yaml").write_text(text)

    assert run("validate", "--strict", "-f", "patch.yaml").code == 0
    assert run("audit", "--strict", "-f", "patch.yaml").code == 0
    assert run("fix", "--level", "audit", "-f", "patch.yaml").code == 0
    assert (folder / "patch.yaml").read_text() == text


def test_a_complete_entry_of_a_patch_is_judged_and_fixed(folder: Path, run: Run) -> None:
    (folder / "patch.yaml").write_text(REPLACED.replace("maxSkew: 1", "maxSkew: 0"))

    ran = run("validate", "-f", "patch.yaml")

    assert ran.code == 1
    assert "patch.yaml:9: Deployment web: denied: spec.template.spec.topologySpread" in ran.out
    assert "Constraints[1].maxSkew: Invalid value: 0" in ran.out
    assert ran.out.count("denied: ") == 1
    assert run("fix", "-f", "patch.yaml").code == 0
    assert (folder / "patch.yaml").read_text() == REPLACED


def test_a_misspelled_field_of_a_patch_is_found(folder: Path, run: Run) -> None:
    (folder / "patch.yaml").write_text(MERGED.replace("maxSkew: 2", "maxSkw: 2"))

    ran = run("validate", "-f", "patch.yaml")

    assert "[1].maxSkw" in ran.out
    assert "TSC011" in ran.out


def test_a_review_of_a_patch_is_that_of_an_object(folder: Path, run: Run) -> None:
    (folder / "patch.yaml").write_text(REPLACED)

    assert run("review", "-f", "patch.yaml").code == 1
