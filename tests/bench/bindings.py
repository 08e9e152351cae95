"""
Bindings of labelled pods: a server beside an API server with many of them, and its ``/bind`` calls.

The API server writes each pod when it sends it: as objects, 150 000 pods would take more memory
than is measured. ``binding_steps`` is the entry point.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

from tests.apiserver import (
    ApiServer,
    Fault,
    Json,
    Request,
    Stream,
    bookmark,
    encode,
    event,
    listening,
    write_kubeconfig,
)
from tests.bench import cpu, fleet, reviews, servers
from tests.bench.load import LoadError, ask
from tests.bench.rounds import Meter, Subject
from tests.bench.rows import Must, Row, ratios
from tests.build import binding_body
from tests.cli.conftest import in_background
from tests.cluster.objects import labelled_pod
from webhook.policy.model import ZONE
from webhook.server.http.limits import MIB

AGAINST_VALIDATE = Must(1.5)  # CPU of a binding, as a multiple of that of a pod that is validated
COUNT = 150_000
BYTES_A_POD, MOST_MIB = 300, 64
MEMORY = Must(min(COUNT * BYTES_A_POD // MIB, MOST_MIB), "MiB")
"""More than without labelled pods: both bounds, of which that of each pod is the stricter one."""
MEMORY_ROUNDS = 3  # at most: each lists all pods anew

PODS = "GET /api/v1/pods"
NODES = 300
PODS_A_CONTROLLER = 30
EVENTS_A_CHUNK = 100
PATIENCE_S = 300.0  # until all pods are listed, on a machine that does other work too

CONFIGURATION = servers.CONFIGURATION.replace(
    "- name: cluster", "- name: cluster\n  scaleDown: KeepSpread"
)


def bound() -> reviews.Request:
    """Build bindings of pods that wait for a node, each to the node of its number."""
    bodies = (binding_body(_name(i), f"node-{i}") for i in range(reviews.UIDS))
    return reviews.Request("/bind", tuple(bodies), patched=True)


def pods(count: int) -> Iterator[Json]:
    """Make the pods that wait, and so many with a node and a rank."""
    for number in range(reviews.UIDS):
        yield _pod(number, "", 0)
    for number in range(reviews.UIDS, reviews.UIDS + count):
        rank = number % PODS_A_CONTROLLER // len(fleet.ZONES) + 1
        yield _pod(number, f"node-{number % NODES}", rank)


def events(count: int) -> Iterator[bytes]:
    """Write the streamed list of pods, in chunks, and the bookmark at its end."""
    chunk = bytearray()
    for number, pod in enumerate(pods(count)):
        chunk += encode(event("ADDED", pod)) + b"\n"
        if number % EVENTS_A_CHUNK == 0:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)
    yield encode(bookmark(count + reviews.UIDS + 1, ends=True)) + b"\n"


class BindingServer:
    """
    A server that knows so many ranked pods; it ends with the ``with``.

    Attributes:
        server: The server; only inside the ``with``.
    """

    def __init__(self, folder: Path, core: int, program: Path, count: int) -> None:
        self._folder, self._core, self._program, self._count = folder, core, program, count
        self._open = ExitStack()

    def __enter__(self) -> servers.Server:
        api = ApiServer(*map(fleet.node, range(NODES)))
        api.answers[PODS] = self._answer
        self._open.enter_context(in_background(listening(api)))
        kubeconfig = write_kubeconfig(self._folder, api.url)
        server = servers.start_in_cluster(
            self._folder, self._core, Path(kubeconfig), self._program, CONFIGURATION
        )
        self._open.callback(server.stop)
        _wait_until_ranked(server)
        return server

    def __exit__(self, *_: object) -> None:
        self._open.close()

    async def _answer(self, request: Request) -> Stream | None:
        if "sendInitialEvents" in request.query:
            return Stream(events(self._count), Fault.SILENCE)
        return Stream([], Fault.SILENCE) if "watch" in request.query else None


def _wait_until_ranked(server: servers.Server) -> None:
    """Wait until all pods are listed: before, no binding gets a rank."""
    request, end = bound(), time.monotonic() + PATIENCE_S
    while not request.is_answered_by(ask(server.port, request.path, request.bodies[0])):
        if time.monotonic() > end:
            raise LoadError("the server does not rank pods")
        time.sleep(0.2)


def _name(number: int) -> str:
    return f"web-{number:06}"


def _pod(number: int, node: str, rank: int) -> Json:
    controller = f"{number // PODS_A_CONTROLLER:08x}-6393-11e8-b7cc-42010a800002"
    pod = labelled_pod(_name(number), node, rank=rank, controller=controller, key=ZONE)
    pod["metadata"] |= {"uid": f"uid-{number}", "resourceVersion": f"{number + 1}"}
    return pod


class BindingBench(NamedTuple):
    """
    How to measure bindings.

    Attributes:
        new_folder: Makes a folder for a server.
        core: Where the servers run.
    """

    new_folder: Callable[[], Path]
    core: int
    program: Path
    meter: Meter
    rounds: int

    def start(self, count: int) -> BindingServer:
        """Prepare a server that knows so many ranked pods."""
        return BindingServer(self.new_folder(), self.core, self.program, count)


BindingStep: TypeAlias = Callable[[str, BindingBench], Row]


def binding_steps() -> dict[str, BindingStep]:
    """List the rows, each with what measures it."""
    return {
        f"bind: a rank among {COUNT:,} pods": _measure_cpu,
        f"memory of {COUNT:,} ranked pods": _measure_memory,
    }


def _measure_cpu(what: str, bench: BindingBench) -> Row:
    """CPU of a binding, compared with that of a pod with three constraints that is validated."""
    with bench.start(COUNT) as server:
        subjects = Subject(server, reviews.validated()), Subject(server, bound())
        base, ours = bench.meter.take_turns(*subjects, bench.rounds)
    validated, measured = [one.cpu for one in base], [one.cpu for one in ours]
    shown, used = (f"{median(values) * 1e6:.0f} us" for values in (validated, measured))
    return Row(what, f"validate {shown}", used, ratios(measured, validated), AGAINST_VALIDATE)


def _measure_memory(what: str, bench: BindingBench) -> Row:
    """What a server that is ready holds, beyond one without such pods."""
    alone, held = list[float](), list[float]()
    for _ in range(min(bench.rounds, MEMORY_ROUNDS)):
        for values, count in (alone, 0), (held, COUNT):
            with bench.start(count) as server:
                values.append(cpu.resident_mib(server.pid))
    more = [value - base for value, base in zip(held, alone, strict=True)]
    return Row(what, f"without {median(alone):.0f} MiB", f"{median(held):.0f} MiB", more, MEMORY)
