"""
What is observed of servers beside a real kube-apiserver: growing, and answering meanwhile.

The ratios and bounds that come of it are in measurements.py.
"""

import gc
import json
import time
from collections.abc import Iterator
from typing import NamedTuple

from tests.bench import cpu, reviews
from tests.bench.live import LiveCluster
from tests.bench.load import Load
from tests.bench.rounds import QUIET
from tests.controlplane.api import Api

LISTS = ("/api/v1/nodes", "/api/v1/services", "/apis/apps/v1/replicasets")
PAGE = "500"  # objects; as many as client-go and the server ask for

CALLS = 200  # a second while objects stream in: the pods of large rollouts
FILL_S = 900.0  # patience for a hundred thousand objects on their way through etcd and API server


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
