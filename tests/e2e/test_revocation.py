"""
A stolen key, and what it is worth after ``evenspread certs revoke``.

Replicas with ``failurePolicy: Fail``, pods created all the while, and an impostor that the
API server calls as well. The long form has the overlap as shipped, and so the times of
docs/operate.md; in the short form a revoked CA stays for eight seconds in place of sixty.
"""

import time
from pathlib import Path

import pytest

from certs.pem import issued_by
from tests.controlplane import webhooks
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.certified import Certified
from tests.e2e.impostor import impostor
from tests.e2e.load import Load
from tests.e2e.objects import LONG, rounds
from tests.faults.plugin import FaultReport

MARK = {"evenspread.test/revoked": "yes"}
OVERLAP_S = rounds(8, 600)
REPLICAS = rounds(2, 3)
LEAF_S = 7 * 86400  # so that no leaf is replaced by itself
CREATIONS_A_SECOND = 20
PATIENCE_S = 240.0

SIGN_S = 30.0  # until every replica serves a leaf of the new CA, as promised
LEAVE_S = 120.0  # until the impostor is called no more


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    return new_control_plane(controllers=False, scheduler=False, service_accounts=False)


@pytest.mark.fault(10)
def test_an_impostor_with_a_stolen_key_is_called_no_more(
    plane: ControlPlane, tmp_path: Path, fault_report: FaultReport
) -> None:
    namespace = plane.create_namespace(MARK)
    with (
        Certified(
            plane, tmp_path, "evenspread", MARK, count=REPLICAS, leaf_s=LEAF_S, overlap_s=OVERLAP_S
        ) as certified,
        impostor(certified) as thief,
    ):
        ((old,), _) = certified.published

        def has_signed() -> bool:
            trusted = certified.published[0]
            try:
                served = [certified.fetch_leaf(replica, trusted) for replica in certified.replicas]
            except OSError:  # what is published has changed since
                return False
            return not any(issued_by(leaf, old) for leaf in served)

        def has_left() -> bool:
            return all(old not in bundle for bundle in certified.published)

        with Load(plane.api, namespace, rate=CREATIONS_A_SECOND, least=0) as load:
            until(lambda: thief.calls > 2 * CREATIONS_A_SECOND, "the impostor to be called")
            done = certified.run("revoke")
            start = time.monotonic()
            assert done.returncode == 0, done.stderr
            until(has_signed, "all replicas to sign again", patience_s=PATIENCE_S)
            signed = time.monotonic() - start
            until(has_left, "the old CA to leave", patience_s=PATIENCE_S)
            left = time.monotonic() - start
            webhooks.settle(plane.api)
            with load.held():  # a call in flight may have begun before
                calls, created = thief.calls, load.created
            until(
                lambda: load.created > created + 5 * CREATIONS_A_SECOND,
                "more creations",
                patience_s=PATIENCE_S,
            )
            late = thief.calls - calls
            until(lambda: thief.refused, "the impostor to be refused")
        ready = [replica.ready for replica in certified.replicas]
    outcome = (
        f"all replicas signed again after {signed:.0f} s, the old CA had left after {left:.0f} s; "
        f"impostor: {calls} calls before, {late} after, {thief.refused} handshakes refused"
    )
    print(outcome)
    fault_report.record(
        load=f"{CREATIONS_A_SECOND} creations a second under Fail",
        calls=load.created + len(load.failures),
        failed=len(load.failures),
        outcome=outcome,
    )
    assert load.failures == []
    assert (late, ready) == (0, [True] * REPLICAS)
    assert not LONG or (signed < SIGN_S and left < LEAVE_S)
