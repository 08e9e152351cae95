"""
Certificates that change all the while, and an API server that must not notice.

Three replicas, leaves of ten seconds, an overlap of five, new authorities by the real command,
replicas killed in between; ``failurePolicy: Fail``.

What a kill costs besides is not the business of certificates: a call that a killed process had
received is lost, since kube-apiserver does not repeat a POST, and a connection to it is refused
until the endpoints of the Service say so. So a replica is first taken out of the endpoints, and
killed in a moment in which no call is in flight; the connections that the API server has kept to
it break then, and it must find that out.
"""

import threading
import time
from functools import partial
from pathlib import Path
from typing import Self

import pytest
from cryptography import x509

from certs.pem import issued_by
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.certified import ROTATION_S, Certificates, Certified
from tests.e2e.forwarding import Address
from tests.e2e.load import Load
from tests.e2e.objects import rounds
from tests.e2e.replica import Replica

REPLICAS = 3
CREATIONS_A_SECOND = 50
CREATIONS = CREATIONS_A_SECOND * rounds(20, 120)
ROTATIONS = rounds(1, 5)

LAG_S = 2.0
"""How late an API server may learn of a caBundle: less than half an overlap, as is promised."""

MARK = {"evenspread.test/certified": "yes"}


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    return new_control_plane(controllers=False, scheduler=False, service_accounts=False)


class Prober:
    """
    Verifies every replica again and again, trusting what is published alone; a context manager.

    Also what was published LAG_S ago is trusted, alone, as by an API server that learns late.

    Attributes:
        failures: Of replicas that were endpoints all the while.
        verified: How many handshakes came to a good end.
        leaves: The leaves that replicas served.
    """

    def __init__(self, certified: Certified) -> None:
        self.failures: list[OSError] = []
        self.verified = 0
        self.leaves: set[x509.Certificate] = set()
        self._certified = certified
        self._history: list[tuple[float, Certificates]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            now = time.monotonic()
            self._history += [(now, bundle) for bundle in self._certified.published]
            self._history = [each for each in self._history if each[0] >= now - LAG_S]
            for bundle in {bundle for _, bundle in self._history}:
                for replica in self._certified.replicas:
                    self._probe(replica, bundle)

    def _probe(self, replica: Replica, bundle: Certificates) -> None:
        if not self._is_called(replica):
            return
        try:
            self.leaves.add(self._certified.meet(replica, bundle))
            self.verified += 1
        except OSError as error:
            if self._is_called(replica):  # else it was on its way out
                self.failures.append(error)

    def _is_called(self, replica: Replica) -> bool:
        return Address(port=replica.port) in self._certified.service.endpoints


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
    return any(not issued_by(certified.meet(each, bundles[0]), old) for each in certified.replicas)


def over(certified: Certified, old: x509.Certificate) -> bool:
    """Nobody trusts the old authority any more."""
    return all(len(bundle) == 1 and old not in bundle for bundle in certified.published)


MOMENTS = (begun, published, signing)
"""At each of them one replica is killed, in every rotation."""


def replace_authority(certified: Certified, load: Load) -> x509.Certificate:
    """Force a rotation, and see it through; gives the new authority."""
    ((old,), _) = certified.published
    certified.rotate("--ca")
    for moment, replica in zip(MOMENTS, certified.replicas, strict=True):
        until(partial(moment, certified, old), f"{moment.__name__}", patience_s=ROTATION_S)
        kill(certified, replica, load)
    until(partial(over, certified, old), "the end of a rotation", patience_s=ROTATION_S)
    ((new,), _) = certified.published
    return new


def test_authorities_change_and_replicas_die_and_no_creation_fails(
    plane: ControlPlane, tmp_path: Path
) -> None:
    namespace = plane.create_namespace(MARK)
    with Certified(
        plane, tmp_path, "evenspread", MARK, count=REPLICAS, leaf_s=10, overlap_s=5
    ) as certified:
        with (
            Load(plane.api, namespace, rate=CREATIONS_A_SECOND, least=CREATIONS) as load,
            Prober(certified) as prober,
        ):
            authorities = [replace_authority(certified, load) for _ in range(ROTATIONS)]
        calls = sum(each.metric("admission_requests_total") for each in certified.replicas)
        print(
            f"{load.created} creations in {load.seconds:.0f} s, {len(load.failures)} failed; "
            f"{ROTATIONS} new authorities; {ROTATIONS * len(MOMENTS)} kills; "
            f"{prober.verified} probes verified, {len(prober.failures)} refused; "
            f"{len(prober.leaves)} leaves; {certified.service.accepted} connections of the API "
            f"server; {calls:.0f} calls since the last kills"
        )
    assert (load.failures, prober.failures) == ([], [])
    assert load.created >= CREATIONS
    assert len(set(authorities)) == ROTATIONS
    assert prober.verified > REPLICAS * ROTATIONS
