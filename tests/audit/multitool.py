"""
Microsoft's own validator of SARIF, and the JSON Schema of SARIF 2.1.0 that it carries.

``python -m tests.audit.multitool`` takes both once from an npm package.
"""

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import npmpackage
from tests.npmpackage import Part

PACKAGE = "@microsoft/sarif-multitool-linux@5.7.0"

PATIENCE_S = 300  # validating takes 2 s

MACHINE = "x86_64"  # that the program is built for

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
    return npmpackage.needed(part)


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


if __name__ == "__main__":
    raise SystemExit(npmpackage.take(PACKAGE, (SCHEMA, PROGRAM)))
