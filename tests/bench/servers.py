"""
The servers that are measured: child processes on a core of their own, ended by their id.

Each has a folder for what it reads and writes; what it prints is in a log there.
"""

import base64
import json
import socket
import sys
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.error import URLError

import trustme

from tests.bench import cpu, reviews
from tests.controlplane.processes import Process, free_port

EVENSPREAD = Path(sys.executable).with_name("evenspread")
ENV = "/usr/bin/env"  # execs what follows, so that its id stays
FLOOR = Path(__file__).with_name("floor.py")
PATIENCE_S = 120.0  # until a server is ready; it may have to list 100 000 objects first

CERTIFICATE, KEY = "t.crt", "t.key"  # file names in the flags of the peer in Go
AUTHORITY = "ca.crt"

STATE = "state"  # folder of the product's certificate
OWN_CERTIFICATE = ("--tls", "standalone", "--bind", "127.0.0.1")

IMPATIENT = """
import json, sys
from webhook.config.settings import read_settings
from webhook.server.http.limits import Limits
from webhook.server.run import run
limits = Limits(queued=0.0005, burst=0)
run(read_settings(json.loads(sys.argv[1])), print, limits=limits)
"""
"""Takes a wait of 0.1 ms for a long one, and stays overloaded for an hour."""

CONFIGURATION = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: cluster
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
exempt:
  namespaces: [kube-system]
"""


@dataclass(frozen=True)
class Server:
    """
    A server that is ready.

    Attributes:
        port: Of admission.
        health: Of health and metrics; 0 if it has none.
    """

    port: int
    process: Process
    health: int = 0

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def stop(self) -> None:
        """End it; nothing happens if it has ended."""
        self.process.kill()


def start_floor(folder: Path, core: int) -> Server:
    """Start the aiohttp floor."""
    port = free_port()
    write_certificate(folder)
    process = _process(
        "floor", folder, sys.executable, FLOOR, port, folder / CERTIFICATE, folder / KEY
    )
    return _started(Server(port, process), core, lambda: _listens(port))


def start_product(
    folder: Path, core: int, facts: Mapping[str, Any], program: Path = EVENSPREAD
) -> Server:
    """Start evenspread with what it shall know of the cluster, a List of objects."""
    (folder / "cluster").mkdir()
    (folder / "cluster" / "list.json").write_text(json.dumps(facts))
    return _started_product(folder, core, program, "--standalone", "--facts", folder / "cluster")


def start_impatient(folder: Path, core: int, facts: Mapping[str, Any]) -> Server:
    """Start evenspread as it is under overload: it refuses nearly all calls."""
    known, config = folder / "list.json", folder / "spread.yaml"
    known.write_text(json.dumps(facts))
    config.write_text(CONFIGURATION)
    port, health = free_port(), free_port()
    settings = {
        "standalone": True,
        "facts": str(known),
        "config": str(config),
        "state": str(folder / STATE),
        "bind": "127.0.0.1",
        "port": port,
        "health_port": health,
    }
    process = _process("overload", folder, sys.executable, "-c", IMPATIENT, json.dumps(settings))
    url = f"http://127.0.0.1:{health}/readyz"
    return _started(Server(port, process, health), core, lambda: _is_green(url))


def start_in_cluster(
    folder: Path,
    core: int,
    kubeconfig: Path,
    program: Path = EVENSPREAD,
    configuration: str = CONFIGURATION,
) -> Server:
    """Start evenspread beside an API server; it is ready when it knows the cluster."""
    flags = (*OWN_CERTIFICATE, "--kubeconfig", kubeconfig)
    return _started_product(folder, core, program, *flags, configuration=configuration)


def authority_of(server: Server) -> str:
    """What to trust of a server that has been started here, as in a ``caBundle``."""
    folder = server.process.log.parent
    own = folder / STATE  # of evenspread
    authority = (own if own.is_dir() else folder) / AUTHORITY
    return base64.b64encode(authority.read_bytes()).decode()


def _started_product(
    folder: Path, core: int, program: Path, *flags: object, configuration: str = CONFIGURATION
) -> Server:
    (folder / "spread.yaml").write_text(configuration)
    port, health = free_port(), free_port()
    own = {
        "--port": port,
        "--health-port": health,
        "--state": folder / STATE,
        "--config": folder / "spread.yaml",
    }
    process = _process("evenspread", folder, program, "serve", *chain(*own.items()), *flags)
    url = f"http://127.0.0.1:{health}/readyz"
    return _started(Server(port, process, health), core, lambda: _is_green(url))


def start_peer(program: Path, folder: Path, core: int, services: int) -> Server:
    """Start the peer in Go, on one core as the others, and with one thread of Go's."""
    port = free_port()
    write_certificate(folder)
    process = _process("peer", folder, ENV, "GOMAXPROCS=1", program, port, services, folder)
    return _started(Server(port, process), core, lambda: _listens(port))


def cluster(services: int = 1, revisions: Iterable[str] = (reviews.HASH,)) -> dict[str, Any]:
    """
    What is known of the reference pod's namespace: its Service and others, and the ReplicaSets.

    The other Services share a label with each other, but none of them selects the pod.

    Args:
        revisions: The hashes of the ReplicaSets.
    """
    others = (
        _service(f"service-{i}", {"app.kubernetes.io/name": f"service-{i}", "team": "payments"})
        for i in range(1, services)
    )
    ours = _service("checkout", {"app.kubernetes.io/name": "checkout"})
    replica_sets = map(_replica_set, revisions)
    return {"apiVersion": "v1", "kind": "List", "items": [*replica_sets, ours, *others]}


def write_certificate(folder: Path) -> None:
    """Write a pair for 127.0.0.1: ECDSA P-256, as the product's own; and its authority."""
    authority = trustme.CA()
    pair = authority.issue_cert("127.0.0.1")
    (folder / AUTHORITY).write_bytes(authority.cert_pem.bytes())
    (folder / KEY).write_bytes(pair.private_key_pem.bytes())
    (folder / CERTIFICATE).write_bytes(b"".join(pem.bytes() for pem in pair.cert_chain_pems))


def _started(server: Server, core: int, ready: Callable[[], bool]) -> Server:
    process = server.process
    process.start()
    try:
        cpu.pin(process.pid, core)
        process.wait_until(ready, patience_s=PATIENCE_S)
    except BaseException:
        process.kill()
        raise
    return server


def _process(name: str, folder: Path, *command: object) -> Process:
    return Process(name, [str(argument) for argument in command], log=folder / f"{name}.log")


def _service(name: str, selector: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"selector": selector},
    }


def _replica_set(revision: str) -> dict[str, Any]:
    owner = reviews.reference()["request"]["object"]["metadata"]["ownerReferences"][0]
    labels = {**reviews.LABELS, "pod-template-hash": revision}
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "metadata": {"name": owner["name"].replace(reviews.HASH, revision), "namespace": "shop"},
        "spec": {"selector": {"matchLabels": labels}},
    }


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_green(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except (URLError, ConnectionError, TimeoutError):
        return False
