"""
Certificates that change all the while, and an API server that must not notice.

Three replicas, leaves of fifteen seconds, an overlap of five, new authorities by the real command,
replicas killed in between; ``failurePolicy: Fail``.

What a kill costs besides is not the business of certificates: a call that a killed process had
received is lost, since kube-apiserver does not repeat a POST, and a connection to it is refused
until the endpoints of the Service say so. So a replica is first taken out of the endpoints, and
killed in a moment in which no call is in flight; the connections that the API server has kept to
it break then, and it must find that out.
"""

from functools import partial
from pathlib import Path

import pytest
from cryptography import x509

from certs.pem import issued_by
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.certified import ROTATION_S, Certified
from tests.e2e.forwarding import Address
from tests.e2e.load import Load
from tests.e2e.objects import rounds, service
from tests.e2e.oracles import (
    Ledger,
    admission_annotations,
    check_idempotent,
    check_process,
    ready_pod,
    webhook_errors,
)
from tests.e2e.prober import Prober
from tests.e2e.replica import Replica
from tests.faults.plugin import FaultReport

REPLICAS = 3
LEAF_S = rounds(15, 30)  # a stall of a third of it is none of its end
OVERLAP_S = 5
CREATIONS_A_SECOND = rounds(20, 200)
CREATIONS = rounds(400, 6000)
ROTATIONS = rounds(1, 5)
PATIENCE_S = ROTATION_S + 3 * LEAF_S
SAMPLE_S = 2.0  # between two looks at the bundles on a busy machine

MARK = {"evenspread.test/certified": "yes"}


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    return new_control_plane(controllers=False, scheduler=False, service_accounts=False, audit=True)


def kill(certified: Certified, replica: Replica, load: Load) -> None:
    """Kill a replica as no call is in flight, and start it again."""
    service, address = certified.service, Address(port=replica.port)
    service.remove(replica.port)
    with load.held():
        replica.process.kill()
        until(lambda: address not in service.linked, "its connections to break")
    replica.process.start()
    replica.wait()
    service.add(replica.port)


def begun(_certified: Certified, _old: x509.Certificate) -> bool:
    """The wish stands there."""
    return True


def published(certified: Certified, old: x509.Certificate) -> bool:
    """Both authorities are trusted."""
    return all(set(bundle) > {old} for bundle in certified.published)


def signing(certified: Certified, old: x509.Certificate) -> bool:
    """A replica serves a leaf of the new authority."""
    bundles = certified.published
    return any(
        not issued_by(certified.fetch_leaf(replica, bundles[0]), old)
        for replica in certified.replicas
    )


def over(certified: Certified, old: x509.Certificate) -> bool:
    """No client trusts the old authority any more."""
    return all(len(bundle) == 1 and old not in bundle for bundle in certified.published)


MOMENTS = (begun, published, signing)
"""At each of them one replica is killed, in every rotation."""


def replace_authority(certified: Certified, load: Load) -> x509.Certificate:
    """Force a rotation, and see it through; gives the new authority."""
    ((old,), _) = certified.published
    certified.rotate("--ca")
    for moment, replica in zip(MOMENTS, certified.replicas, strict=True):
        until(partial(moment, certified, old), f"{moment.__name__}", patience_s=PATIENCE_S)
        kill(certified, replica, load)
    until(partial(over, certified, old), "the end of a rotation", patience_s=PATIENCE_S)
    ((new,), _) = certified.published
    return new


@pytest.mark.fault(7, 8)
def test_authorities_change_and_replicas_die_and_no_creation_fails(
    plane: ControlPlane, tmp_path: Path, fault_report: FaultReport
) -> None:
    with Certified(
        plane, tmp_path, "evenspread", MARK, count=REPLICAS, leaf_s=LEAF_S, overlap_s=OVERLAP_S
    ) as certified:
        namespace = plane.create_namespace(MARK)
        plane.api.create(service("it", namespace, {"app": "it"}))
        ready_pod(plane, namespace)
        with (
            Load(plane.api, namespace, rate=CREATIONS_A_SECOND, least=CREATIONS) as load,
            Prober(certified) as prober,
        ):
            authorities = [replace_authority(certified, load) for _ in range(ROTATIONS)]
        ledger = Ledger.of(plane.api, namespace, load)
        check_idempotent(plane.api, list(ledger.stored.values())[-20:])
        for replica in certified.replicas:
            check_process(replica)
    ledger.check()
    found = admission_annotations(plane.apiserver)
    assert (load.failures, prober.failures) == ([], [])
    assert (webhook_errors(plane.apiserver), found["failed-open"]) == (0, 0)
    assert found["mutated"] >= load.created >= CREATIONS
    assert len(set(authorities)) == ROTATIONS
    assert prober.verified > REPLICAS * ROTATIONS
    assert prober.serials >= 8
    assert prober.shortest_transition_s >= LEAF_S - SAMPLE_S
    fault_report.record(
        load=f"{load.created / load.seconds:.0f} pods/s for {load.seconds:.0f} s",
        calls=load.created + prober.verified,
        failed=len(load.failures) + len(prober.failures),
        outcome=f"{ROTATIONS} CAs, {prober.serials} serial numbers served, {prober.verified} "
        f"handshakes with caBundle alone verified; two CAs published for at least "
        f"{prober.shortest_transition_s:.0f} s; {ROTATIONS * len(MOMENTS)} kills",
    )
