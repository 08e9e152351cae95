"""Unbound claims without a class get the newest default one."""

from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.storagedefaults import apply_default_class
from webhook.cluster.scheduling.storageobjects import StorageObjects

Json = dict[str, Any]
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def storage_class(name: str, created: str = "", *, is_default: bool = True) -> Json:
    written = {"storageclass.kubernetes.io/is-default-class": str(is_default).lower()}
    return {"metadata": {"name": name, "annotations": written, "creationTimestamp": created}}


OLD, NEW = (
    storage_class("old", "2025-01-01T00:00:00Z"),
    storage_class("new", "2026-01-01T00:00:00Z"),
)
OTHER = storage_class("a", "2027-01-01T00:00:00Z", is_default=False)

# classes, metadata and specification of a claim, its class after that
CASES: dict[str, tuple[list[Json], Json, Json | None, str | None]] = {
    "the newest default": ([NEW, OLD, OTHER], {}, {}, "new"),
    "the first name of two": ([storage_class("b"), storage_class("a")], {}, {}, "a"),
    "no specification": ([OLD], {}, None, "old"),
    "no default": ([OTHER], {}, {}, None),
    "no class": ([OLD], {}, {"storageClassName": ""}, ""),
    "another class": ([OLD], {}, {"storageClassName": "a"}, "a"),
    "the annotation": (
        [OLD], {"annotations": {"volume.beta.kubernetes.io/storage-class": "a"}}, {}, None
    ),
    "a claim that is bound": ([OLD], {"annotations": BOUND}, {"volumeName": "pv"}, None),
    "a stored claim that names its volume": ([OLD], {"uid": "u"}, {"volumeName": "pv"}, None),
    "a new claim that names its volume": ([OLD], {}, {"volumeName": "pv"}, "old"),
}  # fmt: skip


@pytest.mark.parametrize(("classes", "metadata", "spec", "name"), CASES.values(), ids=CASES.keys())
def test_the_class_of_a_claim(
    classes: list[Json], metadata: Json, spec: Json | None, name: str | None
) -> None:
    claim = {"metadata": {"name": "data", **metadata}, "spec": spec}
    written = {"persistentVolumeClaims": [claim], "storageClasses": classes}
    objects = msgspec.convert(written, StorageObjects)

    (found,) = apply_default_class(objects).persistent_volume_claims or ()

    assert (found.spec.storage_class_name if found.spec else None) == name


def test_objects_without_claims_stay_as_they_are() -> None:
    objects = msgspec.convert({"storageClasses": [OLD]}, StorageObjects)

    assert apply_default_class(objects) is objects
    assert apply_default_class(StorageObjects()) == StorageObjects()
