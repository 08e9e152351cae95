"""API servers and etcd that end, or stop in their tracks, while 50 clients create pods."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Self

import pytest

from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Process, ProcessError
from tests.controlplane.waiting import until
from tests.e2e.certified import Certificates, Certified
from tests.e2e.hostile import review
from tests.e2e.load import Load
from tests.e2e.objects import LONG, rounds, service
from tests.e2e.oracles import (
    CACHED,
    Ledger,
    ReadinessProbe,
    admission_annotations,
    check_caches,
    check_idempotent,
    check_process,
    own_files,
    ready_pod,
    webhook_errors,
)
from tests.e2e.replica import Replica
from tests.e2e.tenantkinds import ordinary
from tests.faults.plugin import FaultReport

MARK = {"evenspread.test/outage": "yes"}
WRITERS = 50
RATE = rounds(20, 50)  # pods a second
CALLS = rounds(60, 1000)  # creations before a fault, and after it
OUTAGE_S = 25.0  # of the API server in the long form
LONG_BACKOFF_S = 10.0  # after so long an outage there is at most one try a second for each watch
PAUSE_S = rounds(3, 30)  # of etcd
PATIENCE_S = 120.0  # for creations to go on


def terminate(process: Process) -> None:
    """End a process as a kubelet does: SIGTERM, and SIGKILL after 30 s."""
    with suppress(ProcessError):
        process.terminate()


def kill(process: Process) -> None:
    """End a process at once."""
    process.kill()


ENDS = (terminate, kill) if LONG else (kill,)  # watches let an API server wait for long

SPARE_FILES = 4  # of connections that begin or end at the moment
TASKS = 4  # further tasks that call the API server: certificate, version, events, reload


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    return new_control_plane(controllers=False, scheduler=False, service_accounts=False, audit=True)


@pytest.fixture
def certified(plane: ControlPlane, tmp_path: Path) -> Iterator[Certified]:
    with Certified(plane, tmp_path, "outage", MARK, count=1, leaf_s=600, overlap_s=60) as started:
        yield started


@pytest.fixture
def namespace(plane: ControlPlane, certified: Certified) -> str:
    """A namespace whose pods have a Service, which the server knows."""
    name = plane.create_namespace(MARK)
    plane.api.create(service("it", name, {"app": "it"}))
    ready_pod(plane, name)
    return name


class Refusals:
    """
    Accepts connections at the port of a dead API server, and closes them; a context manager.

    Attributes:
        count: How many there were.
    """

    def __init__(self, port: int) -> None:
        self.count = 0
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._accept)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                self._listener.accept()[0].close()
            except OSError:
                return
            self.count += 1


def go_on(load: Load, calls: int = CALLS) -> None:
    """Wait until so many further pods are created."""
    enough = load.created + calls
    until(lambda: load.created >= enough, f"{calls} creations", patience_s=PATIENCE_S)


def stir(plane: ControlPlane, namespace: str, name: str) -> None:
    """Change what the caches hold: another Service, and one less."""
    plane.api.create(service(name, namespace, {"app": name}))
    plane.api.delete(service("gone", namespace, None))


def count_tries(port: int) -> int:
    """How often a server without an API server tries to connect, after LONG_BACKOFF_S."""
    with Refusals(port) as refusals:
        start = monotonic()
        until(lambda: monotonic() > start + LONG_BACKOFF_S, "long pauses", patience_s=OUTAGE_S)
        before = refusals.count
        until(lambda: monotonic() > start + OUTAGE_S, "the end", patience_s=2 * OUTAGE_S)
        return refusals.count - before


def check(plane: ControlPlane, namespace: str, load: Load, replica: Replica) -> Ledger:
    """Check all oracles; gives the resolved outcomes."""
    ledger = Ledger.of(plane.api, namespace, load)
    ledger.check()
    refusals = {str(load.outcomes[name]) for name in ledger.refused}
    assert [refusal for refusal in refusals if "webhook" in refusal] == []
    print(f"refused by the API server itself: {refusals}")
    assert webhook_errors(plane.apiserver) == 0
    assert admission_annotations(plane.apiserver)["failed-open"] == 0
    check_idempotent(plane.api, list(ledger.stored.values())[-20:])
    check_process(replica)
    return ledger


@pytest.mark.fault(1)
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_an_api_server_that_restarts_is_followed_again(
    plane: ControlPlane,
    certified: Certified,
    namespace: str,
    end: Callable[[Process], None],
    fault_report: FaultReport,
) -> None:
    (replica,) = certified.replicas
    plane.api.create(service("gone", namespace, {"app": "gone"}))
    check_caches(plane, replica)
    pid, tries = replica.process.pid, 0
    with (
        ReadinessProbe(replica) as readiness,
        Load(plane.api, namespace, rate=RATE, least=2 * CALLS, writers=WRITERS) as load,
    ):
        go_on(load)
        end(plane.process("kube-apiserver"))
        until(lambda: "cannot be reached" in replica.page("/readyz?verbose"), "stale caches")
        if LONG:
            with load.held():
                tries = count_tries(plane.apiserver.port)
                assert tries <= (OUTAGE_S - LONG_BACKOFF_S) * (len(CACHED) + 1 + TASKS)
                assert replica.metric("cache_age_seconds", kind="Service") >= OUTAGE_S
        plane.restart("kube-apiserver")
        back = monotonic()
        stir(plane, namespace, "fresh")
        check_caches(plane, replica)
        converged = monotonic() - back
        go_on(load)

    ledger = check(plane, namespace, load, replica)
    assert replica.process.pid == pid
    assert readiness.failures == 0
    fault_report.record(
        load=f"{WRITERS} writers",
        calls=ledger.calls,
        failed=len(ledger.lost | ledger.refused),
        outcome=f"ready throughout ({readiness.successes} probes), caches true {converged:.1f} s "
        f"after the restart, {tries} tries in {OUTAGE_S - LONG_BACKOFF_S:g} s of outage, "
        f"{len(ledger.unknown)} unknown outcomes resolved",
    )


def admit_directly(
    certified: Certified, trusted: Certificates, namespace: str, seconds: float
) -> int:
    """Send reviews to the replica for so long; gives how many it answered with defaults."""
    (replica,) = certified.replicas
    body = review(json.dumps(ordinary("Pod", namespace, "direct")).encode(), "Pod", namespace)
    answered, end = 0, monotonic() + seconds
    while monotonic() < end:
        response = certified.call(replica, trusted, body)
        assert response["allowed"]
        assert response["patchType"] == "JSONPatch"
        answered += 1
    return answered


@pytest.mark.fault(4)
def test_while_etcd_is_paused_pods_are_admitted_from_the_caches(
    plane: ControlPlane, certified: Certified, namespace: str, fault_report: FaultReport
) -> None:
    (replica,) = certified.replicas
    plane.api.create(service("gone", namespace, {"app": "gone"}))
    check_caches(plane, replica)
    files = own_files(replica)
    etcd, (trusted, _) = plane.process("etcd"), certified.published
    with (
        ReadinessProbe(replica) as readiness,
        Load(plane.api, namespace, rate=RATE, least=2 * CALLS, writers=WRITERS) as load,
    ):
        go_on(load)
        calls = replica.metric("admission_requests_total")
        etcd.pause()
        try:
            answered = admit_directly(certified, trusted, namespace, PAUSE_S)
        finally:
            etcd.resume()
        assert replica.metric("admission_requests_total") >= calls + answered
        back = monotonic()
        stir(plane, namespace, "fresh")
        check_caches(plane, replica)
        converged = monotonic() - back
        go_on(load)
        plane.process("etcd").kill()
        plane.restart("etcd")
        stir(plane, namespace, "fresher")
        check_caches(plane, replica)
        go_on(load)

    ledger = check(plane, namespace, load, replica)
    assert readiness.failures == 0
    until(lambda: own_files(replica) <= files + SPARE_FILES, "descriptors as before")
    fault_report.record(
        load=f"{WRITERS} writers",
        calls=ledger.calls + answered,
        failed=len(ledger.lost | ledger.refused),
        outcome=f"{answered} reviews admitted while etcd was paused for {PAUSE_S} s, caches true "
        f"{converged:.1f} s later, {len(ledger.unknown)} unknown outcomes resolved",
    )
