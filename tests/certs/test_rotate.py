import asyncio
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from certs.errors import PairError
from certs.pem import CertificatePair, issued_by
from certs.rotate import MAX_PAUSE_S, SelfSource, nearest_time
from certs.secret import RotationRequest
from certs.serving import LiveContext, Probe, shake_hands
from certs.source import NoticeSubject
from certs.state import Lifetimes
from certs.trust import STATE
from tests.apiserver import Answer, Request
from tests.certs.cluster import MUTATING, SECRET, VALIDATING, Cluster
from tests.certs.world import DAY, NOW, EndOfTestError, World, authority
from tests.faults.plugin import FaultReport
from webhook.cluster.protocol import Response

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
SHORT = Lifetimes(ca=DAY, leaf=10 * SECOND, overlap=5 * SECOND)


class KilledError(BaseException):
    """SIGKILL, simulated within one process."""


@dataclass
class Fleet:
    """Replicas of one cluster, and clients that trust the published bundles and nothing else."""

    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    world: World = field(default_factory=World)
    replicas: list[SelfSource] = field(default_factory=list)
    met: set[tuple[x509.Certificate, tuple[x509.Certificate, ...]]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.cluster = Cluster(clock=lambda: self.world.now)

    def add(self, probe: Probe | None = None) -> SelfSource:
        source = SelfSource(
            live=LiveContext(),
            secret=self.cluster.secret,
            hooks=self.cluster.hooks,
            hosts=("web.ns.svc",),
            environment=self.world.environment,
            lifetimes=self.lifetimes,
            probe=probe,
        )
        self.replicas.append(source)
        return source

    async def settle(self) -> None:
        """Let every replica do what it has to do at this moment."""
        for source in self.replicas:
            for _ in range(20):
                if await source.take_step() > 0:
                    break
            self.check()

    async def live(self, span: timedelta, *, step: timedelta) -> None:
        """Let time pass, with a look of every replica, and of every client, at each step."""
        end = self.world.now + span
        while self.world.now < end:
            self.world.now += step
            await self.settle()

    def check(self) -> None:
        """Connect to every replica that is ready with each of the published bundles."""
        for source in self.replicas:
            for path in self.cluster.objects.keys() & {MUTATING, VALIDATING}:
                if source.status.ready:
                    self.connect(source, self.cluster.bundle(path))

    def connect(self, source: SelfSource, trusted: tuple[x509.Certificate, ...]) -> None:
        """Connect; what went well once is not tried again, it would go the same way."""
        meeting = (served(source).leaf, trusted)
        if meeting not in self.met:
            shake_hands(source.live.context, served(source), trusted)
            self.met.add(meeting)


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def served(source: SelfSource) -> CertificatePair:
    assert source.live.served is not None
    return source.live.served


SECONDS = {
    "within the second": (timedelta(milliseconds=300), timedelta(milliseconds=300)),
    "behind": (-SECOND, timedelta(0)),
    "ahead": (3 * SECOND, SECOND),
}


@pytest.mark.parametrize(("ours", "theirs"), SECONDS.values(), ids=SECONDS)
def test_a_date_is_any_moment_of_its_second(ours: timedelta, theirs: timedelta) -> None:
    assert nearest_time(NOW + ours, NOW) == NOW + theirs


def test_without_a_date_the_clocks_are_assumed_to_agree() -> None:
    assert nearest_time(NOW, None) == NOW


async def test_a_first_replica_makes_an_authority_serves_and_then_publishes(fleet: Fleet) -> None:
    source = fleet.add()

    await source.start()
    published_at_start = fleet.cluster.bundle(MUTATING)
    await fleet.settle()

    assert published_at_start == ()
    assert fleet.cluster.bundle(MUTATING) == fleet.cluster.bundle(VALIDATING)
    assert fleet.cluster.bundle(MUTATING) == source.status.authorities
    assert issued_by(served(source).leaf, source.status.authorities[0])
    assert source.status.in_sync
    assert source.status.problem == ""


async def test_a_replica_is_ready_once_it_has_read_the_bundle_back(fleet: Fleet) -> None:
    source = fleet.add()
    await source.start()
    seen = []

    for _ in range(4):
        await source.take_step()
        seen.append((bool(fleet.cluster.bundle(VALIDATING)), source.status.ready))

    assert seen == [(True, False), (True, True), (True, True), (True, True)]


async def test_nothing_is_published_that_the_listener_does_not_serve(fleet: Fleet) -> None:
    listening = False

    async def probe(pair: CertificatePair) -> None:
        assert pair == source.live.served
        if not listening:
            raise PairError("listener", "no answer")

    source = fleet.add(probe)
    await fleet.settle()
    before = fleet.cluster.bundle(MUTATING)
    problem = source.status.problem
    listening = True
    fleet.world.now += MINUTE
    await fleet.settle()

    assert (before, problem) == ((), "listener: no answer")
    assert fleet.cluster.bundle(MUTATING) == source.status.authorities


async def test_a_second_replica_serves_a_leaf_of_the_same_authority(fleet: Fleet) -> None:
    first = fleet.add()
    await fleet.settle()
    second = fleet.add()
    await fleet.settle()

    assert second.status.authorities == first.status.authorities
    assert served(first) != served(second)
    assert second.status.ready


@pytest.mark.parametrize("count", [2, 5])
async def test_replicas_that_start_at_once_agree_on_one_authority(count: int) -> None:
    for _ in range(10):
        fleet = Fleet()
        for _ in range(count):
            fleet.add()
        # Each answer waits, so that all of them read before the first one writes.
        fleet.cluster.faults.append(lambda _request: wait_for_the_others)

        await asyncio.gather(*(source.start() for source in fleet.replicas))
        await fleet.settle()

        assert len(fleet.cluster.bundle(MUTATING)) == 1
        assert all(source.status.ready for source in fleet.replicas)


async def wait_for_the_others(_request: Request) -> Answer:
    await asyncio.sleep(0)
    return None


async def test_a_leaf_is_renewed_at_two_thirds_of_its_lifetime(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    first = served(source)

    await fleet.live(4 * DAY, step=DAY)
    young = served(source)
    await fleet.live(DAY, step=DAY)

    assert young == first
    assert served(source) != first
    assert fleet.cluster.bundle(MUTATING) == source.status.authorities


async def test_leaves_are_renewed_on_request(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    first = served(source)

    fleet.world.now += MINUTE
    await fleet.cluster.secret.request_rotation(RotationRequest.LEAF, fleet.world.now)
    await fleet.settle()
    second = served(source)
    await fleet.settle()

    assert first != second
    assert served(source) == second


async def test_an_authority_is_replaced_without_a_client_noticing(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.add()
    await fleet.settle()
    (old,) = fleet.cluster.bundle(MUTATING)

    fleet.world.now += MINUTE
    await fleet.cluster.secret.request_rotation(RotationRequest.CA, fleet.world.now)
    await fleet.settle()
    both = fleet.cluster.bundle(MUTATING)
    before = [issued_by(served(source).leaf, old) for source in fleet.replicas]
    await fleet.live(10 * MINUTE, step=MINUTE)
    after = [issued_by(served(source).leaf, both[1]) for source in fleet.replicas]
    await fleet.live(7 * DAY, step=6 * timedelta(hours=1))
    still = fleet.cluster.bundle(MUTATING)
    await fleet.live(DAY, step=6 * timedelta(hours=1))

    assert both[0] == old
    assert before == after == [True, True, True]
    assert still == both
    assert fleet.cluster.bundle(MUTATING) == fleet.cluster.bundle(VALIDATING) == both[1:]
    assert fleet.replicas[0].status.authorities == both[1:]


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


async def test_rotation_needs_no_operator_for_five_years(fleet: Fleet) -> None:
    for _ in range(2):
        fleet.add()
    await fleet.settle()

    await fleet.live(5 * 365 * DAY, step=3 * DAY / 2)

    made = [n for n in fleet.world.notices if n.ok and n.subject is NoticeSubject.CA]
    assert len(made) == 8  # the first, and one every 243 days
    assert fleet.world.complaints == []
    assert len(fleet.cluster.bundle(MUTATING)) <= 2


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


KILLED_AT = range(1, 41)  # calls: of a whole rotation, and some more


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


def kill_at(count: int, moment: int) -> None:
    if count == moment:
        raise KilledError


async def test_a_bundle_that_is_emptied_is_filled_again_within_five_seconds(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    wanted = fleet.cluster.bundle(MUTATING)

    fleet.cluster.set_bundle(MUTATING)
    await fleet.live(5 * SECOND, step=fleet.lifetimes.poll)

    assert fleet.cluster.bundle(MUTATING) == wanted
    assert source.status.ready


async def test_a_disputed_bundle_is_repaired_rarely_and_reported(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()
    fleet.cluster.requests.clear()

    for _ in range(600):
        fleet.cluster.set_bundle(MUTATING)
        fleet.world.now += 3 * SECOND
        await fleet.settle()

    written = [request.path for request in fleet.cluster.writes]
    assert 8 <= written.count(MUTATING) <= 15
    lost, *_, disputed = fleet.world.complaints
    assert "another client has changed it; it is repaired" in lost
    assert "another client undoes it" in disputed
    assert source.status.in_sync is False

    fleet.world.now += 6 * MINUTE
    await fleet.settle()
    await fleet.settle()

    assert source.status.ready
    assert source.status.problem == ""


async def test_other_certificates_in_a_bundle_stay(fleet: Fleet) -> None:
    stranger = authority()
    fleet.cluster.set_bundle(MUTATING, stranger.leaf)
    source = fleet.add()

    await fleet.settle()

    assert fleet.cluster.bundle(MUTATING) == (stranger.leaf, *source.status.authorities)


async def test_a_deleted_configuration_is_reported_and_not_made_again(fleet: Fleet) -> None:
    source = fleet.add()
    await fleet.settle()

    kept = fleet.cluster.objects.pop(VALIDATING)
    await fleet.live(MINUTE, step=3 * SECOND)

    assert VALIDATING not in fleet.cluster.objects
    assert source.status.ready
    assert source.status.absent == ("ValidatingWebhookConfiguration web",)
    (complaint,) = fleet.world.complaints
    assert complaint.startswith("ValidatingWebhookConfiguration web does not exist")

    kept["webhooks"][0]["clientConfig"].pop("caBundle")
    fleet.cluster.put(VALIDATING, kept)
    await fleet.settle()

    assert fleet.cluster.bundle(VALIDATING) == source.status.authorities


async def test_without_any_configuration_a_replica_is_ready(fleet: Fleet) -> None:
    del fleet.cluster.objects[MUTATING], fleet.cluster.objects[VALIDATING]
    source = fleet.add()

    await fleet.settle()

    assert source.status.ready
    assert source.status.in_sync is None


def empty(fleet: Fleet) -> None:
    fleet.cluster.put(SECRET, {"metadata": {}, "data": {}})


def corrupt(fleet: Fleet) -> None:
    fleet.cluster.put(SECRET, {"metadata": {}, "data": {STATE: "eyJ2ZXJzaW9uIjogMX0="}})


@pytest.mark.parametrize("lose", [empty, corrupt], ids=["emptied", "corrupted"])
async def test_a_lost_secret_is_replaced_and_serving_never_stops(
    fleet: Fleet, lose: Callable[[Fleet], None]
) -> None:
    for _ in range(3):
        fleet.add()
    await fleet.settle()
    leaves = [served(source) for source in fleet.replicas]

    lose(fleet)
    await fleet.settle()
    old, new = fleet.cluster.bundle(MUTATING)
    kept = [served(source) for source in fleet.replicas]
    await fleet.live(11 * MINUTE, step=MINUTE)

    assert kept == leaves
    assert all(issued_by(served(source).leaf, new) for source in fleet.replicas)
    assert old in fleet.cluster.bundle(MUTATING)
    assert all(source.status.problem == "" for source in fleet.replicas)


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


@pytest.mark.parametrize("ahead", [8 * DAY, -8 * DAY, 5 * MINUTE, -5 * MINUTE])
async def test_a_clock_that_is_off_changes_nothing(fleet: Fleet, ahead: timedelta) -> None:
    source = fleet.add()
    await fleet.settle()
    leaf, version = served(source), fleet.cluster.revision

    fleet.cluster.ahead = -ahead
    fleet.world.now += ahead
    await fleet.settle()

    assert served(source) == leaf
    assert fleet.cluster.revision == version
    assert "our clock and the API server's differ by" in source.status.problem

    fleet.cluster.ahead = timedelta(0)
    fleet.world.now -= ahead
    await fleet.settle()

    assert source.status.problem == ""


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
    assert pauses[-1] == 0.75 * MAX_PAUSE_S  # the dice of the tests show one half

    fleet.cluster.faults.clear()
    await fleet.settle()

    assert source.status.problem == ""
    assert await source.take_step() == 3


async def test_an_endless_conflict_is_reported(fleet: Fleet) -> None:
    fleet.cluster.answers[f"PATCH {SECRET}"] = Response(422)
    source = fleet.add()

    pauses = [await source.take_step() for _ in range(20)]

    assert min(pauses) > 0
    assert pauses[-1] == 0.75 * MAX_PAUSE_S
    assert fleet.world.complaints == [
        "Secret ns/ca: was changed by another client; read it again; or it refuses the change"
    ]


async def test_a_start_waits_for_the_api_server(fleet: Fleet) -> None:
    fleet.cluster.script(SECRET, *map(Response, (500, 403, 500, 404)))
    source = fleet.add()

    await source.start()

    assert source.live.served is not None
    assert not source.status.ready
    assert len([pause for pause in fleet.world.slept if pause]) == 4


async def test_it_runs_until_it_is_stopped(fleet: Fleet) -> None:
    source = fleet.add()
    await source.start()
    fleet.world.nights = len(fleet.world.slept) + 30

    with pytest.raises(EndOfTestError):
        await source.run()

    assert source.status.ready
    assert fleet.world.slept[-1] == 3


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
"""Object, and what more tells places apart -> path in it."""


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


async def test_the_loop_survives_unexpected_errors(fleet: Fleet) -> None:
    async def fail(_pair: CertificatePair) -> None:
        raise LookupError("canary")

    source = fleet.add(fail)
    for _ in range(20):
        await source.take_step()

    assert served(source) is source.live.served
    [message] = [text for text in fleet.world.complaints if "LookupError" in text]
    assert re.match(r"a bug of evenspread, LookupError at test_rotate.py:\d+; please", message)
    assert await source.take_step() > 0


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
