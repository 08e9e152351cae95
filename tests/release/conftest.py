"""
A release of this checkout.

Wheel and sdist are built of a copy, offline. Tests that download the dependencies anew, some 20 MB
for each environment unless they are cached, run with ``EVENSPREAD_TEST_RELEASE=1``, as in CI.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("webhook", "certs", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore")
EPOCH = "1700000000"  # any time will do; two builds have to have the same

downloads = pytest.mark.skipif(
    os.environ.get("EVENSPREAD_TEST_RELEASE") != "1",
    reason="downloads dependencies: enable with EVENSPREAD_TEST_RELEASE=1",
)


def copy_of_checkout(folder: Path, of: Path = ROOT) -> Path:
    """Copy the files that a release is built from, so that edits during the test have no effect."""
    folder.mkdir()
    for part in PARTS:
        source = of / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / part)
    return folder


NO_BYTECODE = {"PIP_NO_COMPILE": "0"}
"""
Lets pip write no bytecode, of which a test uses little. pip inverts the variables of --no- options.
"""


def run(*command: str | Path, cwd: Path = ROOT, check: bool = True) -> str:
    """Run a command and return its output."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH, **NO_BYTECODE},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
        text=True,
    )
    assert not check or done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


def build(checkout: Path) -> dict[str, str]:
    """Build wheel and sdist of a checkout into its dist/; gives the checksum of each."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist", cwd=checkout)
    return checksums(checkout)


def checksums(checkout: Path) -> dict[str, str]:
    """Give the checksums of what was built, by name."""
    files = (checkout / "dist").iterdir()
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with its wheel and sdist in dist/."""
    folder = copy_of_checkout(tmp_path_factory.mktemp("release") / "evenspread")
    build(folder)
    return folder


@pytest.fixture(scope="session")
def wheel(checkout: Path) -> Path:
    (found,) = (checkout / "dist").glob("*.whl")
    return found
