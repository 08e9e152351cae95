"""The hooks for repositories of manifests: known to pre-commit, and run as it runs them."""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.release.conftest import ROOT, copy_of_checkout, downloads, run

FILE = ROOT / ".pre-commit-hooks.yaml"
HOOKS: dict[str, Any] = {hook["id"]: hook for hook in yaml.safe_load(FILE.read_text())}
GOOD = ROOT / "examples" / "manifests"
CONFIG = ".pre-commit-config.yaml"
BAD = ROOT / "examples" / "broken" / "rules.yaml"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of manifests."""
    folder = tmp_path / "repository"
    shutil.copytree(GOOD, folder / "manifests")
    run("git", "init", "--quiet", folder)
    run("git", "-C", folder, "add", ".")
    return folder


def code_of(hook: Any, folder: Path) -> int:
    """Run a hook as pre-commit does; give its exit code."""
    words: list[str] = [*hook["entry"].split(), *hook["args"]]
    command = [f"{sysconfig.get_path('scripts')}/{words[0]}", *words[1:]]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


def test_pre_commit_knows_the_hooks() -> None:
    run(sys.executable, "-m", "pre_commit", "validate-manifest", FILE)
    run(sys.executable, "-m", "pre_commit", "validate-config", ROOT / CONFIG)

    assert set(HOOKS) == {"evenspread-validate", "evenspread-audit", "evenspread-fix"}


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_a_hook_excludes_what_it_does_not_read(repository: Path, hook: Any) -> None:
    vendored = repository / "charts/vendor"
    vendored.mkdir(parents=True)
    shutil.copy(BAD, vendored)

    assert code_of(hook, repository) == 0
    assert re.search(hook["exclude"], "charts/vendor/rules.yaml")
    assert not re.search(hook["exclude"], "vendors/rules.yaml")


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_a_hook_passes_good_manifests_and_stops_bad_ones(repository: Path, hook: Any) -> None:
    assert code_of(hook, repository) == 0
    shutil.copy(BAD, repository)
    assert code_of(hook, repository) == 1


@downloads
def test_pre_commit_installs_and_runs_them(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    hooks = copy_of_checkout(tmp_path / "hooks")
    shutil.copy(FILE, hooks)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    run("git", "init", "--quiet", hooks)
    run("git", "-C", hooks, "add", ".")
    run("git", "-C", hooks, *who, "commit", "--quiet", "--message=a")
    revision = run("git", "-C", hooks, "rev-parse", "HEAD").strip()
    used = {"repo": str(hooks), "rev": revision, "hooks": [{"id": hook} for hook in HOOKS]}
    (repository / CONFIG).write_text(yaml.safe_dump({"repos": [used]}))
    run("git", "-C", repository, "add", CONFIG)
    ask = (sys.executable, "-m", "pre_commit", "run", "--all-files")

    output = run(*ask, cwd=repository)
    run("git", "-C", repository, "add", shutil.copy(BAD, repository))
    refused = run(*ask, cwd=repository, check=False)

    assert output.count("Passed") == len(HOOKS)
    assert refused.count("Failed") == len(HOOKS)
    assert "TSC001" in refused
