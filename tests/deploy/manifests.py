"""
Files generated from the chart: ``python -m tests.deploy.manifests`` (make manifests).

The chart is where a manifest is changed. The base for kustomize, the objects of a component and
deploy/monitoring are its outcome, with the default values or a few others; a test compares them.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import yaml

from tests.deploy.tools import HELM, ToolError, locate

Json = dict[str, Any]

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "chart"
KUBERNETES = "1.36.0"  # that a chart is rendered for; nothing in it depends on the version
NAMESPACE = "evenspread"
LONGEST_S = 300.0  # of one call; a rendering takes 0.1 s

MONITORING = {
    "serviceMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True},
}

REPAIRING = {
    "config": {
        "profiles": [{"name": "cluster", "scaleDown": "KeepSpread"}],
        "scaleDownRepair": True,
    }
}

HEADER = "# Generated from deploy/chart by `make manifests`; edit the chart instead.\n"


class MadeFolder(NamedTuple):
    """A folder of generated files: the values, and the templates that it has; None: all."""

    values: Mapping[str, Any]
    templates: frozenset[str] | None = None


MADE = {
    DEPLOY / "kustomize" / "base": MadeFolder({}),
    DEPLOY / "kustomize" / "scale-down-repair": MadeFolder(REPAIRING, frozenset({"repair.yaml"})),
    DEPLOY / "monitoring": MadeFolder(MONITORING, frozenset({"monitoring.yaml"})),
}


class HelmError(Exception):
    """Helm failed; the message is its output."""


class Helm:
    """The helm program, without any of its user's settings."""

    def __init__(self, program: Path, kubeconfig: Path = Path(os.devnull)) -> None:
        """Use the cluster of a kubeconfig; without one, none."""
        self._program = program
        self._kubeconfig = kubeconfig

    @classmethod
    def located(cls) -> Self:
        """Use what ``make tools`` built; raises ToolError."""
        return cls(locate(HELM))

    def at(self, kubeconfig: Path) -> "Helm":
        """Give a helm that works on the cluster of a kubeconfig."""
        return Helm(self._program, kubeconfig)

    def run(self, *args: str, values: Mapping[str, Any] | None = None) -> str:
        """Run it to its end; returns what it printed; raises HelmError."""
        done = subprocess.run(
            [self._program, *args, *(() if values is None else ("--values", "-"))],
            input=None if values is None else yaml.safe_dump(dict(values)),
            env={
                "PATH": os.environ["PATH"],
                "KUBECONFIG": str(self._kubeconfig),
                "HOME": str(
                    self._kubeconfig.parent
                ),  # it caches what it learns about servers there
            },
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        if done.returncode != 0:
            raise HelmError(done.stderr)
        return done.stdout

    def text(self, values: Mapping[str, Any], *options: str) -> str:
        """Render the chart into a namespace, without hooks."""
        where = ("--namespace", NAMESPACE, "--kube-version", KUBERNETES)
        return self.run(
            "template", "evenspread", str(CHART), *where, "--no-hooks", *options, values=values
        )

    def objects(self, values: Mapping[str, Any], *options: str) -> list[Json]:
        """Render the chart, and read it."""
        return read(self.text(values, *options))


def read(text: str) -> list[Json]:
    """The objects of a stream."""
    return [document for document in yaml.safe_load_all(text) if document]


def by_name(objects: Iterable[Json]) -> dict[str, Json]:
    """Objects by ``Kind/name``, so that their order does not count."""
    return {f"{obj['kind']}/{obj['metadata']['name']}": obj for obj in objects}


def files(text: str) -> dict[str, str]:
    """A rendering, cut by the templates that its parts come from."""
    found: dict[str, str] = {}
    for part in re.split(r"^---\n", text, flags=re.MULTILINE):
        head, _, rest = part.partition("\n")
        if match := re.fullmatch(r"# Source: evenspread/templates/(\S+)", head):
            before = found.get(match[1])
            found[match[1]] = f"{before}---\n{rest}" if before else f"{HEADER}{rest}"
    return found


def made(helm: Helm) -> dict[Path, str]:
    """What the made files have to hold."""
    return {
        folder / name: text
        for folder, (values, templates) in MADE.items()
        for name, text in files(helm.text(values)).items()
        if templates is None or name in templates
    }


def main() -> int:
    """Write them; returns the exit code."""
    try:
        written = made(Helm.located())
    except (ToolError, HelmError) as error:
        print(f"make manifests: {error}", file=sys.stderr)
        return 1
    for path, text in written.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
