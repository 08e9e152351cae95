"""The pods of a StatefulSet have claims by their ordinals."""

from typing import Any

import msgspec
import pytest

from webhook.cli.inputs.setvolumes import (
    SetVolumes,
    drop_claimed,
    list_templates,
    read_set_volumes,
)
from webhook.cli.inputs.storagescope import NO_CLAIMS
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.scheduling.podobjects import FilterSpec
from webhook.policy.kinds import DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.placement.filters.storage import Claim, Storage, Volume

DATA, LOGS = {"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}


def subject(kind: GroupKind = STATEFUL_SET, **spec: Any) -> ExplainSubject:
    value = {"metadata": {"name": "db", "namespace": "shop"}, "spec": spec}
    return ExplainSubject(kind, ("spec", "template"), "shop", value, exists=True)


# claim templates, the names of the claims of the pod with ordinal 1
NAMES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "one": ([DATA], ("data-db-1",)),
    "two": ([DATA, LOGS], ("data-db-1", "logs-db-1")),
    "none": ([], ()),
    "no list": (5, ()),
    "without a name": ([{}, 5], ()),
}


@pytest.mark.parametrize(("templates", "names"), NAMES.values(), ids=NAMES)
def test_claims_are_named_for_the_ordinal(templates: Any, names: tuple[str, ...]) -> None:
    volumes = read_set_volumes(subject(volumeClaimTemplates=templates), 3)

    found = volumes.at(1)
    assert (found.names, found.are_deleted) == (names, False)
    assert tuple(one.name for one in found.created) == names
    assert {one.meta.namespace for one in found.created} <= {"shop"}


def test_other_kinds_have_no_claims() -> None:
    volumes = read_set_volumes(subject(DEPLOYMENT, volumeClaimTemplates=[DATA]), 3)

    assert (volumes.at(0), list(volumes.list_claims(3))) == (NO_CLAIMS, [])


def test_the_next_pod_has_claims_too() -> None:
    volumes = read_set_volumes(subject(volumeClaimTemplates=[DATA], ordinals={"start": 3}), 1)

    assert [claims.names for claims in volumes.list_claims(1)] == [("data-db-3",), ("data-db-4",)]


# the retention policy, the replicas to set, the ordinals among 0 to 3 whose claims are deleted
DELETED: dict[str, tuple[Any, int | None, list[int]]] = {
    "no policy": (None, None, []),
    "all are retained": ({"whenScaled": "Retain"}, 1, []),
    "with the StatefulSet": ({"whenDeleted": "Delete"}, 1, []),
    "the present replicas": ({"whenScaled": "Delete"}, None, [2, 3]),
    "fewer replicas": ({"whenScaled": "Delete"}, 1, [1, 2, 3]),
    "more replicas": ({"whenScaled": "Delete"}, 4, [2, 3]),
}


@pytest.mark.parametrize(("policy", "scale", "ordinals"), DELETED.values(), ids=DELETED)
def test_claims_beyond_the_replicas_can_be_deleted(
    policy: Any, scale: int | None, ordinals: list[int]
) -> None:
    written = subject(volumeClaimTemplates=[DATA], persistentVolumeClaimRetentionPolicy=policy)

    volumes = read_set_volumes(written, 2, scale)

    assert [ordinal for ordinal in range(4) if volumes.at(ordinal).are_deleted] == ordinals


def test_ordinals_that_have_had_a_pod_have_used_their_claims() -> None:
    volumes = read_set_volumes(subject(volumeClaimTemplates=[DATA]), 3, used=range(1, 3))

    assert [ordinal for ordinal in range(4) if volumes.at(ordinal).are_used] == [1, 2]


def storage(namespace: str = "shop", name: str = "data-db-0", volume: str = "pv") -> Storage:
    claim = Claim(namespace=namespace, name=name, volume=volume)
    return Storage(claims={(namespace, name): claim}, volumes={"pv": Volume(name="pv")})


# storage, whether nothing is known of the volumes
KNOWN: dict[str, tuple[Storage, bool]] = {
    "a volume": (storage(), False),
    "a claim without a volume": (storage(volume=""), True),
    "a volume that is gone": (storage(volume="gone"), True),
    "a claim of another template": (storage(name="logs-db-0"), True),
    "a claim of another namespace": (storage(namespace="ops"), True),
    "no claim": (Storage(), True),
}


@pytest.mark.parametrize(("known", "unknown"), KNOWN.values(), ids=KNOWN)
def test_whether_volumes_are_known(known: Storage, unknown: bool) -> None:
    assert SetVolumes("db", "shop", ("data",)).are_unknown(known) is unknown
    assert not SetVolumes("db", "shop").are_unknown(known)


@pytest.mark.parametrize(
    ("templates", "left"), [([], ["data", "own"]), ([DATA, LOGS], ["own"])], ids=["none", "some"]
)
def test_a_claim_template_replaces_a_volume_of_its_name(templates: Any, left: list[str]) -> None:
    written = {"volumes": [{"name": "data"}, {"name": "own"}]}
    value = {"spec": {"volumeClaimTemplates": templates}}

    found = drop_claimed(msgspec.convert(written, FilterSpec), value)

    assert found is not None
    assert [volume.name for volume in found.volumes or ()] == left


def test_a_pod_without_volumes_is_kept() -> None:
    value = {"spec": {"volumeClaimTemplates": [DATA]}}

    assert list_templates(value) == ("data",)
    assert drop_claimed(None, value) is None
    assert drop_claimed(FilterSpec(), value) == FilterSpec()


def test_templates_that_cannot_be_read_create_no_claim() -> None:
    wrong = {"metadata": {"name": "data"}, "spec": {"storageClassName": 7}}

    found = read_set_volumes(subject(volumeClaimTemplates=[wrong]), 1).at(0)

    assert (found.names, found.created) == (("data-db-0",), ())
