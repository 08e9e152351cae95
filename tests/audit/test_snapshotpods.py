"""Pods in a snapshot: which ones count, and what is kept of their status."""

from typing import Any

import msgspec
import pytest

from webhook.audit.snapshotpods import (
    AWAITS_SPREAD,
    SnapshotPod,
    SnapshotPodStatus,
    mark_stored,
)

GONE = {
    "a finished pod": ({"status": {"phase": "Succeeded"}}, True),
    "a pod that is being deleted": (
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        True,
    ),
    "a running pod": ({"metadata": {}, "status": {"phase": "Running"}}, False),
    "a pod without a status": ({}, False),
}


@pytest.mark.parametrize(("pod", "is_gone"), GONE.values(), ids=GONE)
def test_pods_that_end_are_gone(pod: dict[str, Any], is_gone: bool) -> None:
    assert msgspec.convert(pod, SnapshotPod).is_gone is is_gone


OWNED = {"ownerReferences": [{"kind": "Fleet", "name": "web", "controller": True}]}
CREATED = {
    "a pod that was stored": ({"stored": True}, True),
    "a pod with a node": ({"spec": {"nodeName": "a"}}, True),
    "a pod with a phase": ({"status": {"phase": "Pending"}}, True),
    "a pod with a controller": ({"metadata": OWNED}, True),
    "a manifest": ({"metadata": {"name": "web"}, "spec": {}, "status": {}}, False),
    "an empty manifest": ({}, False),
}


@pytest.mark.parametrize(("pod", "is_created"), CREATED.values(), ids=CREATED)
def test_a_manifest_is_no_pod_of_a_cluster(pod: dict[str, Any], is_created: bool) -> None:
    assert msgspec.convert(pod, SnapshotPod).is_created is is_created


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
SENTENCE = "node(s) didn't match pod topology spread constraints"
CONDITIONS = {
    "the constraints": (f"0/4 nodes are available: 2 Insufficient cpu, 2 {SENTENCE}.", True),
    "a missing label": (f"0/4 nodes are available: 4 {SENTENCE} (missing required label).", True),
    "other filters": ("0/4 nodes are available: 4 Insufficient cpu.", False),
    "nothing": (None, False),
}


@pytest.mark.parametrize(("message", "awaits"), CONDITIONS.values(), ids=CONDITIONS)
def test_the_message_of_the_scheduler_names_the_constraints(
    message: str | None, awaits: bool
) -> None:
    status = {"conditions": [None, {**UNSCHEDULABLE, "message": message}]}

    assert msgspec.convert(status, SnapshotPodStatus).awaits_spread is awaits


OTHERS: dict[str, list[dict[str, str]] | None] = {
    "no conditions": None,
    "another type": [{**UNSCHEDULABLE, "type": "Ready"}],
    "a gated pod": [{**UNSCHEDULABLE, "reason": "SchedulingGated"}],
}


@pytest.mark.parametrize("conditions", OTHERS.values(), ids=OTHERS)
def test_other_conditions_do_not_count(conditions: list[dict[str, str]] | None) -> None:
    written = conditions and [{**one, "message": SENTENCE} for one in conditions]

    status = msgspec.convert({"conditions": written}, SnapshotPodStatus)

    assert not status.awaits_spread


STORED = {"name": "web", "uid": "u", "resourceVersion": "1"}
MARKED = {
    "a pod of an API server": ({"metadata": STORED}, True),
    "a pod of a manifest": ({"metadata": {"name": "web"}}, False),
    "a pod without metadata": ({}, False),
}


@pytest.mark.parametrize(("pod", "stored"), MARKED.values(), ids=MARKED)
def test_a_pod_keeps_whether_it_was_stored(pod: dict[str, Any], stored: bool) -> None:
    marked = mark_stored(msgspec.convert(pod, SnapshotPod))

    assert marked.stored is stored
    assert marked.metadata is None or (marked.metadata.uid, marked.metadata.name) == (None, "web")


KEPT: dict[str, tuple[str, tuple[object, ...] | None]] = {
    "the constraints": (SENTENCE, (AWAITS_SPREAD,)),
    "another cause": ("0/4 nodes are available: 4 Insufficient cpu.", None),
}


@pytest.mark.parametrize(("message", "kept"), KEPT.values(), ids=KEPT)
def test_a_pod_keeps_only_the_condition_that_constraints_cause(
    message: str, kept: tuple[object, ...] | None
) -> None:
    conditions = [{"type": "Ready", "status": "False"}, {**UNSCHEDULABLE, "message": message}]
    read = {"status": {"phase": "Pending", "conditions": conditions}}

    status = mark_stored(msgspec.convert(read, SnapshotPod)).status

    assert status is not None
    assert (status.phase, status.conditions) == ("Pending", kept)
