"""
Nodes that run pods: kubelet and kube-proxy as far as one namespace and one Service need them.

All else is real: scheduler, controllers, endpoints, evictions. A kubelet here starts the container
of a pod that is bound (containers.py), keeps its volumes up to date, probes it, sends it SIGTERM
when the pod is deleted or evicted, SIGKILL when the grace period is over, and confirms its end. A
kube-proxy here listens on the ClusterIP, which is one of loopback, and learns of endpoints late.

Pods say they have an address of 10.0.0.0/8, since EndpointSlices take none of loopback; the same
with 127 in front is where they listen.
"""

import os
import random
import signal
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.controlplane.api import ApiError, Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Process
from tests.e2e import containers
from tests.e2e.forwarding import Address, Forwarder
from tests.e2e.volumes import Volumes

LOOK_S = 0.1  # between two looks at pods or endpoints
PROBE_S = 1.0  # between two probes; the manifests say 5, so a test takes less time than a cluster
PROBE_PATIENCE_S = 9.0  # 3 s as in the manifests, which allow for three failures

LAG_S = 2.0
"""
How much later a kube-proxy knows of endpoints than the kubelet of their pod.

A second or so in a cluster that is well; it is what a server that leaves has to bear.
"""


class Net:
    """Unused addresses of loopback: 127.A.B.0/24, with A from 64 to 127."""

    def __init__(self) -> None:
        self._middle = f"{random.randint(64, 127)}.{random.randint(0, 255)}"
        self._last = 0

    @property
    def services(self) -> str:
        """The range of ClusterIPs, beside that of pods."""
        first, second = map(int, self._middle.split("."))
        return f"127.{first - 63}.{second}.0/24"

    def new_address(self) -> str:
        """The pod's address in its status."""
        self._last += 1
        return f"10.{self._middle}.{self._last}"


def reached(address: str) -> str:
    """Return the loopback address of a pod with this address in its status."""
    return f"127.{address.partition('.')[2]}"


class RunningPod:
    """
    The container of one pod.

    Attributes:
        pod: As it was when it was bound.
        address: The one in its status.
        process: The container.
        ready: Result of the last probe.
        finished: Whether it has ended by itself.
    """

    def __init__(
        self, plane: ControlPlane, pod: Json, folder: Path, address: str, source: Path
    ) -> None:
        self.pod = pod
        self.address = address
        self.ready = self.finished = False
        self._api = plane.api
        self._stopped = 0.0
        (self._container,) = pod["spec"]["containers"]
        for name in ("root", "volumes"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o711)
        self.volumes = Volumes(plane.api, pod, folder / "volumes", containers.user_of(pod))
        self.process = Process(pod["metadata"]["name"], (), log=folder / "log")
        self._folder, self._source = folder, source

    def start(self, environment: Mapping[str, str]) -> None:
        """Start it as a kubelet does, listening on its own address."""
        self.volumes.sync()
        paths = {
            volume["name"]: self.volumes.path(volume["name"])
            for volume in self.pod["spec"]["volumes"]
        }
        variables = {**environment, "EVENSPREAD_BIND": reached(self.address)}
        self.process.command = tuple(
            containers.command(self.pod, self._folder / "root", self._source, paths, variables)
        )
        self.process.start()
        self._tell()

    def probe(self) -> None:
        """Run the readiness probe and write its result to the status if it changed."""
        if self.finished:
            return  # the status never changes again
        probe = self._container.get("readinessProbe")
        ready = self.process.alive and (probe is None or self._answers(probe["httpGet"]))
        if ready != self.ready:
            self.ready = ready
            self._tell()

    def stop(self) -> None:
        """Ask it to end; kill it when its grace period is over."""
        if not self._stopped:
            self._stopped = time.monotonic()
            if self.process.alive:
                os.killpg(self.process.pid, signal.SIGTERM)
        elif time.monotonic() - self._stopped > self.pod["spec"]["terminationGracePeriodSeconds"]:
            self.process.kill()

    def finish(self) -> None:
        """Report that it has ended by itself."""
        self.finished = True
        phase = "Failed" if self.process.exit_code else "Succeeded"
        self._api.merge(self.pod, {"status": {"phase": phase}}, subresource="/status")

    def page(self, path: str) -> str:
        """A page of its port ``health``, whatever its status."""
        with _opener.open(self._url(path, "health"), timeout=PROBE_PATIENCE_S) as answer:
            text: str = answer.read().decode()
        return text

    def _answers(self, get: Json) -> bool:
        with (
            suppress(OSError),
            urllib.request.urlopen(
                self._url(get["path"], get["port"]), timeout=PROBE_PATIENCE_S
            ) as answer,
        ):
            return bool(answer.status < 400)
        return False

    def _url(self, path: str, port: str) -> str:
        ports = {port["name"]: port["containerPort"] for port in self._container["ports"]}
        return f"http://{reached(self.address)}:{ports[port]}{path}"

    def _tell(self) -> None:
        status = "True" if self.ready else "False"
        conditions = [{"type": kind, "status": status} for kind in ("Ready", "ContainersReady")]
        running = {"phase": "Running", "podIP": self.address, "podIPs": [{"ip": self.address}]}
        self._api.merge(
            self.pod, {"status": {**running, "conditions": conditions}}, subresource="/status"
        )


class _Lenient(urllib.request.HTTPErrorProcessor):
    """Takes each status for an answer."""

    def http_response(self, request: object, response: object) -> object:
        del request
        return response


_opener = urllib.request.build_opener(_Lenient())


class Kubelet:
    """
    Runs the pods of a namespace, on whichever Node they are; a context manager.

    Args:
        images: The tree of sources that stands for each image.
        api: Where containers reach the API server.

    Attributes:
        running: By name of the pod.
        exits: The exit codes of stopped processes, in the order of their ends.
        mishaps: Ends of the logs of servers that ended by themselves.
    """

    def __init__(
        self,
        plane: ControlPlane,
        namespace: str,
        folder: Path,
        net: Net,
        *,
        images: Mapping[str, Path],
        api: Address,
    ) -> None:
        self.running: dict[str, RunningPod] = {}
        self.exits: list[int | None] = []
        self.mishaps: list[str] = []
        self._plane, self._namespace, self._folder, self._net = plane, namespace, folder, net
        self._images = images
        self._environment = {
            "KUBERNETES_SERVICE_HOST": api.host,
            "KUBERNETES_SERVICE_PORT": str(api.port),
        }
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self._probed = 0.0

    def __enter__(self) -> Self:
        self._work: Future[None] = self._pool.submit(self._run)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        for container in self.running.values():
            container.process.kill()
        self._work.result()

    def _run(self) -> None:
        while not self._over.wait(LOOK_S):
            with suppress(OSError):  # of an API server that is restarted
                self._look()

    def _look(self) -> None:
        pods = self._plane.api.items("v1", "Pod", self._namespace)
        for pod in pods:
            running = self.running.get(pod["metadata"]["name"])
            if running is None:
                if "nodeName" in pod["spec"] and "deletionTimestamp" not in pod["metadata"]:
                    self._start(pod)
            elif "deletionTimestamp" in pod["metadata"]:
                self._end(running)
            elif not (running.process.alive or running.finished):
                running.finish()
                if pod["spec"]["restartPolicy"] == "Always":
                    self.mishaps.append(running.process.tail())
        if time.monotonic() - self._probed > PROBE_S:
            self._probed = time.monotonic()
            for running in tuple(self.running.values()):
                with suppress(ApiError):  # the pod was deleted meanwhile
                    running.volumes.sync()
                    running.probe()

    def _start(self, pod: Json) -> None:
        name = pod["metadata"]["name"]
        (container,) = pod["spec"]["containers"]
        running = RunningPod(
            self._plane,
            pod,
            self._folder / name,
            self._net.new_address(),
            self._images[container["image"]],
        )
        self.running[name] = running
        running.start(self._environment)

    def _end(self, running: RunningPod) -> None:
        running.stop()
        if not running.process.alive:
            self.exits.append(running.process.exit_code)
            del self.running[running.process.name]
            self._plane.api.delete(running.pod)


class KubeProxy:
    """
    The ClusterIP of a Service, forwarded to its endpoints; a context manager.

    New connections go to those that are ready; if none is, to those that still serve while they
    end. Connections that exist are left alone.

    Source: Kubernetes pkg/proxy/topology.go ``CategorizeEndpoints``.
    """

    def __init__(self, plane: ControlPlane, service: Json, port: str) -> None:
        """
        Listen on nothing yet.

        Args:
            service: As it is stored.
            port: The name of the one that is forwarded.
        """
        self._plane, self._service, self._port = plane, service, port
        number = next(one["port"] for one in service["spec"]["ports"] if one["name"] == port)
        self._forwarder = Forwarder(Address(service["spec"]["clusterIP"], number))
        self._coming: deque[tuple[float, tuple[Address, ...]]] = deque()
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._forwarder.__enter__()
        self._work: Future[None] = self._pool.submit(self._run)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        self._forwarder.__exit__()
        self._work.result()

    @property
    def endpoints(self) -> tuple[Address, ...]:
        """Where new connections go now."""
        return self._forwarder.endpoints

    def _run(self) -> None:
        known: tuple[Address, ...] = ()
        while not self._over.wait(LOOK_S):
            with suppress(OSError):  # of an API server that is restarted
                found = self._look()
                if found != known:
                    known = found
                    self._coming.append((time.monotonic() + LAG_S, found))
            while self._coming and self._coming[0][0] <= time.monotonic():
                self._forwarder.endpoints = self._coming.popleft()[1]

    def _look(self) -> tuple[Address, ...]:
        metadata = self._service["metadata"]
        slices = self._plane.api.items(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            metadata["namespace"],
            labelSelector=f"kubernetes.io/service-name={metadata['name']}",
        )
        found: dict[str, list[Address]] = {"ready": [], "serving": []}
        for endpoint_slice in slices:
            ports = {one["name"]: one["port"] for one in endpoint_slice["ports"] or ()}
            for endpoint in endpoint_slice["endpoints"] or ():
                for state, addresses in found.items():
                    if endpoint["conditions"].get(state):
                        addresses += [
                            Address(reached(one), ports[self._port])
                            for one in endpoint["addresses"]
                        ]
        return tuple(sorted(found["ready"] or found["serving"]))
