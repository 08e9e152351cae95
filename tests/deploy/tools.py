"""
The programs that the tests of deploy/ run: ``python -m tests.deploy.tools`` builds them, once.

About three minutes on 2 cores when nothing is cached. They are compiled from their Go modules,
since a Go module can be checked against the checksum database. promtool has a module list in go/,
because its own leaves out versions, which ``go install`` refuses; without the service discoveries,
which the tests do not need, it is a third as large. Standard library only.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.controlplane.build import BuildError, alone, go_program, go_version_of, run

CACHE = Path("~/.cache/evenspread/tools")  # expanded late: a test may have another HOME
NEEDS_GO = (1, 26, 0)  # Helm 3.22 needs the newest


class Program(NamedTuple):
    """A program that is compiled from a Go module."""

    name: str
    version: str
    module: str

    @property
    def file(self) -> Path:
        """Where it is once it has been built."""
        return CACHE.expanduser() / f"{self.name}-{self.version}"


HELM = Program("helm", "3.22.0", "helm.sh/helm/v3/cmd/helm")
ACTIONLINT = Program("actionlint", "1.7.12", "github.com/rhysd/actionlint/cmd/actionlint")
KREW = Program("validate-krew-manifest", "0.4.3", "sigs.k8s.io/krew/cmd/validate-krew-manifest")
PROMTOOL = Program("promtool", "3.16.0", "github.com/prometheus/prometheus/cmd/promtool")

MODULES = Path(__file__).with_name("go")


class ToolError(Exception):
    """A program is missing; the message contains how to get it."""


def main() -> int:
    """Build what is missing; returns the exit code."""
    try:
        for program in (HELM, ACTIONLINT, KREW):
            ensure(program)
        ensure_promtool()
    except BuildError as error:
        print(f"make tools: {error}", file=sys.stderr)
        return 1
    return 0


def locate(program: Program) -> Path:
    """
    Give what ``make tools`` built.

    Raises:
        ToolError: It has not been built.
    """
    if not os.access(program.file, os.X_OK):
        raise ToolError(f"there is no {program.name} {program.version}: run `make tools`")
    return program.file


def ensure(program: Program) -> None:
    """
    Build a program unless it is there; the file is renamed at the end, so it is never incomplete.

    Raises:
        BuildError: It cannot be built.
    """
    file = program.file
    if file.is_file():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with alone(file.parent):
        if file.is_file():  # another builder was faster
            return
        print(f"Building {file.name}: a minute, once", flush=True)
        go = go_program(needed=NEEDS_GO, cache=file.parent)
        with tempfile.TemporaryDirectory(prefix="building-", dir=file.parent) as aside:
            module = f"{program.module}@v{program.version}"
            run(
                ["nice", str(go), "install", "-trimpath", "-ldflags=-s -w", module],
                environment={
                    "GOBIN": aside,
                    "GOFLAGS": "-mod=mod -buildvcs=false",
                    "GOTOOLCHAIN": "local",
                    "GOWORK": "off",
                },
            )
            Path(aside, program.name).rename(file)


def ensure_promtool() -> None:
    """
    Build promtool from its module list unless it is there.

    Raises:
        BuildError: It cannot be built.
    """
    file = PROMTOOL.file
    file.parent.mkdir(parents=True, exist_ok=True)
    with alone(file.parent):
        if file.is_file():
            return
        print(f"Building {file.name}: two minutes, once", flush=True)
        go = go_program(needed=go_version_of(MODULES / "go.mod"), cache=file.parent)
        with tempfile.TemporaryDirectory(prefix="building-", dir=file.parent) as aside:
            made = Path(aside, PROMTOOL.name)
            flags = ["-tags", "remove_all_sd", "-ldflags", "-s -w", "-o", str(made)]
            run(
                ["nice", str(go), "build", *flags, PROMTOOL.module],
                folder=MODULES,
                environment={
                    "GOFLAGS": "-trimpath -buildvcs=false",
                    "GOTOOLCHAIN": "local",
                    "GOWORK": "off",
                },
            )
            made.rename(file)


if __name__ == "__main__":
    raise SystemExit(main())
