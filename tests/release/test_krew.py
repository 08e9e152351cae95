"""The manifest of the kubectl plugin: by krew's rules, and by krew's own program for its index."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from tests.deploy.tools import KREW, ToolError, locate
from tests.release.conftest import ROOT, run
from tests.release.krew import API_VERSION, find_manifest_problem
from tests.required import TOOLS, skip_or_fail
from webhook import PROJECT_ADDRESS, __version__

PLUGIN = ROOT / "deploy" / "release" / "plugin.py"
ADDRESS = f"{PROJECT_ADDRESS}/releases/download/v{__version__}"
PLATFORMS = ("linux-amd64", "linux-arm64", "darwin-arm64")

Change: TypeAlias = Callable[[Any], object]


@pytest.fixture(scope="module")
def folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with its manifest; the manifest depends on the archives by their checksums only."""
    made = tmp_path_factory.mktemp("dist")
    shutil.copy(wheel, made)
    for platform in PLATFORMS:
        (made / f"kubectl-evenspread-{platform}.tar.gz").write_bytes(platform.encode())
    run(sys.executable, PLUGIN, "manifest", made, ADDRESS)
    return made


@pytest.fixture
def manifest(folder: Path) -> Any:
    return yaml.safe_load((folder / "evenspread.yaml").read_text())


@pytest.fixture(scope="module")
def validator() -> Path:
    try:
        return locate(KREW)
    except ToolError as error:
        skip_or_fail(str(error), TOOLS)


def accepted(validator: Path, file: Path) -> bool:
    """Whether krew's program accepts a manifest, which it does not install."""
    command: tuple[str | Path, ...] = (validator, f"-manifest={file}", "-skip-install")
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_it_passes(manifest: Any) -> None:
    assert find_manifest_problem("evenspread", manifest) is None


def test_krew_accepts_it(validator: Path, folder: Path) -> None:
    assert accepted(validator, folder / "evenspread.yaml")


def test_it_is_that_of_the_release(manifest: Any) -> None:
    spec = manifest["spec"]

    assert spec["version"] == f"v{__version__}"
    assert spec["homepage"] == PROJECT_ADDRESS
    assert len(spec["shortDescription"]) <= 50  # wider descriptions break the table of krew search
    assert [platform["uri"] for platform in spec["platforms"]] == [
        f"{ADDRESS}/kubectl-evenspread-{platform}.tar.gz" for platform in PLATFORMS
    ]


def first(manifest: Any) -> Any:
    return manifest["spec"]["platforms"][0]


BROKEN: dict[str, tuple[str, Change]] = {
    "another API": ("apiVersion", lambda it: it.update(apiVersion="v1")),
    "another kind": ("kind", lambda it: it.update(kind="Index")),
    "another name": ("name of the file", lambda it: it["metadata"].update(name="spread")),
    "no description": ("shortDescription", lambda it: it["spec"].update(shortDescription="")),
    "a long description": (
        "shortDescription",
        lambda it: it["spec"].update(shortDescription="a\n"),
    ),
    "no platform": ("platforms", lambda it: it["spec"].update(platforms=[])),
    "no version": ("version", lambda it: it["spec"].pop("version")),
    "a version without v": ("version", lambda it: it["spec"].update(version="0.1.0")),
    "half a version": ("version", lambda it: it["spec"].update(version="v0.1")),
    "a number with a zero": ("version", lambda it: it["spec"].update(version="v0.01.0")),
    "no address": ("uri", lambda it: first(it).update(uri="")),
    "no checksum": ("sha256", lambda it: first(it).update(sha256="")),
    "half a checksum": ("sha256", lambda it: first(it).update(sha256="a" * 63)),
    "an upper case checksum": ("sha256", lambda it: first(it).update(sha256="A" * 64)),
    "no program": ("bin", lambda it: first(it).pop("bin")),
    "no selector": ("selector", lambda it: first(it).pop("selector")),
    "an empty selector": ("selector", lambda it: first(it).update(selector={"matchLabels": {}})),
    "another label": (
        "selector",
        lambda it: first(it).update(selector={"matchLabels": {"system": "linux"}}),
    ),
    "a platform that krew does not know": (
        "unknown platform",
        lambda it: first(it).update(selector={"matchLabels": {"os": "plan9"}}),
    ),
    "a platform twice": (
        "overlapping platforms",
        lambda it: first(it).update(selector={"matchLabels": {"os": "linux"}}),
    ),
}


@pytest.mark.parametrize(("problem", "change"), BROKEN.values(), ids=BROKEN)
def test_a_broken_manifest_is_refused_by_both(
    problem: str, change: Change, manifest: Any, validator: Path, tmp_path: Path
) -> None:
    broken = deepcopy(manifest)
    change(broken)
    file = tmp_path / "evenspread.yaml"
    file.write_text(yaml.safe_dump(broken))

    assert find_manifest_problem("evenspread", broken) == problem
    assert not accepted(validator, file)


NAMES = {"evenspread": True, "even_spread-1": True, "even.spread": False, "": False, "aux": False}


@pytest.mark.parametrize(("name", "safe"), NAMES.items(), ids=NAMES)
def test_names_are_safe_in_paths(name: str, safe: bool) -> None:
    manifest = {"apiVersion": API_VERSION, "kind": "Plugin", "metadata": {"name": name}}

    problem = find_manifest_problem(name, manifest)

    assert problem == ("shortDescription" if safe else "unsafe name")


VERSIONS = {"v1.2.3-rc.1": True, "v1.2.3+build.1": True, "v1.2.3-": False, "v1.2.3.4": False}


@pytest.mark.parametrize(("version", "valid"), VERSIONS.items(), ids=VERSIONS)
def test_versions_are_semantic(
    version: str, valid: bool, manifest: Any, validator: Path, tmp_path: Path
) -> None:
    manifest["spec"]["version"] = version
    file = tmp_path / "evenspread.yaml"
    file.write_text(yaml.safe_dump(manifest))

    assert (find_manifest_problem("evenspread", manifest) is None) is valid
    assert accepted(validator, file) is valid
