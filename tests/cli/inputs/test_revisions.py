"""The status of a StatefulSet shows the revision of its next pod, by the pod's ordinal."""

from typing import Any

import msgspec
import pytest

from webhook.cli.inputs.revisions import find_next_ordinal, find_revision
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.kinds import ROLLOUT, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.placement.census import ObservedPod

SET_HASH = "controller-revision-hash"
REVISIONS = {"currentRevision": "old", "updateRevision": "new"}


def read(kind: GroupKind, names: tuple[str, ...] = (), **members: Any) -> dict[str, str]:
    value = {"metadata": {"name": "db"}, **members}
    pods = [msgspec.convert({"metadata": {"name": name}}, ObservedPod) for name in names]
    subject = ExplainSubject(kind, (), "shop", value, exists=True)
    return find_revision(subject, find_next_ordinal(subject, pods))


def test_other_kinds_have_no_partition() -> None:
    found = read(ROLLOUT, spec={}, status={"currentPodHash": "h2"})

    assert found == {"rollouts-pod-template-hash": "h2"}


# running pods, start, revision of the next pod with a partition of 2
PARTITIONS = {
    "above the partition": (("db-0", "db-1"), 0, "new"),
    "below it": (("db-0", "db-2"), 0, "old"),
    "below it, counted from the start": (("db-5",), 5, "old"),
    "above it, counted from the start": (("db-5", "db-6"), 5, "new"),
}


@pytest.mark.parametrize(("names", "start", "revision"), PARTITIONS.values(), ids=PARTITIONS.keys())
def test_pods_below_the_partition_have_the_current_revision(
    names: tuple[str, ...], start: int, revision: str
) -> None:
    spec = {"ordinals": {"start": start}, "updateStrategy": {"rollingUpdate": {"partition": 2}}}

    assert read(STATEFUL_SET, names, spec=spec, status=REVISIONS) == {SET_HASH: revision}
