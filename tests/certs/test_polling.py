from datetime import datetime

import pytest

from certs.errors import CertError, PairError, StoreError
from certs.pem import CertificatePair
from certs.polling import INTERVAL_S, LoadedPair, PollingSource, Trusts
from certs.serving import LiveContext
from tests.certs.world import EndOfTestError, World, authority, leaf

CA = authority()
FIRST, SECOND = leaf(CA), leaf(CA)
BROKEN = PairError("/tls", "is broken")
MISSING = PairError("/tls", "is missing")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def live() -> LiveContext:
    return LiveContext()


def polling_source(
    world: World,
    live: LiveContext,
    *results: CertificatePair | Exception,
    trusts: Trusts | None = None,
) -> PollingSource:
    """Build a source whose polls have these results; the last one repeats."""
    remaining = list(results)

    def find(_now: datetime) -> LoadedPair:
        result = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        if isinstance(result, Exception):
            raise result
        return LoadedPair(pair=result, authorities=CA.chain)

    return PollingSource(find, live, world.environment, trusts=trusts)


async def test_the_first_pair_is_served_from_the_start(world: World, live: LiveContext) -> None:
    source = polling_source(world, live, FIRST)

    await source.start()

    assert live.served == FIRST
    assert source.status.ready
    assert source.status.leaf == FIRST.leaf
    assert source.status.authorities == CA.chain


async def test_a_source_does_not_start_without_a_pair(world: World, live: LiveContext) -> None:
    with pytest.raises(CertError, match="is broken"):
        await polling_source(world, live, BROKEN).start()


async def test_the_same_pair_is_reported_once(world: World, live: LiveContext) -> None:
    source = polling_source(world, live, FIRST)
    await source.start()

    await source.poll()

    assert len(world.notices) == 1


async def test_the_same_problem_is_reported_once(world: World, live: LiveContext) -> None:
    source = polling_source(world, live, FIRST, BROKEN, BROKEN, BROKEN, MISSING)
    await source.start()

    for _ in range(4):
        await source.poll()

    assert world.complaints == [
        "/tls: is broken; the old certificate is served on",
        "/tls: is missing; the old certificate is served on",
    ]
    assert live.served == FIRST


async def test_a_problem_ends_with_the_next_pair(world: World, live: LiveContext) -> None:
    source = polling_source(world, live, FIRST, BROKEN, SECOND)
    await source.start()
    await source.poll()
    problem = source.status.problem

    await source.poll()

    assert problem == "/tls: is broken"
    assert source.status.problem == ""
    assert live.served == SECOND


async def test_a_change_is_noticed_within_ten_seconds(world: World, live: LiveContext) -> None:
    source = polling_source(world, live, FIRST, SECOND)
    await source.start()
    world.nights = 2

    with pytest.raises(EndOfTestError):
        await source.run()

    assert world.slept == [INTERVAL_S, INTERVAL_S] == [10.0, 10.0]
    assert live.served == SECOND


async def test_missing_trust_is_reported_at_each_change_and_changes_nothing(
    world: World, live: LiveContext
) -> None:
    answers: list[bool | None] = [True, False, False, None, False]
    statuses = []

    async def trusts(pair: CertificatePair) -> bool | None:
        assert pair == FIRST
        return answers.pop(0)

    source = polling_source(world, live, FIRST, trusts=trusts)
    await source.start()
    while answers:
        await source.check_trust()
        await source.poll()
        statuses.append(source.status.in_sync)

    assert statuses == [True, False, False, None, False]
    assert source.status.ready
    assert len(world.complaints) == 2


async def test_trust_is_unknown_while_the_api_server_does_not_answer(
    world: World, live: LiveContext
) -> None:
    async def trusts(_pair: CertificatePair) -> bool | None:
        raise StoreError("hooks", "no answer")

    source = polling_source(world, live, FIRST, trusts=trusts)
    await source.start()
    await source.check_trust()

    assert source.status.in_sync is None
    assert source.status.ready
    assert world.complaints == []


async def test_trust_is_unknown_without_a_function_that_checks_it(
    world: World, live: LiveContext
) -> None:
    source = polling_source(world, live, FIRST)
    await source.start()
    await source.check_trust()

    assert source.status.in_sync is None


async def test_the_loop_survives_bugs_and_hides_their_messages(
    world: World, live: LiveContext
) -> None:
    bug = LookupError("canary")

    async def trusts(_pair: CertificatePair) -> bool | None:
        raise bug

    source = polling_source(world, live, FIRST, bug, bug, SECOND, trusts=trusts)
    await source.start()
    world.nights = 4

    with pytest.raises(EndOfTestError):
        await source.run()

    assert live.served == SECOND
    assert source.status.problem == ""
    assert any("LookupError at test_polling.py" in text for text in world.complaints)
    assert not any("canary" in text for text in world.complaints)
