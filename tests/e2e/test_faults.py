"""Faults in every background task, under load and failurePolicy Fail: no admission is lost."""

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import AUDIT_PATIENCE_S, PATIENCE_S, until
from tests.e2e.apiproxy import GARBAGE, Mode
from tests.e2e.inprocess import InProcess
from tests.e2e.load import Load
from tests.e2e.objects import rounds, workload
from tests.e2e.replica import CONFIG, Registered, configurations

pytestmark = pytest.mark.alone

MARK = {"evenspread.test/faults": "yes"}
RATE = 20  # creations a second
TRIES, TRY_S = 5, 15.0  # to let a task fail, and seconds until it has
HANG_S = rounds(3, 40)  # the client gives an answer up after 30 s

KINDS = {
    "Namespace": "v1",
    "Node": "v1",
    "Service": "v1",
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
}
TASKS = (
    "certificate",
    "facts",
    "caches",
    *(f"reflector {kind}" for kind in KINDS),
    "reflector Rollout.argoproj.io",  # which the API server does not know
    "policies",
    "reflector SpreadPolicy.evenspread.io",
    "exceptions",
    "reload",
    "stalled connections",
    "memory",
    "lag",
    "events",
    "election",
    "version",
)
OF_THE_ELECTION = ("work", "lease")
"""Tasks of the one that holds the Lease: with either, the election fails or goes on."""

_numbers = itertools.count()


@pytest.fixture
def control_plane(new_control_plane: NewControlPlane) -> ControlPlane:
    """Without the objects of other tests: each task that restarts lists all that there are."""
    return new_control_plane(controllers=False, scheduler=False, service_accounts=False)


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    """Where the server runs."""
    made = control_plane.create_namespace()
    lease: Json = {"name": "evenspread-audit", "namespace": made}
    control_plane.api.create(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": lease}
    )
    return made


@pytest.fixture
def server(
    control_plane: ControlPlane,
    namespace: str,
    tmp_path: Path,
) -> Iterator[InProcess]:
    with InProcess(tmp_path, control_plane.api, namespace) as started:
        made = [
            webhooks.by_url(configuration, started.url, started.ca_bundle)
            for configuration in configurations("faults", MARK)
        ]
        with Registered(control_plane, made):
            yield started


@pytest.fixture
def load(control_plane: ControlPlane, server: InProcess) -> Iterator[Load]:
    hooked = control_plane.create_namespace(MARK)
    with Load(control_plane.api, hooked, rate=RATE, least=RATE) as running:
        yield running


def check_work(plane: ControlPlane, server: InProcess, namespace: str) -> None:
    """Wait until every task does what it is there for."""
    number = next(_numbers)
    for kind in ("ReplicationController", "ReplicaSet", "StatefulSet"):
        plane.api.create(workload(kind, f"made-{number}", namespace, {"app": f"made-{number}"}))
    plane.api.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"made-{number}", "namespace": namespace},
            "spec": {"selector": {"app": "made"}, "ports": [{"port": 80}]},
        }
    )
    until(lambda: known(server) == listed(plane), "caches that hold what there is")
    grow(server, "config_reloads_total", "success", lambda: server.configure(CONFIG.encode()))
    grow(server, "certificate_rotations_total", "success", server.certify)
    grow(server, "audits_total", "success", patience_s=AUDIT_PATIENCE_S)
    before = server.proxy.requests["/version"]
    until(lambda: server.proxy.requests["/version"] > before + 1, "the version to be followed")
    events = len(plane.api.items("v1", "Event", namespace))
    server.configure(CONFIG.encode() + b"# another\n")
    until(lambda: len(plane.api.items("v1", "Event", namespace)) > events, "an Event")


def known(server: InProcess) -> dict[str, float]:
    return {kind: server.metric("cache_objects", kind=kind) for kind in KINDS}


def listed(plane: ControlPlane) -> dict[str, float]:
    selecting = {"Service": lambda item: item["spec"].get("selector") is not None}
    return {
        kind: sum(map(selecting.get(kind, lambda _: True), plane.api.items(version, kind)))
        for kind, version in KINDS.items()
    }


def shows(server: InProcess, pattern: str, patience_s: float = PATIENCE_S) -> None:
    """Wait until the readiness page contains a pattern."""

    def found() -> object:
        return re.search(pattern, server.page("/readyz?verbose"))

    until(found, pattern, patience_s=patience_s)


def fail(server: InProcess, name: str) -> None:
    """
    Let a task fail: again if it handled the error, as a call of the API server does.

    On a busy machine it may fail twice: the first time after another try has begun.
    """
    restarted = f"{name} restarted (once|[0-9]+ times), last [0-9]+ s ago: InjectedError"
    for _ in range(TRIES):
        server.fail(name)
        with suppress(TimeoutError):
            shows(server, restarted, TRY_S)
            return
    shows(server, restarted)


def grow(
    server: InProcess,
    metric: str,
    result: str,
    act: Callable[[], object] = lambda: None,
    *,
    patience_s: float = PATIENCE_S,
) -> None:
    """Wait until a counter is greater than before the act."""
    before = server.metric(metric, result=result)
    act()

    def has_grown() -> bool:
        return server.metric(metric, result=result) > before

    until(has_grown, f"{metric} to grow", patience_s=patience_s)


def restarts(server: InProcess) -> dict[str, float]:
    return {name: server.metric("task_restarts_total", task=name) for name in TASKS}


def garbled(server: InProcess) -> bool:
    """Whether each kind was answered with garbage."""
    seen = (server.metric("watch_restarts_total", kind=k, reason="garbage") for k in KINDS)
    return all(seen)


def test_no_fault_of_a_background_task_costs_an_admission(
    control_plane: ControlPlane,
    server: InProcess,
    namespace: str,
    load: Load,
) -> None:
    until(lambda: set(TASKS) <= server.tasks(), "every task to run")
    check_work(control_plane, server, namespace)
    assert restarts(server) == dict.fromkeys(TASKS, 0)

    for name in TASKS:
        fail(server, name)
        server.cancel(name)
        shows(server, f"{name} restarted [0-9]+ times, last [0-9]+ s ago: CancelledError")
        assert server.page("/readyz") == "ok\n"
    check_work(control_plane, server, namespace)
    assert set(restarts(server)) == set(TASKS)
    assert min(restarts(server).values()) >= 2, "by the error, and by the cancellation"

    for name, inject in itertools.product(OF_THE_ELECTION, (server.fail, server.cancel)):
        inject(name)
    check_work(control_plane, server, namespace)
    before = restarts(server)

    disturb(server, Mode.GARBAGE)
    (server.tls / "tls.crt").write_bytes(GARBAGE)
    grow(server, "config_reloads_total", "failure", lambda: server.configure(GARBAGE))
    until(lambda: garbled(server), "garbage of each kind")
    server.certify()
    disturb(server, Mode.PASS)
    check_work(control_plane, server, namespace)

    disturb(server, Mode.HANG)
    created = load.created
    until(lambda: load.created > created + RATE * HANG_S, "admissions while the API server hangs")
    disturb(server, Mode.PASS)
    check_work(control_plane, server, namespace)

    assert restarts(server) == before, "what can be expected restarts no task"
    assert load.failures == []


def disturb(server: InProcess, mode: Mode) -> None:
    async def behave() -> None:
        server.proxy.behave(mode)

    server.call(behave())
