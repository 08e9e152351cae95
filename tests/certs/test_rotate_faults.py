"""Rotation while replicas, Secrets, bundles or the API server fail."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certs.pem import issued_by
from certs.rotate import MAX_PAUSE_S
from certs.secret import RotationRequest
from certs.serving import shake_hands
from certs.source import NoticeSubject
from certs.trust import STATE
from tests.certs.cluster import MUTATING, SECRET, VALIDATING
from tests.certs.fleet import (
    KILLED_AT,
    MINUTE,
    SECOND,
    SHORT,
    Fleet,
    KilledError,
    corrupt,
    kill_at,
    served,
)
from tests.certs.world import DAY
from tests.faults.plugin import FaultReport
from webhook.cluster.protocol import Response


async def test_a_bundle_that_is_emptied_is_filled_again_within_five_seconds(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    wanted = fleet.cluster.bundle(MUTATING)

    fleet.cluster.set_bundle(MUTATING)
    await fleet.live(5 * SECOND, step=fleet.lifetimes.poll)

    assert fleet.cluster.bundle(MUTATING) == wanted
    assert source.status.ready


async def test_a_secret_put_back_to_an_older_state_is_published_before_it_counts(
    fleet: Fleet,
) -> None:
    source = fleet.add()
    await fleet.settle()
    old = dict(fleet.cluster.objects[SECRET])
    fleet.world.now += MINUTE
    await fleet.cluster.secret.request_rotation(RotationRequest.CA, fleet.world.now)
    await fleet.live(9 * DAY, step=DAY / 8)
    (new,) = fleet.cluster.bundle(MUTATING)

    fleet.cluster.put(SECRET, {**old, "metadata": {"name": "ca"}})
    await fleet.settle()
    served_at_once = served(source)
    await fleet.live(11 * MINUTE, step=MINUTE)

    assert issued_by(served_at_once.leaf, new)
    assert issued_by(served(source).leaf, source.status.authorities[0])
    assert source.status.authorities[0] != new


async def test_a_deleted_secret_is_reported_and_the_old_leaf_served(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    leaf = served(source)

    del fleet.cluster.objects[SECRET]
    await fleet.live(DAY, step=DAY / 4)

    assert served(source) == leaf
    assert source.status.ready
    assert fleet.world.complaints == ["Secret ns/ca: does not exist"]


@pytest.mark.fault(13)
async def test_after_a_suspend_beyond_its_lifetime_a_leaf_is_renewed_at_once(
    fleet: Fleet, fault_report: FaultReport
) -> None:
    source = fleet.add()
    await fleet.settle()
    old = served(source).leaf

    fleet.world.now += 8 * DAY  # the machine of the API server slept, too
    await source.take_step()

    assert served(source).leaf != old
    assert source.status.ready
    fault_report.record(
        load="none", calls=1, failed=0, outcome="a machine that slept 8 d renews its leaf at once"
    )


async def test_while_the_api_server_is_away_the_leaf_is_served_and_requests_are_rare(
    fleet: Fleet,
) -> None:
    source = fleet.add()
    await fleet.settle()
    leaf = served(source)
    fleet.cluster.faults.append(lambda _request: Response(503))

    pauses = [await source.take_step() for _ in range(10)]

    assert served(source) == leaf
    assert source.status.ready
    assert len(fleet.world.complaints) == 1
    assert pauses == sorted(pauses)
    assert pauses[0] >= 1
    assert pauses[-1] == 0.75 * MAX_PAUSE_S  # the random number of the tests is one half

    fleet.cluster.faults.clear()
    await fleet.settle()

    assert source.status.problem == ""
    assert await source.take_step() == 3


GARBAGE: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
PLACES: dict[str, tuple[str | int, ...]] = {
    SECRET: ("data",),
    f"{SECRET} {STATE}": ("data", STATE),
    f"{SECRET} annotations": ("metadata", "annotations"),
    MUTATING: ("webhooks",),
    f"{MUTATING} first": ("webhooks", 0),
    f"{MUTATING} clientConfig": ("webhooks", 0, "clientConfig"),
    f"{MUTATING} caBundle": ("webhooks", 0, "clientConfig", "caBundle"),
}
"""Object, and what distinguishes several places in it -> path in it."""


@given(place=st.sampled_from(sorted(PLACES)), garbage=GARBAGE)
def test_no_garbage_in_the_cluster_ends_the_loop(place: str, garbage: Any) -> None:
    async def live() -> None:
        fleet = Fleet()
        source = fleet.add()
        await fleet.settle()
        found: Any = fleet.cluster.objects[place.partition(" ")[0]]
        *way, last = PLACES[place]
        for step in way:
            found = found[step]
        found[last] = garbage

        for _ in range(3):
            await source.take_step()

        shake_hands(source.live.context, served(source), served(source).chain)
        assert not any("a bug of" in text for text in fleet.world.complaints)

    asyncio.run(live())


def files_below(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


def open_files() -> list[bytes]:
    """The content of what this process has open; not of pipes and sockets, which have no end."""
    links = [path for path in Path("/proc/self/fd").iterdir() if path.is_file()]
    return [link.read_bytes() for link in links if os.access(link, os.R_OK)]


async def test_no_key_is_in_a_file(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fleet.add()
    fleet.add()

    await fleet.settle()
    await fleet.live(30 * DAY, step=DAY)

    assert files_below(tmp_path) == []
    assert not any(b"PRIVATE KEY" in content for content in open_files())


async def test_no_message_contains_a_key(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    corrupt(fleet)
    await fleet.live(DAY, step=DAY / 8)

    shown = repr(fleet.world.notices) + repr(source) + repr(await fleet.cluster.secret.load())

    assert fleet.world.notices
    assert "PRIVATE" not in shown
    assert served(source).key_pem().decode().split("\n")[1] not in shown


async def test_forced_rotations_and_kills_with_short_lifetimes() -> None:
    fleet = Fleet(lifetimes=SHORT)
    for _ in range(3):
        fleet.add()
    await fleet.settle()

    for number in range(5):
        await fleet.live(SECOND, step=SECOND / 2)
        await fleet.cluster.secret.request_rotation(RotationRequest.CA, fleet.world.now)
        await fleet.live(9 * SECOND, step=SECOND / 2)
        del fleet.replicas[number % 3]
        fleet.add()
        await fleet.live(14 * SECOND, step=SECOND / 2)

    signed = [n for n in fleet.world.notices if n.ok and n.subject is NoticeSubject.CA]
    assert len(signed) == 6
    assert all(source.status.ready for source in fleet.replicas)


@pytest.mark.parametrize("moment", KILLED_AT)
async def test_a_rotation_survives_that_a_replica_is_killed_at_any_call(moment: int) -> None:
    fleet = Fleet(lifetimes=SHORT)
    observer = fleet.add()
    await fleet.settle()
    fleet.world.now += 2 * SECOND
    await fleet.cluster.secret.request_rotation(RotationRequest.CA, fleet.world.now)

    # The replica runs alone, is killed before a call, which is after the one before, and is
    # replaced. The observer is not killed, but too slow to do anything.
    victim = fleet.add()
    fleet.replicas.remove(observer)
    count = iter(range(1, 10_000))
    fleet.cluster.faults.append(lambda _request: kill_at(next(count), moment))
    try:
        await fleet.live(9 * SECOND, step=SECOND / 2)
    except KilledError:
        fleet.replicas.remove(victim)
    fleet.cluster.faults.clear()
    fleet.check()
    fleet.replicas.append(observer)
    fleet.check()
    fleet.add()
    await fleet.live(40 * SECOND, step=SECOND / 2)

    assert len(fleet.cluster.bundle(MUTATING)) == 1
    assert fleet.cluster.bundle(MUTATING) == fleet.cluster.bundle(VALIDATING)
    assert all(source.status.ready for source in fleet.replicas)
