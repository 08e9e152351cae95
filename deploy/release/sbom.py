#!/usr/bin/env python3
"""
Write the software bill of materials of a release, as CycloneDX: ``sbom.py WHEEL FILE [BASE]``.

The wheel is installed with exactly the dependencies of requirements/runtime.txt into an environment
that is deleted afterwards. The document describes this environment, and so what an image or a user
installs. With the base image of an image, as ``REPOSITORY@sha256:DIGEST``, it describes the image.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from subprocess import run
from urllib.parse import quote

import msgspec
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation import make_schemabased_validator
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "requirements" / "runtime.txt"
SPEC = SchemaVersion.V1_6  # what scanners read today; 1.7 adds nothing that this document needs


def install(wheel: Path, environment: Path) -> Path:
    """Make an environment of a wheel and its pinned dependencies; gives its Python."""
    python = environment / "bin" / "python"
    uv = (sys.executable, "-m", "uv", "--quiet")
    into = (*uv, "pip", "install", "--no-deps", "--python", str(python))
    run([*uv, "venv", "--no-project", "--python", sys.executable, environment], check=True)
    run([*into, "--require-hashes", "--requirement", RUNTIME], check=True)
    run([*into, wheel], check=True)
    return python


def describe(python: Path) -> dict[str, object]:
    """List what is installed beside the project, whose version is not in pyproject.toml."""
    made = run(
        [
            *(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"),
            *("--pyproject", ROOT / "pyproject.toml", "--spec-version", SPEC.to_version(), python),
        ],
        check=True,
        capture_output=True,
    )
    described: dict[str, object] = msgspec.json.decode(made.stdout)
    return described


def add_base(described: dict[str, object], base: str) -> None:
    """Add the base image, which the package URL names by its digest."""
    repository, _, digest = base.partition("@")
    components = described["components"]
    assert isinstance(components, list)
    purl = f"pkg:oci/{repository.rpartition('/')[2]}@{quote(digest)}?repository_url={repository}"
    named = {"name": repository, "version": digest, "purl": purl}
    components.append({"type": "container", "bom-ref": purl, **named})


def name_version(described: dict[str, object], wheel: Path) -> bytes:
    """
    Say which version it is about.

    Raises:
        ValueError: The result is not CycloneDX.
    """
    name, version, _, _ = parse_wheel_filename(wheel.name)
    metadata = described["metadata"]
    assert isinstance(metadata, dict)
    metadata["component"] |= {"version": str(version), "purl": f"pkg:pypi/{name}@{version}"}
    text = msgspec.json.format(msgspec.json.encode(described, order="sorted"))
    problem = make_schemabased_validator(OutputFormat.JSON, SPEC).validate_str(text.decode())
    if problem is not None:
        raise ValueError(f"what was made is no CycloneDX: {problem}")
    return text + b"\n"


def main(arguments: Sequence[str]) -> int:
    """Write the SBOM of a wheel or of an image; returns the exit code."""
    wheel, file = map(Path, arguments[:2])
    with tempfile.TemporaryDirectory() as folder:
        described = describe(install(wheel, Path(folder)))
    for base in arguments[2:]:
        add_base(described, base)
    file.write_bytes(name_version(described, wheel))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
