"""The status of a workload shows the revision of its next pods."""

from typing import Any

import pytest

from webhook.policy.kinds import DEPLOYMENT, ROLLOUT, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.nextrevision import (
    find_ordinals,
    read_partition,
    read_partitioned,
    read_revision,
)

SET_HASH, ROLLOUT_HASH = "controller-revision-hash", "rollouts-pod-template-hash"
REVISIONS = {"currentRevision": "old", "updateRevision": "new"}
CLONE_SET = GroupKind("apps.kruise.io", "CloneSet")


def read(kind: GroupKind, **members: Any) -> dict[str, str]:
    return read_revision(kind, {"metadata": {"name": "db"}, **members})


# kind, status, label
STATUSES: dict[str, tuple[GroupKind, dict[str, Any], dict[str, str]]] = {
    "a StatefulSet": (STATEFUL_SET, REVISIONS, {SET_HASH: "new"}),
    "a CloneSet": (CLONE_SET, REVISIONS, {SET_HASH: "new"}),
    "a Rollout": (ROLLOUT, {"currentPodHash": "h2", "stableRS": "h1"}, {ROLLOUT_HASH: "h2"}),
    "a Deployment": (DEPLOYMENT, REVISIONS, {}),
    "no revision yet": (STATEFUL_SET, {"updateRevision": ""}, {}),
    "no status": (ROLLOUT, {}, {}),
    "a wrong type": (ROLLOUT, {"currentPodHash": 7}, {}),
}


@pytest.mark.parametrize(("kind", "status", "label"), STATUSES.values(), ids=STATUSES.keys())
def test_the_status_shows_the_revision(
    kind: GroupKind, status: dict[str, Any], label: dict[str, str]
) -> None:
    assert read(kind, status=status) == label


# kind, generation, observed generation, whether the status is of the present template
GENERATIONS = {
    "seen": (STATEFUL_SET, 3, 3, True),
    "not seen yet": (STATEFUL_SET, 4, 3, False),
    "seen, as a string": (ROLLOUT, 3, "3", True),
    "not seen yet, as a string": (ROLLOUT, 4, "3", False),
}


@pytest.mark.parametrize(
    ("kind", "generation", "observed", "is_seen"), GENERATIONS.values(), ids=GENERATIONS.keys()
)
def test_a_template_that_the_controller_has_not_seen_has_no_known_revision(
    kind: GroupKind, generation: int, observed: Any, is_seen: bool
) -> None:
    status = {**REVISIONS, "currentPodHash": "h2", "observedGeneration": observed}

    found = read(kind, metadata={"generation": generation}, status=status)

    assert bool(found) is is_seen


def test_below_the_partition_new_pods_have_the_current_revision() -> None:
    spec = {"updateStrategy": {"rollingUpdate": {"partition": 2}}}

    assert (read_partition({"spec": spec}), read_partition({})) == (2, 0)
    assert read_revision(STATEFUL_SET, {"status": REVISIONS}, is_below=True) == {SET_HASH: "old"}


# ordinals of the running pods, start, revision of the next pod with a partition of 2
ORDINALS = {
    "above the partition": ({0, 1}, 0, "new"),
    "below it": ({0, 2}, 0, "old"),
    "no pod": (set[int](), 0, "old"),
    "below it, counted from the start": ({5}, 5, "old"),
    "above it, counted from the start": ({5, 6}, 5, "new"),
}


@pytest.mark.parametrize(("ordinals", "start", "revision"), ORDINALS.values(), ids=ORDINALS.keys())
def test_the_first_free_ordinal_decides(ordinals: set[int], start: int, revision: str) -> None:
    spec = {"ordinals": {"start": start}, "updateStrategy": {"rollingUpdate": {"partition": 2}}}

    found = read_partitioned({"spec": spec, "status": REVISIONS})

    assert found.choose(ordinals) == {SET_HASH: revision}


STARTS = {3: 3, 0: 0, True: 0, "x": 0, -1: 0}


@pytest.mark.parametrize(("written", "start"), STARTS.items())
def test_the_first_ordinal(written: object, start: int) -> None:
    assert read_partitioned({"spec": {"ordinals": {"start": written}}}).start == start


def test_without_a_partition_new_pods_have_the_updated_revision() -> None:
    assert read_partitioned({"status": REVISIONS}).choose(()) == {SET_HASH: "new"}


def test_without_a_member_for_the_partition_pods_keep_their_revision_until_they_are_updated() -> (
    None
):
    spec = {"updateStrategy": {"type": "RollingUpdate"}}

    found = read_partitioned({"spec": spec, "status": {**REVISIONS, "currentReplicas": 2}})

    assert (found.choose({0}), found.choose({0, 1})) == ({SET_HASH: "old"}, {SET_HASH: "new"})
    assert read_partitioned({"spec": spec, "status": REVISIONS}).partition == 0


def test_the_current_revision_is_known_before_the_controller_has_seen_a_new_template() -> None:
    spec = {"updateStrategy": {"rollingUpdate": {"partition": 1}}}
    status = {**REVISIONS, "observedGeneration": 3}

    found = read_partitioned({"metadata": {"generation": 4}, "spec": spec, "status": status})

    assert (found.current, found.updated) == ({SET_HASH: "old"}, {})


def test_ordinals_are_the_ends_of_names() -> None:
    assert find_ordinals(["db-0", "db-x", "web-db-12", "", "-\u0663"]) == {0, 12}
