"""
The pytest side of what renders the manifests: a plugin, named in tests/conftest.py.

Without Helm the tests that use it are skipped; in CI they fail.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.controlplane.assets import Assets
from tests.deploy.manifests import DEPLOY, Helm, Json, read
from tests.deploy.tools import ToolError
from tests.required import TOOLS, skip_or_fail

Kustomize: TypeAlias = Callable[[str], list[Json]]


@pytest.fixture(scope="session")
def helm() -> Helm:
    try:
        return Helm.located()
    except ToolError as error:
        skip_or_fail(str(error), TOOLS)


@pytest.fixture(scope="session")
def kustomize(control_plane_assets: Assets) -> Kustomize:
    """What ``kubectl kustomize`` makes of a folder in deploy/."""

    def build(folder: str) -> list[Json]:
        command: list[str | Path] = [control_plane_assets.program("kubectl"), "kustomize"]
        done = subprocess.run(
            [*command, DEPLOY / folder], capture_output=True, text=True, check=True, timeout=60
        )
        return read(done.stdout)

    return build
