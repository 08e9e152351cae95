"""How many lookups there are, at once and of what was not found."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.apiserver import Behavior, Fault, after, respond
from tests.build import NAMESPACE, pod, request, selector
from tests.cluster.lookups import (
    LONG_TIMEOUT_S,
    NAMESPACE_POLICY,
    OWNER,
    REPLICA_SET,
    World,
    owned,
    replica_set,
    world,
)
from webhook.cluster.fallback import LOOKUPS, NAMESPACE_LOOKUPS
from webhook.cluster.misses import MISS_S, MISSES, NAMESPACE_MISSES
from webhook.policy.facts import Facts


async def test_requests_that_need_the_same_share_one_look_up() -> None:
    async with world({REPLICA_SET: respond(replica_set())}) as here:
        fetching = [here.fetch() for _ in range(5)]
        facts = await asyncio.gather(*(lookup for lookup in fetching if lookup is not None))

        assert [found.owner_selector(NAMESPACE, OWNER) for found in facts] == [
            selector(app="web")
        ] * 5
        assert here.lookups == [REPLICA_SET]
        assert here.fallback._lookups == {}


async def test_an_owner_that_does_not_exist_is_looked_up_once_in_some_seconds() -> None:
    async with world() as here:
        for now in (0.0, 0.0, MISS_S / 2, MISS_S):
            here.now = now
            if (fetching := here.fetch()) is not None:
                assert (await fetching).owner_selector(NAMESPACE, OWNER) is None

        assert here.lookups == [REPLICA_SET] * 2
        assert here.results == ["absent", "skipped", "skipped", "absent"]


async def test_an_owner_that_appears_after_a_miss_counts_with_its_watch_event() -> None:
    async with world() as here:
        fetching = here.fetch()
        assert fetching is not None
        await fetching
        here.source.add({"apiVersion": "apps/v1", "kind": "ReplicaSet", **replica_set()})
        store = here.caches.cluster.owner_stores["apps/v1", "ReplicaSet"]
        async with asyncio.timeout(60):
            while not len(store):  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0)

        assert here.fetch() is None
        assert here.caches.cluster.owner_selector(NAMESPACE, OWNER) == selector(app="web")


async def test_a_tenant_who_invents_owners_uses_up_only_its_own_lookups() -> None:
    async with world({REPLICA_SET: respond(replica_set())}) as here:
        for number in range(10 * NAMESPACE_MISSES):
            invented = replace(owned(name=f"invented-{number}"), namespace="hostile")
            if (fetching := here.fetch(invented)) is not None:
                await fetching

        assert len(here.lookups) == NAMESPACE_MISSES
        honest = here.fetch()
        assert honest is not None
        assert (await honest).owner_selector(NAMESPACE, OWNER) == selector(app="web")


async def test_invented_namespaces_use_up_a_limited_number_of_lookups() -> None:
    async with world() as here:
        for number in range(2 * MISSES):
            invented = replace(request(pod()), namespace=f"invented-{number}")
            fetching = here.fallback.fetch(invented, NAMESPACE_POLICY, LONG_TIMEOUT_S)
            if fetching is not None:
                await fetching
        assert len(here.lookups) == MISSES

        here.now = MISS_S
        again = here.fallback.fetch(request(pod()), NAMESPACE_POLICY, LONG_TIMEOUT_S)
        assert again is not None
        await again


def start(here: World, namespace: str, count: int) -> list[asyncio.Future[Facts]]:
    """Start one lookup for each of several owners; leave out what is not looked up."""
    requests = (replace(owned(name=f"web-{n}"), namespace=namespace) for n in range(count))
    begun = (here.fetch(one) for one in requests)
    return [asyncio.ensure_future(lookup) for lookup in begun if lookup is not None]


async def test_lookups_in_flight_are_limited_for_each_namespace_and_in_total() -> None:
    async with world() as here:
        begun = {space: start(here, space, LOOKUPS) for space in ("a", "b", "c")}

        counts = {space: len(lookups) for space, lookups in begun.items()}
        assert counts == {"a": NAMESPACE_LOOKUPS, "b": LOOKUPS - NAMESPACE_LOOKUPS, "c": 0}
        await asyncio.gather(*begun["a"], *begun["b"])
        assert len(here.lookups) == LOOKUPS
        (allowed,) = start(here, "c", 1)
        await allowed


async def test_many_owners_that_exist_are_looked_up_at_once() -> None:
    """A slow API server must not turn lookups in flight into misses."""
    released = asyncio.Event()
    answers = {
        f"{REPLICA_SET}{number}": after(released, respond(replica_set()))
        for number in range(2 * NAMESPACE_MISSES)
    }
    async with world(answers) as here:
        fetching = [
            here.fetch(owned(name=f"{OWNER.name}{number}"))
            for number in range(2 * NAMESPACE_MISSES)
        ]
        released.set()
        await asyncio.gather(*(lookup for lookup in fetching if lookup is not None))

        assert here.results == ["found"] * (2 * NAMESPACE_MISSES)


UNAVAILABLE = {"late": Fault.SILENCE, "failed": respond({}, 503)}


@pytest.mark.parametrize(("result", "answer"), UNAVAILABLE.items(), ids=UNAVAILABLE)
async def test_an_api_server_that_is_slow_or_fails_is_no_miss(
    result: str, answer: Behavior
) -> None:
    async with world({REPLICA_SET: answer}) as here:
        first = here.fetch()
        assert first is not None
        await first
        if lookups := here.fallback._lookups.values():
            await asyncio.wait(lookups)
        here.source.answers[f"GET {REPLICA_SET}"] = respond(replica_set())
        second = here.fetch()
        assert second is not None

        assert (await second).owner_selector(NAMESPACE, OWNER) == selector(app="web")
        assert here.results == [result, "found"]


async def test_an_owner_that_cannot_be_decoded_is_a_miss() -> None:
    async with world({REPLICA_SET: respond([])}) as here:
        first = here.fetch()
        assert first is not None
        await first

        assert here.fetch() is None
        assert here.results == ["failed", "skipped"]


async def test_owners_that_exist_are_looked_up_without_a_limit() -> None:
    async with world({REPLICA_SET: respond(replica_set())}) as here:
        for _ in range(3 * NAMESPACE_MISSES):
            fetching = here.fetch()
            assert fetching is not None
            await fetching

        assert set(here.results) == {"found"}
