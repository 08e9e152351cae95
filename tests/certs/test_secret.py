import base64
from datetime import timedelta
from typing import Any

import pytest

from certs.errors import AbsentError, ConflictError, StoreError
from certs.secret import RotationRequest, request_time
from certs.trust import STATE, Trust
from tests.certs.cluster import SECRET, Cluster
from tests.certs.world import NOW, authority

TRUST = Trust().add(authority())


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(clock=lambda: NOW)


async def test_an_empty_secret_holds_nothing(cluster: Cluster) -> None:
    stored = await cluster.secret.load()

    assert (stored.trust, stored.problem, stored.requested) == (Trust(), "", {})
    assert stored.server_now == NOW


async def test_saved_trust_is_loaded(cluster: Cluster) -> None:
    await cluster.secret.save(TRUST, instead_of=await cluster.secret.load())

    assert (await cluster.secret.load()).trust == TRUST


async def test_the_second_of_two_writers_gets_a_conflict(cluster: Cluster) -> None:
    ours, theirs = await cluster.secret.load(), await cluster.secret.load()
    await cluster.secret.save(TRUST, instead_of=ours)

    with pytest.raises(ConflictError):
        await cluster.secret.save(Trust().add(authority()), instead_of=theirs)

    assert (await cluster.secret.load()).trust == TRUST


async def test_unusable_contents_count_as_empty_and_are_reported(cluster: Cluster) -> None:
    cluster.objects[SECRET]["data"] = {STATE: base64.b64encode(b"{").decode()}

    stored = await cluster.secret.load()

    assert stored.trust == Trust()
    assert stored.problem.startswith("Secret ns/ca: authorities.json cannot be understood")


async def test_unusable_contents_are_overwritten(cluster: Cluster) -> None:
    cluster.objects[SECRET]["data"] = {STATE: "e30="}

    await cluster.secret.save(TRUST, instead_of=await cluster.secret.load())

    assert (await cluster.secret.load()).trust == TRUST


async def test_data_that_is_not_base64_is_an_error(cluster: Cluster) -> None:
    cluster.objects[SECRET]["data"] = {STATE: "not base64"}

    with pytest.raises(StoreError, match="is no Secret"):
        await cluster.secret.load()


async def test_a_secret_is_never_created(cluster: Cluster) -> None:
    stored = await cluster.secret.load()
    del cluster.objects[SECRET]

    with pytest.raises(AbsentError, match="Secret ns/ca: does not exist"):
        await cluster.secret.save(TRUST, instead_of=stored)
    with pytest.raises(AbsentError):
        await cluster.secret.load()


@pytest.mark.parametrize("request_", RotationRequest)
async def test_a_requested_rotation_is_read(cluster: Cluster, request_: RotationRequest) -> None:
    await cluster.secret.request_rotation(request_, NOW + timedelta(microseconds=7))

    stored = await cluster.secret.load()
    assert (stored.requested, stored.problem) == ({request_: NOW}, "")


@pytest.mark.parametrize("microseconds", [0, 1, 999_999])
def test_a_request_includes_what_was_issued_within_its_second(microseconds: int) -> None:
    at = request_time(NOW + timedelta(microseconds=microseconds))

    assert at == NOW + timedelta(seconds=1)


@pytest.mark.parametrize("wish", ["now", "2030-01-01T00:00:00", "2030-13-01T00:00:00Z"])
async def test_a_request_without_a_time_is_a_problem(cluster: Cluster, wish: str) -> None:
    await cluster.secret.save(TRUST, instead_of=await cluster.secret.load())
    cluster.objects[SECRET]["metadata"]["annotations"] = {RotationRequest.REVOKE: wish}

    stored = await cluster.secret.load()

    assert (stored.requested, stored.trust) == ({}, TRUST)
    assert stored.problem == (
        f"Secret ns/ca: annotation evenspread.io/revoke: {wish!r} is no time; write one such as "
        "2030-01-01T00:00:00Z"
    )


async def test_a_handwritten_request_is_read(cluster: Cluster) -> None:
    written = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    cluster.objects[SECRET]["metadata"]["annotations"] = {RotationRequest.CA: written}

    assert (await cluster.secret.load()).requested == {RotationRequest.CA: NOW}


STRANGE: dict[str, tuple[str, Any]] = {
    "data that is a list": ("data", [1]),
    "data that is a text": ("data", "x"),
    "an entry that is a number": ("data", {STATE: 5}),
    "an entry that is no ASCII": ("data", {STATE: "é"}),
    "an entry that is no text": ("data", {STATE: {"a": 1}}),
}


@pytest.mark.parametrize(("member", "value"), STRANGE.values(), ids=STRANGE)
async def test_data_of_another_type_is_an_error(cluster: Cluster, member: str, value: Any) -> None:
    cluster.objects[SECRET][member] = value

    with pytest.raises(StoreError, match="is no Secret"):
        await cluster.secret.load()


@pytest.mark.parametrize("annotations", [[1], "x", 5, {RotationRequest.CA: 5}])
async def test_annotations_of_another_type_are_ignored(cluster: Cluster, annotations: Any) -> None:
    cluster.objects[SECRET]["metadata"]["annotations"] = annotations

    assert (await cluster.secret.load()).requested == {}
