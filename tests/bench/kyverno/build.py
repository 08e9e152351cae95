"""
Build Kyverno from its Go module, once: ``ensure_kyverno``.

Five minutes on two cores when nothing is cached; 250 MB. It uses the cache of the peer, see
``tests.bench.peer``. The build runs in the folder of the module, with the versions and checksums
that Kyverno itself pins: ``go install`` refuses the module, because it replaces another one.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.bench.peer import CACHE
from tests.controlplane.build import alone, go_program, run

MODULE = "github.com/kyverno/kyverno"
VERSION = "1.19.1"
NEEDS_GO = (1, 26, 6)  # the go line of its module
PROGRAMS = ("kyverno", "kyverno-init")
ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-trimpath -buildvcs=false",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


class KyvernoBuild(NamedTuple):
    """A folder with the programs, and with the CustomResourceDefinitions that they need."""

    folder: Path

    @property
    def server(self) -> Path:
        """The admission controller."""
        return self.folder / "kyverno"

    @property
    def initializer(self) -> Path:
        """The program that runs to its end before the admission controller starts."""
        return self.folder / "kyverno-init"

    @property
    def definitions(self) -> Path:
        """The folder of the CustomResourceDefinitions."""
        return self.folder / "crds"


def ensure_kyverno() -> KyvernoBuild:
    """
    Build the programs unless they are there.

    Raises:
        BuildError: They cannot be built; the message has Go's last lines.
    """
    folder = CACHE.expanduser() / f"kyverno-{VERSION}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.parent):
        if not folder.is_dir():  # else another builder was faster
            _build(folder)
    return KyvernoBuild(folder)


def _build(folder: Path) -> None:
    print(f"Building Kyverno {VERSION}: minutes, once", file=sys.stderr)
    go = str(go_program(needed=NEEDS_GO, cache=folder.parent))
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as aside:
        download = [go, "mod", "download", "-json", f"{MODULE}@v{VERSION}"]
        source = Path(json.loads(run(download, folder=Path(aside), environment=ENVIRONMENT))["Dir"])
        made = KyvernoBuild(Path(aside) / folder.name)
        made.definitions.mkdir(parents=True)
        packages = [f"./cmd/{program}" for program in PROGRAMS]
        command = ["nice", go, "build", "-ldflags", "-s -w", "-o", str(made.folder), *packages]
        run(command, folder=source, environment=ENVIRONMENT)
        collect_definitions(source / "config" / "crds", made.definitions)
        made.folder.rename(folder)  # so that an incomplete folder never has the name


def collect_definitions(source: Path, target: Path) -> None:
    """
    Copy the CustomResourceDefinitions of all subfolders into one folder.

    Only contents: Go's cache is read-only, and a copy of its modes could not be deleted.
    """
    for file in source.rglob("*.yaml"):
        shutil.copyfile(file, target / file.name)
