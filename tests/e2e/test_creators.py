"""Replicas that start at the same moment, with an empty Secret or none: one authority wins."""

import base64
from pathlib import Path

import pytest

from certs.pem import issued_by, read_certificates
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.e2e.certified import Certified
from tests.e2e.objects import LONG, rounds
from tests.e2e.oracles import check_process
from tests.faults.plugin import FaultReport

ROUNDS = rounds(1, 5)  # with an empty Secret, and as many without one
REPLICAS = 5
LATE = (False, True) if LONG else (True,)
MARK = {"evenspread.test/race": "yes"}


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    return new_control_plane(controllers=False, scheduler=False, service_accounts=False)


def race(plane: ControlPlane, folder: Path, *, late_secret: bool) -> int:
    """Start all at once and check what they agree on; gives how many handshakes were verified."""
    with Certified(
        plane, folder, "race", MARK,
        count=REPLICAS, leaf_s=600, overlap_s=60, late_secret=late_secret,
    ) as certified:  # fmt: skip
        first, second = certified.published
        ((authority,), ever) = first, certified.ever_published - {""}
        leaves = [certified.fetch_leaf(replica, first) for replica in certified.replicas]
        assert first == second
        assert [read_certificates(base64.b64decode(bundle)) for bundle in ever] == [first]
        assert all(issued_by(leaf, authority) for leaf in leaves)
        assert len({leaf.serial_number for leaf in leaves}) == REPLICAS
        for replica in certified.replicas:
            check_process(replica)
    return len(leaves)


@pytest.mark.fault(9)
@pytest.mark.parametrize("late_secret", LATE, ids=["empty", "missing"][-len(LATE) :])
def test_replicas_that_start_at_once_publish_one_authority(
    plane: ControlPlane, tmp_path: Path, *, late_secret: bool, fault_report: FaultReport
) -> None:
    verified = 0
    for number in range(ROUNDS):
        verified += race(plane, tmp_path / f"{number}", late_secret=late_secret)
    what = "no Secret" if late_secret else "an empty Secret"
    fault_report.record(
        load=f"{REPLICAS} replicas at once",
        calls=verified,
        failed=0,
        outcome=f"{ROUNDS} starts with {what}: one CA published, ever; all leaves lead to it",
    )
