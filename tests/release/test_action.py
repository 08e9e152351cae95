"""The GitHub Action and the GitLab template: of their schemas, and their steps run as in CI."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.release.conftest import ROOT, downloads, run
from webhook import __version__

FILE, TEMPLATE = ROOT / "action.yml", ROOT / "deploy/ci/gitlab.yml"
ACTION: Any = yaml.safe_load(FILE.read_text())
STEPS: list[Any] = ACTION["runs"]["steps"]
INSTALL, AUDIT, REPORT = (step for step in STEPS if "run" in step)
JOB: Any = yaml.safe_load(TEMPLATE.read_text())["evenspread"]

PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
EXPRESSION = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  topologySpreadConstraints:
  - maxSkew: SKEW
    topologyKey: zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchLabels: {app: web}}
"""
GOOD, BAD = POD.replace("SKEW", "1"), POD.replace("SKEW", "0")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one good manifest, and bad ones in folders that are excluded by default."""
    folder = tmp_path / "repository"
    for name in (".git", "manifests", "vendor", "node_modules/a"):
        (folder / name).mkdir(parents=True)
    (folder / "manifests/web.yaml").write_text(GOOD)
    (folder / "vendor/web.yaml").write_text(BAD)
    (folder / "node_modules/a/web.yaml").write_text(BAD)
    return folder


def shell(script: str, folder: Path, *, sh: str = "bash", **variables: str) -> int:
    """Run a script as a runner does; give its exit code."""
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    options = ("--noprofile", "--norc", "-eo", "pipefail") if sh == "bash" else ("-e",)
    done = subprocess.run(
        [sh, *options, "-c", script],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8", **variables},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode


def audit(folder: Path, **inputs: str) -> dict[str, str]:
    """Run the step that audits, with inputs by their names; gives its outputs."""
    values = {name: setting["default"] for name, setting in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {
        name: EXPRESSION.sub(lambda found: values[found[1]], text)
        for name, text in AUDIT["env"].items()
    }
    output = folder.parent / "output"
    output.unlink(missing_ok=True)
    where = folder / values["working-directory"]
    assert shell(AUDIT["run"], where, GITHUB_OUTPUT=str(output), **environment) == 0
    return dict(line.split("=", 1) for line in output.read_text().splitlines())


def test_they_fit_their_schemas() -> None:
    check = (sys.executable, "-m", "check_jsonschema", "--builtin-schema")

    assert "ok" in run(*check, "vendor.github-actions", FILE)
    assert "ok" in run(*check, "vendor.gitlab-ci", TEMPLATE)


def test_actions_of_others_are_pinned_by_commit() -> None:
    lines = [line.strip(" -") for line in FILE.read_text().splitlines() if "uses: " in line]

    assert [line for line in lines if not PINNED.fullmatch(line)] == []
    assert len(lines) == 2


def test_no_input_is_a_part_of_a_script() -> None:
    assert not any("${{" in step["run"] for step in STEPS if "run" in step)


def test_every_input_is_used() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS)))

    assert used == set(ACTION["inputs"])


def test_the_version_of_the_template_is_that_of_the_program() -> None:
    assert JOB["variables"]["EVENSPREAD_PACKAGE"] == f"evenspread=={__version__}"
    assert f"raw/v{__version__}/" in TEMPLATE.read_text()


def test_good_manifests_pass(repository: Path) -> None:
    outputs = audit(repository)

    sarif = repository / "evenspread.sarif"
    assert outputs == {"exit-code": "0", "sarif-file": str(sarif)}
    assert json.loads(sarif.read_text())["runs"][0]["results"] == []
    assert shell(REPORT["run"], repository, EXIT_CODE=outputs["exit-code"]) == 0


def test_findings_fail_after_the_upload_and_have_fixes(repository: Path) -> None:
    (repository / "manifests/web.yaml").write_text(BAD)

    outputs = audit(repository)

    (result,) = json.loads(Path(outputs["sarif-file"]).read_text())["runs"][0]["results"]
    assert (outputs["exit-code"], result["ruleId"]) == ("1", "TSC001")
    place = result["fixes"][0]["artifactChanges"][0]["artifactLocation"]
    assert place == {"uri": "manifests/web.yaml"}
    assert shell(REPORT["run"], repository, EXIT_CODE=outputs["exit-code"]) == 1


# inputs, exit code
INPUTS: dict[str, tuple[dict[str, str], str]] = {
    "a folder": ({"paths": "vendor"}, "1"),
    "two folders": ({"paths": "manifests\nvendor\n"}, "1"),
    "no severity": ({"paths": "vendor", "fail_on": "never"}, "0"),
    "other excludes": ({"exclude": "node_modules\nvendor\nmanifests"}, "0"),
    "fewer excludes": ({"exclude": "vendor"}, "1"),
    "no rule": ({"paths": "vendor", "exclude_rules": "TSC0*"}, "0"),
    "another rule": ({"paths": "vendor", "rules": "tsc101"}, "0"),
    "a folder below": ({"working_directory": "vendor"}, "1"),
    "a version": ({"kube_version": "1.30"}, "0"),
    "an unknown version": ({"kube_version": "one"}, "2"),
    "a command": ({"paths": "$(touch hacked); touch hacked"}, "3"),
    "an option": ({"paths": "--help"}, "3"),
    "strict": ({"strict": "true"}, "0"),
}


@pytest.mark.parametrize(("inputs", "code"), INPUTS.values(), ids=INPUTS.keys())
def test_inputs_are_options(inputs: dict[str, str], code: str, repository: Path) -> None:
    assert audit(repository, **inputs)["exit-code"] == code
    assert not list(repository.rglob("hacked"))


def test_a_project_file_replaces_the_defaults(repository: Path) -> None:
    (repository / ".evenspread.yaml").write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadProject\npaths: [vendor]\n"
    )

    assert audit(repository)["exit-code"] == "1"
    assert audit(repository, working_directory="manifests")["exit-code"] == "1"


def test_without_a_report_nothing_is_uploaded(repository: Path) -> None:
    assert audit(repository, project="nope.yaml") == {"exit-code": "2"}


@downloads
def test_it_installs_itself(tmp_path: Path) -> None:
    path = tmp_path / "path"
    code = shell(
        INSTALL["run"],
        tmp_path,
        PYTHON=sys.executable,
        RUNNER_TEMP=str(tmp_path),
        GITHUB_ACTION_PATH=str(ROOT),
        GITHUB_PATH=str(path),
    )

    assert code == 0
    assert __version__ in run(f"{path.read_text().strip()}/evenspread", "--version")


def gitlab(folder: Path, **variables: str) -> int:
    """Run the script of the template without the step that installs."""
    install, script = JOB["script"]
    assert install.startswith("python -m pip install")
    defaults = {name: value for name, value in JOB["variables"].items() if "PACKAGE" not in name}
    return shell(script, folder, sh="sh", **{**defaults, **variables})


def test_the_template_reports_code_quality(repository: Path) -> None:
    assert gitlab(repository) == 0
    (repository / "manifests/web.yaml").write_text(BAD)
    assert gitlab(repository) == 1

    reports = JOB["artifacts"]["reports"]
    (entry,) = json.loads((repository / reports["codequality"]).read_text())
    assert (entry["check_name"], entry["location"]["path"]) == ("TSC001", "manifests/web.yaml")
    assert (repository / reports["junit"]).is_file()


def test_the_template_is_configured_by_variables(repository: Path) -> None:
    assert gitlab(repository, EVENSPREAD_PATHS="manifests vendor") == 1
    assert gitlab(repository, EVENSPREAD_PATHS="vendor", EVENSPREAD_FAIL_ON="never") == 0
    assert gitlab(repository, EVENSPREAD_PATHS="vendor", EVENSPREAD_RULES="TSC1*") == 0
