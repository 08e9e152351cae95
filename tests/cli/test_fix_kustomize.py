"""Fixes of manifests that kustomize builds, which have no file to write."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.inputs.test_kustomize import install
from tests.cli.test_fix import DIFF, POD


@pytest.fixture
def overlay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose kustomization builds a pod."""
    (folder / "prod").mkdir()
    (folder / "prod/pod.yaml").write_text(POD)
    install(folder, "kustomize", "exec /bin/cat prod/pod.yaml")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_the_diff_of_a_build_is_shown(overlay: Path, run: Run) -> None:
    ran = run("fix", "-k", "prod", "--diff")

    assert (ran.code, ran.out) == (1, DIFF.replace("web.yaml", "kustomize build prod"))
    assert ran.err.endswith("1 finding would be fixed in 1 file, 0 left\n")
    assert (overlay / "prod/pod.yaml").read_text() == POD


def test_without_diff_the_error_names_the_alternatives(overlay: Path, run: Run) -> None:
    ran = run("fix", "-k", "prod")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: -k: cannot be written, as kustomize builds it: add --diff to see the changes, "
        "write -f prod to fix the files of the folder, or pipe: kustomize build prod | "
        "evenspread fix -f -\n"
    )
    assert (overlay / "prod/pod.yaml").read_text() == POD


def test_a_failed_build_is_a_problem(overlay: Path, run: Run) -> None:
    install(overlay, "kustomize", "exit 1")

    ran = run("fix", "-k", "prod", "--diff")

    assert (ran.code, ran.out) == (3, "")
    assert "error: kustomize build prod: failed: exit 1\n" in ran.err
