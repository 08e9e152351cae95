"""Revoked authorities leave in time, and no client notices."""

from datetime import timedelta

import pytest
from cryptography import x509

from certs.pem import issued_by
from certs.secret import RotationRequest
from certs.serving import client_context
from tests.certs.cluster import MUTATING, SECRET, VALIDATING
from tests.certs.fleet import MINUTE, SECOND, Fleet, KilledError, kill_at, served
from tests.certs.world import DAY, NOW, authority, client_pair
from tests.server.serving import call, review, serving
from webhook.server.http.limits import Limits


async def revoke(fleet: Fleet) -> tuple[x509.Certificate, ...]:
    """Request a revocation, by the API server's clock; returns what was trusted."""
    fleet.world.now += MINUTE
    at = fleet.world.now + fleet.cluster.ahead
    await fleet.cluster.secret.request_rotation(RotationRequest.REVOKE, at)
    return fleet.cluster.bundle(MUTATING)


@pytest.mark.parametrize("ahead", [-2 * MINUTE, timedelta(0), 2 * MINUTE])
async def test_a_revoked_authority_is_replaced_within_its_times(
    fleet: Fleet, ahead: timedelta
) -> None:
    fleet.cluster.ahead = ahead
    for _ in range(3):
        fleet.add()
    await fleet.settle()
    stranger = authority(NOW - DAY).leaf
    fleet.cluster.set_bundle(VALIDATING, *fleet.cluster.bundle(VALIDATING), stranger)
    await fleet.settle()

    (old,) = await revoke(fleet)
    await fleet.live(30 * SECOND, step=3 * SECOND)
    (first, new) = fleet.cluster.bundle(MUTATING)
    signers = [issued_by(served(source).leaf, new) for source in fleet.replicas]
    await fleet.live(24 * SECOND, step=3 * SECOND)
    almost = fleet.cluster.bundle(MUTATING)
    await fleet.live(12 * SECOND, step=3 * SECOND)

    assert first == old
    assert signers == [True, True, True]
    assert almost == (old, new)
    assert fleet.cluster.bundle(MUTATING) == fleet.cluster.bundle(VALIDATING) == (new,)
    stored = await fleet.cluster.secret.load()
    assert list(stored.trust.certificates.values()) == [new]
    assert fleet.world.complaints == []


async def test_a_client_that_occupies_all_connections_delays_no_revocation(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    async with serving(Limits(connections=1), live=source.live) as server:
        wire = await server.connect(client_context(source.status.authorities))
        assert (await wire.ask(call(review()))).status == 200
        (old,) = await revoke(fleet)

        await fleet.live(2 * MINUTE, step=3 * SECOND)

        assert (await wire.ask(call(review()))).status == 200
    assert old not in fleet.cluster.bundle(MUTATING)
    assert fleet.world.complaints == []


async def test_a_revocation_is_over_once_its_successor_signs(fleet: Fleet) -> None:
    fleet.add()
    await fleet.settle()
    await revoke(fleet)
    await fleet.live(3 * MINUTE, step=3 * SECOND)
    bundle = fleet.cluster.bundle(MUTATING)

    await fleet.live(30 * DAY, step=DAY)

    assert fleet.cluster.bundle(MUTATING) == bundle


async def test_an_old_bundle_that_is_restored_does_not_bring_a_revoked_authority_back(
    fleet: Fleet,
) -> None:
    fleet.add()
    await fleet.settle()
    revoked = await revoke(fleet)
    await fleet.live(3 * MINUTE, step=3 * SECOND)
    bundle = fleet.cluster.bundle(MUTATING)

    fleet.cluster.set_bundle(MUTATING, *revoked)
    await fleet.live(9 * SECOND, step=3 * SECOND)
    restored = fleet.cluster.bundle(MUTATING)
    await fleet.live(2 * MINUTE, step=3 * SECOND)

    assert set(bundle) <= set(restored)
    assert fleet.cluster.bundle(MUTATING) == bundle


async def test_a_replica_that_missed_a_revocation_is_not_ready(fleet: Fleet) -> None:
    for _ in range(2):
        fleet.add()
    await fleet.settle()
    stalled = fleet.replicas.pop()
    await revoke(fleet)
    await fleet.live(2 * MINUTE, step=3 * SECOND)

    await stalled.take_step()
    seen = stalled.status
    fleet.replicas.append(stalled)
    await fleet.settle()

    assert (seen.ready, seen.in_sync) == (False, False)
    assert stalled.status.ready


async def test_a_certificate_that_only_a_bundle_contains_leaves_after_a_week(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    stranger = authority().leaf
    fleet.cluster.set_bundle(MUTATING, *fleet.cluster.bundle(MUTATING), stranger)

    await fleet.settle()
    notice = fleet.world.notices[-1]
    await fleet.live(7 * DAY, step=DAY / 4)
    week = fleet.cluster.bundle(MUTATING)
    await fleet.live(10 * MINUTE, step=MINUTE)

    assert notice.ok
    assert notice.text.endswith(f"trusted until {NOW + 7 * DAY + 10 * MINUTE:%FT%TZ}")
    assert stranger in week
    assert fleet.cluster.bundle(MUTATING) == source.status.authorities


async def test_all_foreign_authorities_leave_however_many_there_are(fleet: Fleet) -> None:
    fleet.add()
    await fleet.settle()
    ours = authority()
    strangers = [client_pair(ours, f"stranger{number}").leaf for number in range(20)]
    fleet.cluster.set_bundle(VALIDATING, *fleet.cluster.bundle(VALIDATING), *strangers)
    await fleet.settle()

    await revoke(fleet)
    await fleet.live(90 * SECOND, step=3 * SECOND)

    assert fleet.cluster.bundle(VALIDATING) == fleet.cluster.bundle(MUTATING)
    assert len(fleet.cluster.bundle(VALIDATING)) == 1


@pytest.mark.parametrize("after", [timedelta(0), 30 * SECOND], ids=["before", "after"])
async def test_a_foreign_authority_that_is_first_seen_during_a_revocation_leaves(
    fleet: Fleet, after: timedelta
) -> None:
    fleet.add()
    await fleet.settle()
    stranger = client_pair(authority(), "stranger").leaf

    await revoke(fleet)
    await fleet.live(after, step=3 * SECOND)
    fleet.cluster.set_bundle(VALIDATING, *fleet.cluster.bundle(VALIDATING), stranger)
    await fleet.live(90 * SECOND, step=3 * SECOND)

    assert fleet.cluster.bundle(VALIDATING) == fleet.cluster.bundle(MUTATING)
    assert len(fleet.cluster.bundle(VALIDATING)) == 1


async def test_a_foreign_authority_that_comes_after_a_revocation_stays(fleet: Fleet) -> None:
    fleet.add()
    await fleet.settle()
    stranger = client_pair(authority(), "stranger").leaf
    await revoke(fleet)
    await fleet.live(90 * SECOND, step=3 * SECOND)

    fleet.cluster.set_bundle(VALIDATING, *fleet.cluster.bundle(VALIDATING), stranger)
    await fleet.live(6 * DAY, step=DAY / 4)

    assert stranger in fleet.cluster.bundle(VALIDATING)


async def test_revoking_again_and_again_keeps_no_revoked_authority(fleet: Fleet) -> None:
    for _ in range(2):
        fleet.add()
    await fleet.settle()
    (old,) = await revoke(fleet)

    sizes: list[int] = []
    for _ in range(6):
        await fleet.cluster.secret.request_rotation(RotationRequest.REVOKE, fleet.world.now)
        await fleet.live(30 * SECOND, step=3 * SECOND)
        sizes.append(len(fleet.cluster.bundle(MUTATING)))

    assert old not in fleet.cluster.bundle(MUTATING)
    assert max(sizes) <= 4
    assert fleet.world.complaints == []


@pytest.mark.parametrize("after", [3, 9, 12, 30, 45])
async def test_a_revocation_goes_on_when_its_request_is_removed(fleet: Fleet, after: int) -> None:
    for _ in range(2):
        fleet.add()
    await fleet.settle()
    (old,) = await revoke(fleet)
    await fleet.live(after * SECOND, step=3 * SECOND)

    del fleet.cluster.objects[SECRET]["metadata"]["annotations"]
    fleet.cluster.put(SECRET, fleet.cluster.objects[SECRET])
    await fleet.live(90 * SECOND, step=3 * SECOND)
    (new,) = fleet.cluster.bundle(MUTATING)
    fleet.cluster.set_bundle(MUTATING, old, new)
    await fleet.live(9 * SECOND, step=3 * SECOND)

    assert (new,) == fleet.cluster.bundle(MUTATING) == fleet.cluster.bundle(VALIDATING) != (old,)


@pytest.mark.parametrize("moment", range(1, 41))
async def test_a_revocation_survives_that_a_replica_is_killed_at_any_call(moment: int) -> None:
    fleet = Fleet()
    observer = fleet.add()
    await fleet.settle()
    (old,) = await revoke(fleet)

    # The replica runs alone and is killed before a call; then a new one replaces it.
    victim = fleet.add()
    fleet.replicas.remove(observer)
    count = iter(range(1, 10_000))
    fleet.cluster.faults.append(lambda _request: kill_at(next(count), moment))
    try:
        await fleet.live(9 * SECOND, step=3 * SECOND)
    except KilledError:
        fleet.replicas.remove(victim)
    fleet.cluster.faults.clear()
    fleet.replicas.append(observer)
    fleet.check()
    fleet.add()
    await fleet.live(75 * SECOND, step=3 * SECOND)

    (new,) = fleet.cluster.bundle(MUTATING)
    assert (new,) == fleet.cluster.bundle(VALIDATING) != (old,)
    assert all(source.status.ready for source in fleet.replicas)
