"""
The programs that the tests of deploy/ run: ``python -m tests.deploy.tools`` builds Helm, once.

About 70 s on 2 cores when nothing is cached. It is compiled from its Go module, since a Go module
can be checked against the checksum database. promtool is not built: Debian has it in the package
``prometheus``. Standard library only.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.controlplane.build import BuildError, alone, go_program, run

HELM_VERSION = "3.22.0"
HELM_MODULE = "helm.sh/helm/v3/cmd/helm"
HELM_NEEDS_GO = (1, 26, 0)

CACHE = Path("~/.cache/evenspread/tools")  # expanded late: a test may have another HOME


class ToolError(Exception):
    """A program is not there; says what to do about it."""


def main() -> int:
    """Build what is missing; returns the exit code."""
    try:
        ensure_helm()
    except BuildError as error:
        print(f"make tools: {error}", file=sys.stderr)
        return 1
    return 0


def locate_helm() -> Path:
    """
    Give what ``make tools`` built.

    Raises:
        ToolError: It has not been built.
    """
    helm = _helm()
    if not os.access(helm, os.X_OK):
        raise ToolError(f"no Helm {HELM_VERSION} to render the chart with: run `make tools`")
    return helm


def locate_promtool() -> Path:
    """
    Give promtool: that on PATH, else one that somebody put beside Helm.

    Raises:
        ToolError: There is none.
    """
    found = shutil.which("promtool") or shutil.which("promtool", path=str(CACHE.expanduser()))
    if found is None:
        raise ToolError("no promtool to check alerts with (Debian: apt-get install prometheus)")
    return Path(found)


def ensure_helm() -> None:
    """
    Build Helm unless it is there; it gets its name last, so that nobody sees half of it.

    Raises:
        BuildError: It cannot be built.
    """
    helm = _helm()
    if helm.is_file():
        return
    helm.parent.mkdir(parents=True, exist_ok=True)
    with alone(helm.parent):
        if helm.is_file():  # another builder was faster
            return
        print(f"Building Helm {HELM_VERSION}: a minute, once", flush=True)
        go = go_program(needed=HELM_NEEDS_GO, cache=helm.parent)
        with tempfile.TemporaryDirectory(prefix="building-", dir=helm.parent) as aside:
            module = f"{HELM_MODULE}@v{HELM_VERSION}"
            run(
                ["nice", str(go), "install", "-trimpath", "-ldflags=-s -w", module],
                environment={
                    "GOBIN": aside,
                    "GOFLAGS": "-mod=mod -buildvcs=false",
                    "GOTOOLCHAIN": "local",
                    "GOWORK": "off",
                },
            )
            Path(aside, "helm").rename(helm)


def _helm() -> Path:
    return CACHE.expanduser() / f"helm-{HELM_VERSION}"


if __name__ == "__main__":
    raise SystemExit(main())
