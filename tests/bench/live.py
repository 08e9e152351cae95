"""
A real kube-apiserver that can be filled, and servers that ask it.

A server keeps to one core. etcd and kube-apiserver use both, until they share the other one with a
load that has to be on time.
"""

import sys
import urllib.request
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Self

from prometheus_client.parser import text_string_to_metric_families

from tests.bench import cpu, filling, servers
from tests.bench.rounds import seconds_of
from tests.bench.servers import ENV, Server
from tests.controlplane import assets, etcd
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Process

ROOT = Path(__file__).parents[2]
LONGEST_ANSWER_S = 5.0  # of a server on the same machine, whose event loop is busy


class LiveCluster:
    """
    etcd, kube-apiserver and their servers; a context manager.

    Attributes:
        plane: The control plane, without controllers: no other client changes the objects.

    Args:
        folder: For what servers read and write.
        program: The evenspread to measure.
        cores: Where servers and everything else run.
        size: What fill() writes.

    Raises:
        AssetsError: No control plane has been built.
    """

    def __init__(self, folder: Path, program: Path, cores: cpu.Cores, size: filling.Size) -> None:
        options = Options(controllers=False, scheduler=False, service_accounts=False)
        self.plane = ControlPlane(assets.locate(), options)
        self._folder, self._program, self._cores, self._size = folder, program, cores, size
        self._started = 0
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with self._open:
            self._open.enter_context(self.plane)
            etcd.write(self.plane.etcd.url, filling.around_reference_pod())
            self._open = self._open.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def serve(self, configuration: str = servers.CONFIGURATION) -> Server:
        """Start a server, which knows the cluster as it is when it is ready."""
        kubeconfig, core = self.plane.apiserver.kubeconfig, self._cores.server
        server = servers.start_in_cluster(
            self._new_folder(), core, kubeconfig, self._program, configuration
        )
        self._open.callback(server.stop)
        return server

    def serve_floor(self) -> Server:
        """Start the aiohttp floor, which knows nothing."""
        server = servers.start_floor(self._new_folder(), self._cores.server)
        self._open.callback(server.stop)
        return server

    def audit(self) -> float:
        """Audit the cluster by a command; returns the seconds from its start to its end."""
        kubeconfig = str(self.plane.apiserver.kubeconfig)
        return seconds_of((str(self._program), "audit", "--kubeconfig", kubeconfig))

    def fill(self) -> Process:
        """Start to write the objects of a large cluster; the process ends when all are written."""
        command = (ENV, f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.bench.filling")
        arguments = (self.plane.etcd.url, *map(str, self._size))
        writer = Process("filling", command + arguments, log=self._folder / "filling.log")
        writer.start()
        self._open.callback(writer.kill)
        return writer

    def yielding(self, writer: Process) -> AbstractContextManager[None]:
        """Keep everything off the server's core, and let it leave the other one to the load."""
        running = [process.pid for process in (*self.plane.processes, writer) if process.alive]
        for pid in running:
            cpu.pin(pid, self._cores.load)
        return cpu.yielding(running)

    def cached_by(self, server: Server, kind: str) -> int:
        """Read how many objects of a kind are in the cache of a server."""
        url = f"http://127.0.0.1:{server.health}/metrics"
        with urllib.request.urlopen(url, timeout=LONGEST_ANSWER_S) as answer:
            text = answer.read().decode()
        return sum(
            int(sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == "evenspread_cache_objects" and sample.labels["kind"] == kind
        )

    def is_known_to(self, server: Server) -> bool:
        """Whether a server has all the ReplicaSets that are written; it has one more before."""
        return self.cached_by(server, "ReplicaSet") > self._size.replica_sets

    def _new_folder(self) -> Path:
        self._started += 1
        folder = self._folder / f"server-{self._started}"
        folder.mkdir()
        return folder
