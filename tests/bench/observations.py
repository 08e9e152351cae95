"""
What is observed of servers beside a real kube-apiserver: growing, answering meanwhile, being felt.

The ratios and bounds that come of it are in measurements.py.
"""

import gc
import json
import time
from collections.abc import Iterator
from typing import NamedTuple

from tests.bench import cpu, reviews, servers
from tests.bench.live import LiveCluster
from tests.bench.load import Load, LoadError
from tests.bench.rounds import QUIET
from tests.bench.servers import Server
from tests.controlplane import webhooks
from tests.controlplane.api import Api, Json
from tests.e2e.objects import workload
from tests.e2e.replica import MARK, Registered, configurations

LISTS = ("/api/v1/nodes", "/api/v1/services", "/apis/apps/v1/replicasets")
PAGE = "500"  # objects; as many as client-go and the server ask for

CALLS = 200  # a second while objects stream in: the pods of large rollouts
FILL_S = 900.0  # patience for a hundred thousand objects on their way through etcd and API server

CREATIONS = 50  # a second through kube-apiserver
LABELS = {"app": "checkout"}  # of the pods, and of the Service that selects them


class Settled(NamedTuple):
    """
    What a server took to know the cluster.

    Attributes:
        cpu: Seconds from its start until it was ready.
        resident: MiB when it was.
    """

    cpu: float
    resident: float


class Streamed(NamedTuple):
    """
    Latencies of admission, in seconds.

    Attributes:
        idle: While nothing changed.
        meanwhile: While the objects of a large cluster came in.
        disturbed: Whether others had the server's core for more than a moment.
    """

    idle: list[float]
    meanwhile: list[float]
    disturbed: bool


class Felt(NamedTuple):
    """How long creations of pods through kube-apiserver took, by turn, in seconds."""

    alone: list[list[float]]
    called: list[list[float]]


def settle(live: LiveCluster) -> Settled:
    """Start a server, and read what it has used when it is ready."""
    server = live.serve()
    used = Settled(cpu.spent(server.pid).running, cpu.resident_mib(server.pid))
    server.stop()
    return used


def decode(api: Api) -> float:
    """CPU seconds that ``json.loads`` takes for what a server lists; no garbage is collected."""
    gc.disable()
    try:
        return sum(map(_seconds_to_decode, _pages(api)))
    finally:
        gc.enable()


def stream(live: LiveCluster, seconds: float) -> Streamed:
    """
    Ask a server for admission while a large cluster is written, which is there then.

    Args:
        seconds: Of calls beforehand, while nothing changes.

    Raises:
        TimeoutError: The server does not know it in time.
    """
    server, request = live.serve(), reviews.injected()
    meanwhile: list[float] = []
    with Load(server.port, request.path, request.bodies) as load:
        idle = [*load.pace(seconds, CALLS)]
        begun, before = time.perf_counter(), cpu.spent(server.pid)
        writer = live.fill()
        with live.yielding(writer):
            while writer.alive or not live.is_known_to(server):
                meanwhile += load.pace(1, CALLS)
                if time.perf_counter() - begun > FILL_S:
                    raise TimeoutError(f"the cluster was not filled within {FILL_S:g} s")
        waited = cpu.spent(server.pid).since(before).waiting
    server.stop()
    return Streamed(idle, meanwhile, waited > QUIET * (time.perf_counter() - begun))


def feel(live: LiveCluster, turns: int, seconds: float) -> Felt:
    """
    Create pods through kube-apiserver with the webhooks and without, in turn.

    Args:
        turns: Of each.
        seconds: Of a turn.
    """
    server, api = live.serve(), live.plane.api
    namespace = live.plane.create_namespace(MARK)
    api.create(_service(namespace))
    felt = Felt([], [])
    for turn in range(turns):
        felt.alone.append(_create(api, namespace, f"alone-{turn}", seconds))
        with Registered(live.plane, _hooks(server)):
            felt.called.append(_create(api, namespace, f"called-{turn}", seconds))
            _check(api, namespace)
    server.stop()
    return felt


def _pages(api: Api) -> Iterator[bytes]:
    """The lists, as compact as Go writes them."""
    for path in LISTS:
        rest = ""
        while True:
            page = api.call("GET", path, limit=PAGE, **{"continue": rest})
            yield json.dumps(page, separators=(",", ":"), ensure_ascii=False).encode()
            rest = page["metadata"].get("continue", "")
            if not rest:
                break


def _seconds_to_decode(page: bytes) -> float:
    start = time.thread_time()
    json.loads(page)
    return time.thread_time() - start


def _hooks(server: Server) -> list[Json]:
    """Both webhook configurations, which call one server."""
    trusted = servers.authority_of(server)
    url = f"https://127.0.0.1:{server.port}"
    return [webhooks.by_url(each, url, trusted) for each in configurations()]


def _create(api: Api, namespace: str, prefix: str, seconds: float) -> list[float]:
    """Create pods at a steady rate; returns how long each took."""
    took: list[float] = []
    start = time.perf_counter()
    for number in range(int(seconds * CREATIONS)):
        # The rate is what is asked for, so the clock is waited for and nothing else.
        time.sleep(max(0.0, start + number / CREATIONS - time.perf_counter()))
        begun = time.perf_counter()
        api.create(_pod(namespace, f"{prefix}-{number}"))
        took.append(time.perf_counter() - begun)
    return took


def _check(api: Api, namespace: str) -> None:
    """
    Make sure that the webhooks do what is to be measured.

    Raises:
        LoadError: A pod gets no defaults.
    """
    made = api.create(_pod(namespace, "checked"), dryRun="All")
    if "topologySpreadConstraints" not in made["spec"]:
        raise LoadError("a pod that was created got no constraints")


def _pod(namespace: str, name: str) -> Json:
    return workload("Pod", name, namespace, LABELS)


def _service(namespace: str) -> Json:
    metadata = {"name": "checkout", "namespace": namespace}
    spec = {"clusterIP": "None", "ports": [{"port": 80}], "selector": LABELS}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
