from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.storageobjects import (
    ApiClaim,
    ApiStorageCapacity,
    ApiVolume,
    StorageObjects,
)


def test_objects_without_members_are_decoded() -> None:
    decode = msgspec.json.decode

    assert decode(b"{}", type=StorageObjects) == StorageObjects()
    assert decode(b'{"persistentVolumes": null}', type=StorageObjects) == StorageObjects()


def test_an_object_has_a_name() -> None:
    claim = msgspec.json.decode(b'{"metadata": {"name": "data"}}', type=ApiClaim)

    assert claim.name == "data"


def test_null_is_the_same_as_absent() -> None:
    text = b'{"spec": {"claimRef": null, "csi": {"driver": null}, "volumeMode": null}}'
    volume = msgspec.json.decode(text, type=ApiVolume)

    assert volume.spec is not None
    assert (volume.spec.claim_ref, volume.spec.volume_mode) == (None, None)
    assert msgspec.json.decode(b'{"metadata": null}', type=ApiVolume).name == ""


# model, value
MALFORMED: dict[str, tuple[type[msgspec.Struct], Any]] = {
    "a claim": (ApiClaim, {"spec": {"resources": {"requests": {"storage": "1GiB"}}}}),
    "a volume": (ApiVolume, {"spec": {"capacity": {"storage": "1GiB"}}}),
    "free space": (ApiStorageCapacity, {"capacity": "1GiB"}),
    "the largest volume": (ApiStorageCapacity, {"maximumVolumeSize": "1GiB"}),
}


@pytest.mark.parametrize(("model", "value"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_quantity_is_a_type_error(model: type[msgspec.Struct], value: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match="write 1Gi"):
        msgspec.convert(value, model)
