"""
What it takes to read a dump of pods, as ``kubectl get pods -o json`` and ``-o yaml`` write it.

``evenspread validate`` and ``evenspread audit`` are compared with a process that only decodes the
same file: by ``json.load``, or by our own reader of YAML, which is faster than that of PyYAML. All
are measured from start to end by what the kernel reports.
"""

import compileall
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import webhook
from tests.bench.audits import Used, used_by
from tests.bench.rows import Must, Row, ratios
from webhook.manifests import format_yaml

PODS = 7_300  # 66 MB of JSON
YAML_PODS = 2_000

DECODE_JSON = "import json, sys; json.load(open(sys.argv[1]))"
DECODE_YAML = (
    "import sys; from webhook.manifests.yaml import load; load(open(sys.argv[1]).read(), '', 1)"
)

TIME = Must(3)  # CPU of validating JSON, as a multiple of that of decoding it
MEMORY = Must(2)  # and memory
YAML_TIME = Must(2)  # CPU of validating or auditing YAML, as a multiple of that of decoding it
AUDIT_TIME = Must(6)  # CPU of auditing JSON: each pod is a workload of its own


class PodDumps:
    """Dumps of pods in files."""

    def __init__(
        self, folder: Path, program: Path, pods: int = PODS, yaml_pods: int = YAML_PODS
    ) -> None:
        """
        Write the files, and the bytecode of our modules, which an installation has, too.

        Args:
            folder: For the files.
            program: The evenspread to measure.
            pods: How many are written as JSON.
            yaml_pods: How many are written as YAML.
        """
        self._program = program
        for package in webhook.__path__:
            compileall.compile_dir(package, quiet=2)
        self.json, self.yaml = folder / "pods.json", folder / "pods.yaml"
        self.json.write_text(json.dumps(build_list(pods), indent=4))
        self.yaml.write_text(format_yaml(build_list(yaml_pods)))

    def decode(self, file: Path) -> Used:
        """Decode a file, and nothing else."""
        code = DECODE_JSON if file == self.json else DECODE_YAML
        return used_by(sys.executable, "-c", code, str(file))

    def read(self, command: str, file: Path) -> Used:
        """Validate or audit the pods in a file; the output is the summary."""
        return used_by(str(self._program), command, "-f", str(file))


DumpStep: TypeAlias = Callable[[PodDumps, int], Row]


def dump_steps() -> Mapping[str, DumpStep]:
    """List the rows; each measures in a number of rounds."""
    return {
        "validate of 66 MB of JSON": lambda dumps, rounds: _time(
            dumps, "validate", dumps.json, rounds, TIME
        ),
        "memory of that validate": _memory,
        "validate of YAML": lambda dumps, rounds: _time(
            dumps, "validate", dumps.yaml, rounds, YAML_TIME
        ),
        "audit of YAML": lambda dumps, rounds: _time(dumps, "audit", dumps.yaml, rounds, YAML_TIME),
        "audit of 66 MB of JSON": lambda dumps, rounds: _time(
            dumps, "audit", dumps.json, rounds, AUDIT_TIME
        ),
    }


def _time(dumps: PodDumps, command: str, file: Path, rounds: int, must: Must) -> Row:
    pairs = [(dumps.decode(file).cpu, dumps.read(command, file).cpu) for _ in range(rounds)]
    base, measured = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    mb = file.stat().st_size / 1e6
    what = f"{command} of {mb:.0f} MB of {file.suffix[1:].upper()}"
    shown = f"decoding {median(base):.2f} s"
    return Row(what, shown, f"{median(measured):.2f} s", ratios(measured, base), must)


def _memory(dumps: PodDumps, rounds: int) -> Row:
    file = dumps.json
    pairs = [
        (dumps.decode(file).largest, dumps.read("validate", file).largest) for _ in range(rounds)
    ]
    base, measured = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    shown = f"decoding {median(base):.0f} MiB"
    values = ratios(measured, base)
    return Row("memory of that validate", shown, f"{median(measured):.0f} MiB", values, MEMORY)


def build_list(pods: int) -> dict[str, Any]:
    """Build a list of pods as the API server sends them, without findings."""
    items = [build_pod(number) for number in range(pods)]
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}


def build_pod(number: int) -> dict[str, Any]:
    """Build a pod of the usual size: 7 KB of JSON as kubectl writes it."""
    variables = [{"name": f"NAME_{i}", "value": f"value {i} of {number}"} for i in range(20)]
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    conditions = [
        {"type": name, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for name in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"web-{number}",
            "namespace": f"team-{number % 50}",
            "labels": {"app": "web", "pod-template-hash": "5f6d8b7c9d"},
        },
        "spec": {
            "nodeName": f"node-{number % 100}",
            "containers": [
                {"name": name, "image": "registry.example/web:1", "env": variables}
                for name in ("web", "proxy")
            ],
            "topologySpreadConstraints": [constraint],
        },
        "status": {"phase": "Running", "conditions": conditions},
    }
