"""
The kubectl plugin: its archive, installed as krew does it, runs where there is only a Python.

krew itself does not run. What it does with a manifest is to choose a platform, compare the
checksum, unpack, and link to ``bin``.

Source: krew, ``pkg/index/types.go`` and ``internal/installation/install.go``.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.assets import Assets
from tests.release.conftest import ROOT, downloads, run
from tests.release.krew import find_manifest_problem
from webhook import __version__

PLUGIN = ROOT / "deploy" / "release" / "plugin.py"
LAUNCHER = ROOT / "deploy" / "release" / "kubectl-evenspread"
ADDRESS = "https://example.com/evenspread/releases/download/v1"

OURS = {("Linux", "x86_64"): "linux-amd64", ("Linux", "aarch64"): "linux-arm64"}.get(
    (platform.system(), platform.machine()), "darwin-arm64"
)
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def make(wheel: Path, folder: Path) -> Path:
    shutil.copy(wheel, folder)
    run(sys.executable, PLUGIN, "archive", wheel, folder, OURS, VERSION)
    run(sys.executable, PLUGIN, "manifest", folder, ADDRESS)
    return folder


@pytest.fixture(scope="module")
def made(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Archive and manifest, for this machine and this Python alone."""
    return make(wheel, tmp_path_factory.mktemp("made"))


def chosen(folder: Path) -> Any:
    """What krew would install on this machine."""
    manifest = yaml.safe_load((folder / "evenspread.yaml").read_text())
    system, machine = OURS.split("-")
    (found,) = (
        platform
        for platform in manifest["spec"]["platforms"]
        if platform["selector"]["matchLabels"] == {"os": system, "arch": machine}
    )
    return found


@pytest.fixture(scope="module")
def installed(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that krew has on PATH."""
    store, on_path = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("bin")
    platform_of_ours = chosen(made)
    archive = made / platform_of_ours["uri"].rpartition("/")[2]
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == platform_of_ours["sha256"]
    with tarfile.open(archive) as packed:
        packed.extractall(store, filter="data")
    (on_path / "kubectl-evenspread").symlink_to(store / platform_of_ours["bin"])
    return on_path


def call(*command: str | Path, path: str) -> subprocess.CompletedProcess[str]:
    """Call a program that finds nothing but what is on a PATH."""
    return subprocess.run(
        command,
        cwd=ROOT / "examples",
        env={"PATH": path, "HOME": "/nowhere"},
        capture_output=True,
        check=False,
        timeout=300,
        text=True,
    )


@downloads
def test_it_runs_through_the_link(installed: Path) -> None:
    path = os.pathsep.join([str(Path(sys.base_prefix, "bin")), "/usr/bin", "/bin"])

    done = call(installed / "kubectl-evenspread", "--version", path=path)
    checked = call(installed / "kubectl-evenspread", "validate", "-f", "manifests", path=path)

    assert done.stdout == f"kubectl evenspread {__version__}\n"
    assert checked.returncode == 0, checked.stderr
    assert "0 denied" in checked.stdout


@downloads
def test_its_licence_is_installed(installed: Path) -> None:
    store = (installed / "kubectl-evenspread").resolve().parent

    assert (store / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@downloads
def test_kubectl_finds_it(installed: Path, control_plane_assets: Assets) -> None:
    path = os.pathsep.join([str(installed), str(Path(sys.base_prefix, "bin")), "/usr/bin", "/bin"])

    done = call(control_plane_assets.program("kubectl"), "evenspread", "--version", path=path)

    assert done.stdout == f"kubectl evenspread {__version__}\n"


@downloads
def test_equal_input_makes_equal_archives(made: Path, wheel: Path, tmp_path: Path) -> None:
    again = make(wheel, tmp_path)

    assert chosen(again)["sha256"] == chosen(made)["sha256"]


@downloads
def test_the_manifest_passes_and_names_the_archive(made: Path) -> None:
    manifest = yaml.safe_load((made / "evenspread.yaml").read_text())

    assert find_manifest_problem("evenspread", manifest) is None
    assert chosen(made)["uri"] == f"{ADDRESS}/kubectl-evenspread-{OURS}.tar.gz"
    assert chosen(made)["bin"] == LAUNCHER.name


def test_the_launcher_reports_which_pythons_it_needs(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "PYTHONS").write_text("2.6\n2.7\n")
    shutil.copy(LAUNCHER, tmp_path)

    done = call(tmp_path / LAUNCHER.name, path="/usr/bin:/bin")

    assert done.returncode == 2
    assert done.stderr == "kubectl evenspread needs one of Python 2.6 2.7 on PATH\n"
