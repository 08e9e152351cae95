#!/usr/bin/env python3
"""
Make the archives of the kubectl plugin, and the manifest by which krew installs them.

``python deploy/release/plugin.py archive WHEEL FOLDER [PLATFORM [PYTHON ...]]``
``python deploy/release/plugin.py manifest FOLDER ADDRESS``

An archive holds evenspread, its pinned dependencies, and a launcher; not Python, which the machine
has to have. Extension modules carry the version of Python in their names, so those for several
versions stand side by side in one folder. Equal input gives equal bytes.
"""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from subprocess import run

import yaml
from archive import pack
from packaging.utils import parse_wheel_filename

HERE = Path(__file__).parent
RUNTIME = HERE.parents[1] / "requirements" / "runtime.txt"
LICENSE = HERE.parents[1] / "LICENSE"  # krew requires it in each archive
LAUNCHER = HERE / "kubectl-evenspread"

PLATFORMS = {
    "linux-amd64": "x86_64-manylinux_2_28",
    "linux-arm64": "aarch64-manylinux_2_28",
    "darwin-arm64": "aarch64-apple-darwin",
}
"""As krew calls them, and as uv does. Macs of Intel are not there: cryptography has no wheel."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Those for which all dependencies have wheels."""


def fill(lib: Path, wheel: Path, platform: str, pythons: Iterable[str]) -> None:
    """Install evenspread and its dependencies for each Python into one folder."""
    for python in pythons:
        with tempfile.TemporaryDirectory(dir=lib.parent) as aside:
            install = (
                *(sys.executable, "-m", "uv", "--quiet", "pip", "install", "--no-deps"),
                *("--only-binary", ":all:", "--python-platform", PLATFORMS[platform]),
                *("--python-version", python, "--target", aside),
            )
            run([*install, "--require-hashes", "--requirement", RUNTIME], check=True)
            run([*install, wheel], check=True)
            shutil.copytree(aside, lib, dirs_exist_ok=True)
    shutil.rmtree(lib / "bin")
    (lib / ".lock").unlink(missing_ok=True)
    (lib / "PYTHONS").write_text("".join(f"{each}\n" for each in pythons))


def make_archive(wheel: Path, folder: Path, platform: str, pythons: Sequence[str]) -> Path:
    """Make the archive of one platform; gives where it is."""
    archive = folder / f"kubectl-evenspread-{platform}.tar.gz"
    with tempfile.TemporaryDirectory() as aside:
        content = Path(aside, "content")
        (content / "lib").mkdir(parents=True)
        fill(content / "lib", wheel, platform, pythons)
        shutil.copy(LAUNCHER, content)
        shutil.copy(LICENSE, content)
        pack(content, archive, programs={LAUNCHER.name})
    return archive


def manifest(folder: Path, address: str) -> str:
    """
    Describe the archives in a folder for krew.

    Args:
        folder: Contains the wheel, whose name has the version, and archives.
        address: Where the files of the folder can be downloaded.
    """
    (wheel,) = folder.glob("*.whl")
    name, version, _, _ = parse_wheel_filename(wheel.name)
    platforms = [
        {
            "selector": {"matchLabels": dict(zip(("os", "arch"), each.split("-"), strict=True))},
            "uri": f"{address}/{archive.name}",
            "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
            "bin": LAUNCHER.name,
        }
        for each in PLATFORMS
        if (archive := folder / f"kubectl-evenspread-{each}.tar.gz").exists()
    ]
    spec = {
        "version": f"v{version}",
        "homepage": address.partition("/releases/")[0],
        "shortDescription": "Check and explain pod topology spread constraints",
        "description": (HERE / "description.txt").read_text(),
        "caveats": f"Needs one of Python {', '.join(PYTHONS)} on PATH.\n",
        "platforms": platforms,
    }
    head = {"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin"}
    plugin = {**head, "metadata": {"name": str(name)}, "spec": spec}
    return yaml.safe_dump(plugin, sort_keys=False)


def main(arguments: Sequence[str]) -> int:
    """Make archives, or the manifest; returns the exit code."""
    match arguments:
        case ["archive", wheel, folder]:
            for platform in PLATFORMS:
                make_archive(Path(wheel), Path(folder), platform, PYTHONS)
        case ["archive", wheel, folder, platform, *pythons]:
            make_archive(Path(wheel), Path(folder), platform, pythons or PYTHONS)
        case ["manifest", folder, address]:
            Path(folder, "evenspread.yaml").write_text(manifest(Path(folder), address))
        case _:
            sys.stderr.write(__doc__ or "")
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
