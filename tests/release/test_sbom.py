"""The contents of a release: CycloneDX by its own schema, and exactly what is pinned."""

import json
import re
import sys
from pathlib import Path

import pytest
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation import make_schemabased_validator
from packaging.utils import canonicalize_name

from tests.release.conftest import ROOT, downloads, run
from webhook import __version__

RUNTIME = ROOT / "requirements" / "runtime.txt"


@pytest.fixture(scope="module")
def sbom(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("sbom") / "evenspread.cdx.json"
    run(sys.executable, "deploy/release/sbom.py", wheel, file)
    return file.read_text()


@downloads
def test_it_is_cyclonedx(sbom: str) -> None:
    validator = make_schemabased_validator(OutputFormat.JSON, SchemaVersion.V1_6)

    assert validator.validate_str(sbom) is None


@downloads
def test_it_names_the_release_and_everything_that_is_pinned(sbom: str) -> None:
    document = json.loads(sbom)
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", RUNTIME.read_text(), re.MULTILINE))
    components = {
        canonicalize_name(component["name"]): component["version"]
        for component in document["components"]
    }

    assert document["metadata"]["component"]["name"] == "evenspread"
    assert document["metadata"]["component"]["version"] == __version__
    assert components == {canonicalize_name(name): version for name, version in pinned.items()}


BASE = f"gcr.io/distroless/python3-debian12@sha256:{'a' * 64}"


@downloads
def test_that_of_the_image_names_its_base_too(sbom: str, wheel: Path, tmp_path: Path) -> None:
    file = tmp_path / "image.cdx.json"
    run(sys.executable, "deploy/release/sbom.py", wheel, file, BASE)
    document = json.loads(file.read_text())
    packages = json.loads(sbom)["components"]

    base = document["components"].pop()
    assert document["components"] == packages
    assert base["type"] == "container"
    assert f"{base['name']}@{base['version']}" == BASE
    assert base["purl"] == (
        f"pkg:oci/python3-debian12@sha256%3A{'a' * 64}"
        "?repository_url=gcr.io/distroless/python3-debian12"
    )


@downloads
def test_it_contains_nothing_of_the_machine(sbom: str) -> None:
    assert str(Path.home()) not in sbom
    assert "file:" not in sbom
