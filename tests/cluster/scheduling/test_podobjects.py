from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.podobjects import ApiPod, Container, FullAffinity

POD = b"""{
  "metadata": {"name": "web-1", "uid": "u1", "deletionTimestamp": "2026-01-01T00:00:00Z",
    "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "u2", "controller": true}]},
  "spec": {
    "containers": [{"name": "c", "image": "x", "ports": [{"hostPort": 80, "hostIP": "10.0.0.1"}]}],
    "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}},
      {"name": "w", "awsElasticBlockStore": {"volumeID": "vol-1"}}, {"name": "x", "emptyDir": {}}],
    "affinity": {"nodeAffinity": {}, "podAffinity": {}}},
  "status": {"phase": "Running", "resources": {"requests": {"cpu": 1}}}}"""


def test_a_pod_is_decoded_with_the_names_of_the_api() -> None:
    pod = msgspec.json.decode(POD, type=ApiPod)

    assert pod.metadata is not None
    assert pod.spec is not None
    assert pod.metadata.owner_references[0].uid == "u2"
    assert [one.host_ip for one in (pod.spec.containers or ())[0].ports or ()] == ["10.0.0.1"]
    ephemeral, disk, other = pod.spec.volumes or ()
    assert ephemeral.ephemeral is not None
    assert disk.aws_elastic_block_store is not None
    assert disk.aws_elastic_block_store.volume_id == "vol-1"
    assert (other.ephemeral, other.persistent_volume_claim) == (None, None)


@pytest.mark.parametrize("text", [b"{}", b'{"metadata": null, "spec": null, "status": null}'])
def test_null_is_the_same_as_absent(text: bytes) -> None:
    assert msgspec.json.decode(text, type=ApiPod) == ApiPod()


@pytest.mark.parametrize(
    ("policy", "is_sidecar"), [("Always", True), ("Never", False), (None, False)]
)
def test_a_sidecar_is_always_restarted(policy: str | None, is_sidecar: bool) -> None:
    assert Container(restart_policy=policy).is_sidecar is is_sidecar


BAD = {"cpu": "1x"}
MALFORMED: dict[str, tuple[Any, str]] = {
    "a request": ({"spec": {"containers": [{"resources": {"requests": BAD}}]}}, "requests"),
    "a limit": ({"spec": {"initContainers": [{"resources": {"limits": BAD}}]}}, "limits"),
    "a request of the whole pod": ({"spec": {"resources": {"requests": BAD}}}, "requests"),
    "the overhead": ({"spec": {"overhead": BAD}}, "overhead"),
    "what a pod has got": ({"status": {"allocatedResources": BAD}}, "allocatedResources"),
    "what a container has got": (
        {"status": {"containerStatuses": [{"allocatedResources": BAD}]}}, "allocatedResources"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("value", "member"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_quantity_is_a_type_error(value: Any, member: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"in `{member}` `cpu`"):
        msgspec.convert(value, ApiPod)


def test_preferences() -> None:
    terms = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    parts = ("nodeAffinity", "podAffinity", "podAntiAffinity")

    found = [msgspec.convert({part: terms}, FullAffinity).has_preferences for part in parts]

    assert found == [True] * 3
    assert not msgspec.convert({parts[0]: {}}, FullAffinity).has_preferences
