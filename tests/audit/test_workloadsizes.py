from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import spread
from tests.policy.advice.subjects import deployed, subject, workload
from webhook.audit.snapshot import SnapshotWorkload
from webhook.audit.workloadsizes import count_replicas, list_surges
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.rolloutlimits import DOUBLING

WEB = deployed(spread(), replicas=6)


def rolling(**limits: Any) -> Subject:
    return deployed(spread(), replicas=6, strategy={"rollingUpdate": limits})


@pytest.mark.parametrize(
    ("listed", "surge"),
    [
        (WEB, 2),
        (rolling(maxSurge=1), 1),
        (rolling(maxSurge=0), 0),
        (deployed(spread(), replicas=6, strategy={"type": "Recreate"}), 0),
        (subject(workload(spread(), kind=STATEFUL_SET)), 0),
        (replace(WEB, limits=DOUBLING), 6),
        (replace(WEB, suspended=True), 0),
        (replace(WEB, limits=None), None),
    ],
    ids=["25 %", "a number", "none", "Recreate", "a StatefulSet", "all", "suspended", "unknown"],
)
def test_the_most_pods_beyond_the_replicas(listed: Subject, surge: int | None) -> None:
    found = dict(list_surges([SnapshotWorkload(api_version="apps/v1", subject=listed)]))

    assert found == ({} if surge is None else {(listed.namespace, str(listed)): surge})


def test_the_pods_that_are_to_be_created() -> None:
    assert count_replicas(WEB) == 6
    assert count_replicas(replace(WEB, replicas=None)) == 1
    assert count_replicas(replace(WEB, suspended=True)) == 0
