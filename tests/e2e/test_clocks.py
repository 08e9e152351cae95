"""Replicas whose clocks are off, jump or stand still: no handshake and no creation fails."""

from functools import partial
from pathlib import Path

import pytest
from cryptography import x509

from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.certified import Certificates, Certified
from tests.e2e.load import Load
from tests.e2e.objects import LONG, rounds, service
from tests.e2e.oracles import Ledger, check_process, ready_pod, webhook_errors
from tests.e2e.prober import Prober
from tests.e2e.replica import Replica
from tests.faults.plugin import FaultReport

MARK = {"evenspread.test/clocks": "yes"}
MINUTE_S = 60.0
DAY_S = 24 * 60 * MINUTE_S
SHIFTS = (5 * MINUTE_S, -5 * MINUTE_S, 8 * DAY_S)
RATE = rounds(20, 100)
CALLS = rounds(60, 1000)
PATIENCE_S = 120.0
LEAF_S = 10  # of a replica that is suspended for longer
LEAVES = 4  # renewed every 6.7 s, so these take two lifetimes


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    return new_control_plane(controllers=False, scheduler=False, service_accounts=False)


def go_on(load: Load) -> None:
    enough = load.created + CALLS
    until(lambda: load.created >= enough, f"{CALLS} creations", patience_s=PATIENCE_S)


def complains(replica: Replica) -> bool:
    return "our clock and the API server's differ by" in replica.page("/readyz?verbose")


def serials(certified: Certified) -> list[int]:
    trusted, _ = certified.published
    return [certified.fetch_leaf(replica, trusted).serial_number for replica in certified.replicas]


@pytest.mark.fault(13)
def test_replicas_with_other_clocks_serve_on_and_change_nothing(
    plane: ControlPlane, tmp_path: Path, fault_report: FaultReport
) -> None:
    certified = Certified(
        plane, tmp_path, "clocks", MARK, count=len(SHIFTS), leaf_s=600, overlap_s=60
    )
    for replica in certified.replicas:
        replica.control_clock()
    with certified:
        namespace = plane.create_namespace(MARK)
        plane.api.create(service("it", namespace, {"app": "it"}))
        ready_pod(plane, namespace)
        before = serials(certified)
        with (
            Load(plane.api, namespace, rate=RATE, least=CALLS) as load,
            Prober(certified) as prober,
        ):
            for replica, shift in zip(certified.replicas, SHIFTS, strict=True):
                replica.set_clock(shift)
                until(partial(complains, replica), "a warning", patience_s=PATIENCE_S)
                assert replica.ready
            certified.rotate()
            go_on(load)
            assert serials(certified) == before
            for replica in certified.replicas:
                replica.set_clock(0)
            until(
                lambda: set(serials(certified)).isdisjoint(before),
                "the rotation, now that clocks agree",
                patience_s=PATIENCE_S,
            )
            go_on(load)
        ledger = Ledger.of(plane.api, namespace, load)
        ledger.check()
        for replica in certified.replicas:
            check_process(replica)
    assert (load.failures, prober.failures) == ([], [])
    assert webhook_errors(plane.apiserver) == 0
    fault_report.record(
        load=f"{load.created / load.seconds:.0f} pods/s",
        calls=ledger.calls + prober.verified,
        failed=len(load.failures) + len(prober.failures),
        outcome="clocks 5 min ahead, 5 min behind, 8 d ahead: ready, warned, nothing rotated until "
        "they agreed again",
    )


@pytest.mark.fault(13)
@pytest.mark.skipif(not LONG, reason="its short form is in tests/certs/test_rotate_faults.py")
def test_a_replica_that_was_suspended_beyond_its_leaf_renews_it_at_once(
    plane: ControlPlane, tmp_path: Path, fault_report: FaultReport
) -> None:
    with Certified(
        plane, tmp_path, "clocks", MARK, count=2, leaf_s=LEAF_S, overlap_s=5
    ) as certified:
        suspended, other = certified.replicas
        trusted, _ = certified.published
        old = certified.fetch_leaf(suspended, trusted)
        certified.service.remove(suspended.port)
        suspended.process.pause()
        until(lambda: leaves_of(other) >= LEAVES, "a lifetime to pass", patience_s=PATIENCE_S)
        suspended.process.resume()
        until(lambda: is_served(certified, suspended, trusted, old), "another leaf")
        suspended.wait()
        check_process(suspended)
    fault_report.record(
        load="none",
        calls=2,
        failed=0,
        outcome=f"a suspended replica whose leaf of {LEAF_S} s had expired signed another",
    )


def leaves_of(replica: Replica) -> float:
    """How many leaves it has signed."""
    return replica.metric("certificate_rotations_total", type="leaf", result="success")


def is_served(
    certified: Certified, replica: Replica, trusted: Certificates, old: x509.Certificate
) -> bool:
    try:
        return certified.fetch_leaf(replica, trusted) != old
    except OSError:
        return False  # the old one, which has expired
