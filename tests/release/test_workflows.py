"""The workflows of GitHub: valid, and nothing but what everybody can run at home."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.tools import ACTIONLINT, ToolError, locate
from tests.release.conftest import ROOT, run
from tests.required import TOOLS, skip_or_fail

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def steps(file: Path) -> list[Any]:
    jobs = yaml.safe_load(file.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def test_there_are_workflows() -> None:
    assert [file.name for file in FILES] == ["ci.yml", "release.yml"]


def test_they_fit_the_schema() -> None:
    schema = ("--builtin-schema", "vendor.github-workflows")

    assert "ok" in run(sys.executable, "-m", "check_jsonschema", *schema, *FILES)


@pytest.fixture
def actionlint() -> Path:
    try:
        return locate(ACTIONLINT)
    except ToolError as error:
        skip_or_fail(str(error), TOOLS)


def test_actionlint_finds_nothing(actionlint: Path) -> None:
    done = subprocess.run(
        [actionlint, "-no-color", "-shellcheck=", "-pyflakes=", *FILES],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )

    assert done.stdout == ""
    assert done.returncode == 0


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_actions_of_others_are_pinned_by_commit(file: Path) -> None:
    lines = [line.strip(" -") for line in file.read_text().splitlines() if "uses: " in line]

    assert lines
    assert [line for line in lines if not PINNED.fullmatch(line)] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_only_rights_that_are_named_are_held(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text())

    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert all("permissions" in job or workflow["permissions"] for job in workflow["jobs"].values())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_targets_that_are_made_exist(file: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    made = {
        target
        for step in steps(file)
        for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))
    }

    assert made <= targets


def test_a_release_stops_at_an_advisory_and_at_a_base_image_without_a_digest() -> None:
    workflow = yaml.safe_load((FOLDER / "release.yml").read_text())
    jobs = workflow["jobs"]
    check = [step.get("run") for step in jobs["check"]["steps"]]
    (image,) = (step["run"] for step in jobs["publish"]["steps"] if step.get("id") == "image")

    assert jobs["publish"]["needs"] == "check"
    assert {"make image-bases", "make advisories"} <= set(check)
    assert workflow["env"].keys() >= {"BUILD", "BASE"}
    assert "make image " in image


def publishing() -> str:
    """The scripts and the inputs of the steps that publish a release, in their order."""
    workflow = yaml.safe_load((FOLDER / "release.yml").read_text())
    return "\n".join(
        f"{step.get('run', step.get('uses'))}\n{yaml.safe_dump(step.get('with', {}))}"
        for step in workflow["jobs"]["publish"]["steps"]
    )


ORDER = (
    "make dist",
    "make image-sbom",
    "make plugin ",
    "make image ENGINE=docker",
    'make chart IMAGE="$RELEASED"',
    "sha256sum -- * > SHA256SUMS",
    'sign --yes "$RELEASED"',
    "attest --yes --type cyclonedx",
    "sign-blob --yes",
    "subject-path: dist/*",
    "subject-name: ${{ steps.image.outputs.name }}",
    "subject-name: ${{ steps.chart.outputs.name }}",
    "gh release create",
)
"""What a release consists of is made before it is signed, and signed before it is published."""


def test_a_release_is_made_signed_attested_and_published_in_this_order() -> None:
    places = [publishing().find(part) for part in ORDER]

    assert -1 not in places
    assert places == sorted(places)


def test_what_is_signed_is_named_by_digest() -> None:
    workflow = yaml.safe_load((FOLDER / "release.yml").read_text())
    (signatures,) = (
        step for step in workflow["jobs"]["publish"]["steps"] if "sign --yes" in step.get("run", "")
    )

    assert signatures["env"].keys() == {"RELEASED", "CHART"}
    assert all(".outputs.digest }}" in subject for subject in signatures["env"].values())
    assert set(re.findall(r"sign --yes (\S+)", signatures["run"])) == {'"$RELEASED"', '"$CHART"'}


def test_programs_of_others_are_go_modules_of_one_version() -> None:
    named = re.findall(r"go (?:run|install) (\S+)", publishing())

    assert len(named) == 2
    assert all(re.search(r"@v\d+\.\d+\.\d+$", module) for module in named)


def test_the_advisory_check_looks_up_every_pinned_package_and_is_pinned_itself() -> None:
    rule = (ROOT / "Makefile").read_text().partition("\nadvisories: ")[2].partition("\n\n")[0]
    pins = (ROOT / "requirements/advisories.txt").read_text()
    packages = [line for line in pins.splitlines() if "==" in line]

    assert "--strict" in rule
    assert "--require-hashes --disable-pip" in rule
    assert "--requirement requirements/runtime.txt" in rule
    assert any(line.startswith("pip-audit==") for line in packages)
    assert all(f"{line}\n    --hash=sha256:" in pins for line in packages)


def test_what_is_checked_is_what_is_checked_at_home() -> None:
    assert [step["run"] for step in steps(FOLDER / "ci.yml") if "run" in step] == [".ci/run"]
    assert ".ci/run" in [step.get("run") for step in steps(FOLDER / "release.yml")]
