"""Replicas that are restarted or killed while pods are created: what fails, and what does not."""

from pathlib import Path

import pytest

from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.fleet import SHIPPED, Fleet
from tests.e2e.forwarding import Address
from tests.e2e.load import Load
from tests.e2e.objects import LONG, constraints, rounds, service
from tests.e2e.oracles import (
    Ledger,
    admission_annotations,
    check_idempotent,
    check_process,
    ready_pod,
    webhook_errors,
)
from tests.e2e.replica import MARK, Replica
from tests.faults.plugin import FaultReport

REPLICAS = 3
WRITERS = 50
RATE = rounds(20, 100)  # pods a second, for each of which both webhooks are called
CALLS = rounds(40, 600)  # creations before a fault, and after it
RESTARTS = rounds(1, 5)
KILLS = rounds(1, 5)
POLICIES = ("Fail", "Ignore") if LONG else ("Fail",)
PATIENCE_S = 120.0
STOPPED_S = 2.0  # in which a call comes for a replica that is stopped; then calls time out


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    return new_control_plane(controllers=False, scheduler=False, service_accounts=False, audit=True)


def hooked(plane: ControlPlane) -> str:
    """A namespace whose pods have a Service, which the servers know."""
    name = plane.create_namespace(MARK)
    plane.api.create(service("it", name, {"app": "it"}))
    ready_pod(plane, name)
    return name


def go_on(load: Load) -> None:
    enough = load.created + CALLS
    until(lambda: load.created >= enough, f"{CALLS} creations", patience_s=PATIENCE_S)


@pytest.mark.fault(14)
@pytest.mark.skipif(not LONG, reason="its short form is a rolling restart in test_lifecycle.py")
def test_replicas_are_restarted_one_after_the_other_and_no_creation_fails(
    plane: ControlPlane, tmp_path: Path, fault_report: FaultReport
) -> None:
    with Fleet(plane, tmp_path, count=REPLICAS, drain=SHIPPED) as fleet:
        namespace = hooked(plane)
        with Load(plane.api, namespace, rate=RATE, least=CALLS, writers=WRITERS) as load:
            for _ in range(RESTARTS):
                go_on(load)
                fleet.restart()
            go_on(load)
        ledger = Ledger.of(plane.api, namespace, load)
        ledger.check()
        assert load.failures == []
        assert webhook_errors(plane.apiserver) == 0
        found = admission_annotations(plane.apiserver)
        assert found["failed-open"] == 0
        assert found["mutated"] >= ledger.calls
        check_idempotent(plane.api, list(ledger.stored.values())[-20:])
        for replica in fleet.replicas:
            check_process(replica)
    fault_report.record(
        load=f"{WRITERS} writers, {ledger.calls / load.seconds:.0f} pods/s",
        calls=ledger.calls,
        failed=len(load.failures),
        outcome=f"{RESTARTS * REPLICAS} restarts, nothing lost; "
        f"longest call {load.longest_s:.1f} s",
    )


@pytest.mark.fault(15)
@pytest.mark.parametrize("policy", POLICIES)
def test_only_calls_in_flight_at_a_killed_replica_fail(
    plane: ControlPlane, tmp_path: Path, policy: str, fault_report: FaultReport
) -> None:
    with Fleet(plane, tmp_path, count=REPLICAS, policy=policy) as fleet:
        namespace, unanswered = hooked(plane), 0
        with Load(plane.api, namespace, rate=RATE, least=CALLS, writers=WRITERS) as load:
            for _ in range(KILLS):
                go_on(load)
                unanswered += kill_in_flight(fleet)
            go_on(load)
        ledger = Ledger.of(plane.api, namespace, load)
        bare = frozenset(n for n, pod in ledger.stored.items() if not constraints(pod))
        ledger.check(incomplete=bare)
        errors = webhook_errors(plane.apiserver)
        opened = admission_annotations(plane.apiserver)["failed-open"]
        for replica in fleet.replicas:
            check_process(replica)

    assert ledger.unknown == frozenset()
    assert 0 < errors <= unanswered
    if policy == "Fail":
        assert (len(ledger.refused), bare, opened) == (errors, frozenset(), 0)
    else:
        assert (ledger.refused, opened) == (frozenset(), errors)
        assert len(bare) <= errors
    fault_report.record(
        load=f"{WRITERS} writers, {ledger.calls / load.seconds:.0f} pods/s",
        calls=ledger.calls,
        failed=len(ledger.refused),
        outcome=f"{policy}: {KILLS} kills, {unanswered} calls in flight, {len(ledger.refused)} "
        f"pods refused, {len(bare)} stored without defaults, none half; "
        f"longest call {load.longest_s:.1f} s",
    )


def stop_busiest(fleet: Fleet) -> Replica | None:
    """
    Stop the busiest replica until another request comes for it.

    None may come, if all connections to it wait for an answer: then it goes on, and the result is
    None.
    """
    endpoints = fleet.service
    victim = max(fleet.replicas, key=lambda replica: endpoints.requests(replica.port))
    victim.process.pause()
    before = endpoints.requests(victim.port)
    try:
        until(lambda: endpoints.requests(victim.port) > before, "a call", patience_s=STOPPED_S)
    except TimeoutError:
        victim.process.resume()
        return None
    return victim


def kill_in_flight(fleet: Fleet) -> int:
    """
    Kill the busiest replica while it holds calls; gives how many calls it left unanswered.

    It is stopped first, so that calls wait for it, and leaves the endpoints before it is killed:
    kube-proxy would send it new connections until it learns of its end. Only a request that comes
    after it was stopped is certainly in flight: an answer to another one may be on its way. Another
    replica takes its place.
    """
    endpoints = fleet.service
    victim = until(lambda: stop_busiest(fleet), "calls in flight")
    address = Address(port=victim.port)
    endpoints.remove(victim.port)
    victim.process.kill()
    until(lambda: address not in endpoints.linked, "its connections to break")
    fleet.replace(victim)
    return endpoints.unanswered[address]
