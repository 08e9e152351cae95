from typing import Any

import msgspec
import pytest

from webhook.cluster.storageclasses import decode_storage_class
from webhook.policy.advice.storage import IMMEDIATE, StorageClass


def decode(**members: Any) -> StorageClass:
    metadata = {"name": "fast", **members.pop("metadata", {})}
    return decode_storage_class(msgspec.json.encode({"metadata": metadata, **members}))


def test_a_class_without_a_binding_mode_binds_at_once() -> None:
    found = decode(provisioner="ebs.csi.aws.com")

    assert found == StorageClass(name="fast", provisioner="ebs.csi.aws.com")
    assert (found.binding_mode, found.zones, found.is_default) == (IMMEDIATE, None, False)


def test_the_binding_mode_and_the_creation_time_are_decoded() -> None:
    found = decode(
        volumeBindingMode="WaitForFirstConsumer",
        metadata={"creationTimestamp": "2026-01-01T00:00:00Z"},
    )

    assert (found.binding_mode, found.created) == ("WaitForFirstConsumer", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "prefix", ["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"]
)
@pytest.mark.parametrize(("value", "is_default"), [("true", True), ("false", False), (None, False)])
def test_an_annotation_marks_the_default_class(
    prefix: str, value: str | None, is_default: bool
) -> None:
    found = decode(metadata={"annotations": {f"{prefix}/is-default-class": value}})

    assert found.is_default is is_default


ZONE, EBS = "topology.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"

TOPOLOGIES: dict[str, tuple[Any, tuple[str, ...] | None]] = {
    "none": (None, None),
    "an empty list": ([], None),
    "zones": ([{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "a"]}]}], ("a", "b")),
    "zones of a driver": ([{"matchLabelExpressions": [{"key": EBS, "values": ["a"]}]}], ("a",)),
    "two terms": (
        [
            {"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]},
            {"matchLabelExpressions": [{"key": "rack", "values": ["1"]}, {"key": ZONE}]},
        ],
        ("a",),
    ),
    "a term without zones": (
        [
            {"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]},
            {"matchLabelExpressions": [{"key": "rack", "values": ["1"]}]},
        ],
        None,
    ),
    "a term without expressions": ([{}], None),
}


@pytest.mark.parametrize(("written", "zones"), TOPOLOGIES.values(), ids=TOPOLOGIES.keys())
def test_the_zones_of_allowed_topologies(written: Any, zones: tuple[str, ...] | None) -> None:
    assert decode(allowedTopologies=written).zones == zones


def test_a_member_of_another_type_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="volumeBindingMode"):
        decode(volumeBindingMode=5)


def test_a_class_without_metadata_has_no_name() -> None:
    assert decode_storage_class(b"{}") == StorageClass(name="")
