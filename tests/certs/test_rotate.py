import asyncio
import re
import ssl
from collections.abc import Callable
from datetime import timedelta

import pytest

from certs.pem import issued_by
from certs.rotate import MAX_PAUSE_S, nearest_time
from certs.secret import RotationRequest, request_time
from certs.serving import LiveContext
from certs.source import NoticeSubject
from tests.apiserver import Answer, Request
from tests.certs.cluster import MUTATING, SECRET, VALIDATING
from tests.certs.fleet import MINUTE, SECOND, Fleet, corrupt, empty, served
from tests.certs.world import DAY, NOW, EndOfTestError, authority
from webhook.cluster.protocol import Response

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
    source = fleet.add()
    listening = source.live.context
    choose = listening.sni_callback
    listening.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_INTERNAL_ERROR

    await fleet.settle()
    before = fleet.cluster.bundle(MUTATING)
    problem = source.status.problem
    listening.sni_callback = choose
    fleet.world.now += MINUTE
    await fleet.settle()

    assert before == ()
    assert "a client would refuse it" in problem
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


@pytest.mark.parametrize("after", [timedelta(0), SECOND - timedelta(microseconds=1)])
async def test_an_authority_of_the_same_second_is_replaced_once(
    fleet: Fleet, after: timedelta
) -> None:
    fleet.add()
    await fleet.settle()
    (old,) = fleet.cluster.bundle(MUTATING)

    fleet.world.now += after
    at = request_time(fleet.world.now)
    await fleet.cluster.secret.request_rotation(RotationRequest.CA, at)
    await fleet.settle()
    early = fleet.cluster.bundle(MUTATING)
    await fleet.live(9 * DAY, step=DAY / 8)

    (new,) = fleet.cluster.bundle(MUTATING)
    created = [n for n in fleet.world.notices if "created the authority" in n.text]
    assert early == (old,)
    assert new != old
    assert len(created) == 2


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


async def test_rotation_needs_no_operator_for_550_days(fleet: Fleet) -> None:
    for _ in range(2):
        fleet.add()
    await fleet.settle()

    await fleet.live(550 * DAY, step=3 * DAY / 2)

    made = [n for n in fleet.world.notices if n.ok and n.subject is NoticeSubject.CA]
    assert len(made) == 3  # the first, and one every 243 days
    assert fleet.world.complaints == []
    assert len(fleet.cluster.bundle(MUTATING)) <= 2


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


class Faulty(LiveContext):
    """A context whose check has a bug."""

    def check(self) -> None:
        raise LookupError("canary")


async def test_the_loop_survives_unexpected_errors(fleet: Fleet) -> None:
    source = fleet.add()
    source.live = Faulty()
    for _ in range(20):
        await source.take_step()

    assert served(source) is source.live.served
    [message] = [text for text in fleet.world.complaints if "LookupError" in text]
    assert re.match(r"a bug of evenspread, LookupError at test_rotate.py:\d+; please", message)
    assert await source.take_step() > 0


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


async def test_an_endless_conflict_is_reported(fleet: Fleet) -> None:
    fleet.cluster.answers[f"PATCH {SECRET}"] = Response(422)
    source = fleet.add()

    pauses = [await source.take_step() for _ in range(20)]

    assert min(pauses) > 0
    assert pauses[-1] == 0.75 * MAX_PAUSE_S
    assert fleet.world.complaints == [
        "Secret ns/ca: was changed by another client; read it again; or it refuses the change"
    ]
