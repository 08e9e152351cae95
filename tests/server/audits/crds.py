"""
The CustomResourceDefinitions of others, which an API server of the tests is given.

They belong to other projects, so they are not kept here: ``python -m tests.server.audits.crds``
takes each once from a Go module, which Go checks against its checksum database, and puts it beside
the other tools of the tests. Kyverno carries that of wgpolicyk8s.io, whose own repository is no
module any more, and the Flux operator that of HelmReleases.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.controlplane.build import BuildError, alone, go_program, run
from tests.required import TOOLS, skip_or_fail

CACHE = Path("~/.cache/evenspread/tools")
NEEDS_GO = (1, 27, 0)  # the Flux operator needs the newest


class Source(NamedTuple):
    """A file of a Go module."""

    module: str
    version: str
    file: str


SOURCES = {
    "wgpolicyk8s.io": Source(
        "github.com/kyverno/kyverno",
        "v1.13.4",
        "config/crds/policyreport/wgpolicyk8s.io_policyreports.yaml",
    ),
    "openreports.io": Source(
        "github.com/openreports/reports-api", "v0.2.1", "config/crd/openreports.io_reports.yaml"
    ),
    "argoproj.io": Source(
        "github.com/argoproj/argo-cd/v3", "v3.3.0", "manifests/crds/application-crd.yaml"
    ),
    "helm.toolkit.fluxcd.io": Source(
        "github.com/controlplaneio-fluxcd/flux-operator",
        "v0.59.0",
        "config/data/flux/v2.9.5/helm-controller.yaml",
    ),
}
"""API group -> a file with the definition of one of its kinds."""


def located(group: str) -> Path:
    """Say where a definition is, or would be."""
    return CACHE.expanduser() / f"{group}-{SOURCES[group].version}.yaml"


def needed(group: str) -> Any:
    """Read a definition; skips the test without it, or where EVENSPREAD_REQUIRE_TOOLS=1 fails."""
    if not located(group).is_file():
        skip_or_fail(f"no CustomResourceDefinition of {group}: run `make tools`", TOOLS)
    documents = yaml.safe_load_all(located(group).read_text())
    return next(each for each in documents if each.get("spec", {}).get("group") == group)


def main() -> int:
    """Take what is not there; returns the exit code."""
    try:
        for group, source in SOURCES.items():
            if not located(group).is_file():
                take(source, located(group))
    except BuildError as error:
        print(f"make tools: {error}", file=sys.stderr)
        return 1
    return 0


def take(source: Source, to: Path) -> None:
    """
    Take a file out of a module; it gets its name last, so that no reader sees half of it.

    Raises:
        BuildError: The module cannot be had.
    """
    print(f"Taking {to.name} from {source.module}: once", flush=True)
    to.parent.mkdir(parents=True, exist_ok=True)
    with alone(to.parent), tempfile.TemporaryDirectory(prefix="taking-", dir=to.parent) as aside:
        go = go_program(needed=NEEDS_GO, cache=to.parent)
        output = run(
            [str(go), "mod", "download", "-json", f"{source.module}@{source.version}"],
            folder=Path(aside),
            environment={"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOWORK": "off"},
        )
        taken = Path(aside) / to.name
        shutil.copyfile(Path(json.loads(output)["Dir"]) / source.file, taken)
        taken.rename(to)


if __name__ == "__main__":
    raise SystemExit(main())
