"""What is read of a Pod."""

from typing import Any

import msgspec
import pytest

from tests.build import Json, owned_by, pod, spread
from webhook.cluster.wire import MAX_UID_LENGTH, PodObject
from webhook.policy.model import ZONE
from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    FOREIGN_COST,
    KEEP_SPREAD,
    RANK_ANNOTATION,
    SCALE_DOWN_LABEL,
    UNRANKED,
    annotate_rank,
)

LABELS = {"app": "web", SCALE_DOWN_LABEL: KEEP_SPREAD}
OWNER = owned_by(uid="u1")


def read(obj: Json) -> PodObject:
    """Decode an object as the caches do."""
    return msgspec.json.decode(msgspec.json.encode(obj), type=PodObject)


def labelled(*constraints: Json, **changes: Any) -> Json:
    """Build a labelled pod of a ReplicaSet."""
    return pod(*constraints, **{"labels": LABELS, "owner": OWNER, **changes})


OWNERS: dict[str, tuple[Json | None, str]] = {
    "a ReplicaSet": (OWNER, "u1"),
    "a ReplicationController": (owned_by("ReplicationController", uid="u2"), "u2"),
    "a StatefulSet": (owned_by("StatefulSet", uid="u3"), ""),
    "a kind of the same name": (owned_by(apiVersion="example.io/v1", uid="u4"), ""),
    "an owner that is no controller": (owned_by(uid="u5", controller=False), ""),
    "a controller without a uid": (owned_by(), ""),
    "nulls": ({"apiVersion": None, "kind": None, "uid": None, "controller": True}, ""),
    "a uid that no API server gives": (owned_by(uid="u" * (MAX_UID_LENGTH + 1)), ""),
    "none": (None, ""),
}


@pytest.mark.parametrize(("owner", "uid"), OWNERS.values(), ids=OWNERS.keys())
def test_the_controller_is_one_that_looks_at_the_deletion_cost(owner: Json, uid: str) -> None:
    assert read(labelled(owner=owner)).controller == uid


def test_a_null_owner_is_none() -> None:
    assert read({"metadata": {"ownerReferences": [None, OWNER]}}).controller == "u1"


HARD, SOFT = spread(), spread(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway")

READ: dict[str, tuple[Json, RankedPod | None]] = {
    "an unbound pod": (labelled(SOFT, HARD), RankedPod(ZONE)),
    "a bound pod": (labelled(SOFT, nodeName="n1"), RankedPod("rack", "n1")),
    "a running pod": ({**labelled(), "status": {"phase": "Running"}}, RankedPod("")),
    "a rank": (labelled(annotations=annotate_rank(2)), RankedPod("", rank=2)),
    "the cost of a rank": (
        labelled(annotations={DELETION_COST: "998000"}),
        RankedPod("", rank=FOREIGN_COST),
    ),
    "only the rank": (labelled(annotations={RANK_ANNOTATION: "2"}), RankedPod("", rank=UNRANKED)),
    "a null rank": (
        labelled(annotations={**annotate_rank(2), RANK_ANNOTATION: None}),
        RankedPod("", rank=FOREIGN_COST),
    ),
    "another cost": (labelled(annotations={DELETION_COST: "7"}), RankedPod("", rank=FOREIGN_COST)),
    "no integer": (labelled(annotations={DELETION_COST: "x"}), RankedPod("", rank=FOREIGN_COST)),
    "a null cost": (labelled(annotations={DELETION_COST: None}), RankedPod("", rank=UNRANKED)),
    "no annotation of ours": (labelled(annotations={"a": "b"}), RankedPod("")),
    "no label": (pod(HARD, owner=OWNER), None),
    "another value": (labelled(labels={SCALE_DOWN_LABEL: "x"}), None),
    "succeeded": ({**labelled(), "status": {"phase": "Succeeded"}}, None),
    "failed": ({**labelled(), "status": {"phase": "Failed"}}, None),
    "nulls": (
        {"metadata": {"labels": LABELS, "deletionTimestamp": None}, "spec": None, "status": None},
        RankedPod(""),
    ),
    "null members": (
        {
            "metadata": {"labels": LABELS, "annotations": None, "ownerReferences": None},
            "spec": {"nodeName": None, "topologySpreadConstraints": None},
            "status": {"phase": None},
        },
        RankedPod(""),
    ),
    "no metadata": ({}, None),
}


@pytest.mark.parametrize(("obj", "expected"), READ.values(), ids=READ.keys())
def test_a_live_labelled_pod_is_ranked(obj: Json, expected: RankedPod | None) -> None:
    assert read(obj).ranked == expected


def test_a_pod_that_is_being_deleted_is_not_live() -> None:
    obj = labelled()
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert read(obj).ranked is None
