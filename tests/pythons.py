"""
Find the Pythons of this machine that the unit tests can run on.

``python -m tests.pythons`` lists all versions but its own, one line for each; with a version,
such as 3.12, it prints the path of that interpreter. It installs nothing: `make test PYTHONS=...`
makes an environment from what is found.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

OLDEST = 11
"""Minor version of Python 3 that ``requires-python`` in pyproject.toml starts at."""

LONGEST_S = 120
"""Seconds an interpreter may take to start; on a busy machine it takes well under one."""

_NAME = re.compile(r"python3\.(\d+)")

# A shim of pyenv has the name of an interpreter, and fails where its version is not selected.
# Wheels are pinned for final releases of CPython with its lock.
_PROBE = """
import ensurepip, sys, sysconfig, venv
usable = (
    sys.implementation.name == "cpython"
    and sys.version_info.releaselevel == "final"
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)
print(f"3.{sys.version_info.minor}" if usable else "")
"""


def search_path(environ: Mapping[str, str]) -> list[Path]:
    """List the folders to look in: those of PATH, then those of pyenv, the newest release first."""
    root = Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME", "/"), ".pyenv"))
    releases = sorted(root.glob("versions/3.*.*/bin"), key=_release, reverse=True)
    return [*map(Path, filter(None, environ.get("PATH", "").split(":"))), *releases]


def find(folders: Iterable[Path]) -> dict[str, Path]:
    """
    Find one interpreter for each version of Python, 3.11 or newer.

    Returns:
        Version, such as "3.12", to the first usable interpreter of that name, oldest first.
    """
    found: dict[int, Path] = {}
    for folder in folders:
        for program in folder.glob("python3.*"):
            name = _NAME.fullmatch(program.name)
            if name is None or int(name[1]) < OLDEST or int(name[1]) in found:
                continue
            if _version(program) == f"3.{name[1]}":
                found[int(name[1])] = program
    return {f"3.{minor}": found[minor] for minor in sorted(found)}


def main(arguments: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Print the requested interpreters; returns the exit code."""
    found = find(search_path(environ))
    if not arguments:
        running = f"3.{sys.version_info.minor}"
        print("\n".join(version for version in found if version != running))
        return 0
    (wanted,) = arguments
    if wanted not in found:
        print(f"no Python {wanted} on PATH or in pyenv; found: {', '.join(found)}", file=sys.stderr)
        return 1
    print(found[wanted])
    return 0


def _release(folder: Path) -> list[int]:
    """Sort key of a folder such as versions/3.12.1/bin."""
    return [int(number) for number in re.findall(r"\d+", folder.parent.name)]


def _version(program: Path) -> str:
    """Ask an interpreter for its version; "" if it does not run, or is not usable."""
    try:
        done = subprocess.run(
            [program, "-c", _PROBE], capture_output=True, check=False, text=True, timeout=LONGEST_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
