import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.apiserver import ApiServer, Behavior, Fault, Json, after, respond
from tests.build import (
    NAMESPACE,
    deployment,
    owned_by,
    pod,
    policy,
    profile,
    request,
    selector,
    service,
)
from tests.cluster.environment import reflector_environment
from tests.cluster.test_caches import LISTS, following
from webhook.cluster import wire
from webhook.cluster.caches import Caches
from webhook.cluster.facts import Cluster
from webhook.cluster.fallback import LOOKUPS, NAMESPACE_LOOKUPS, OwnerFallback
from webhook.cluster.misses import MISS_S, MISSES, NAMESPACE_MISSES
from webhook.cluster.protocol import Response
from webhook.errors import NotSyncedError
from webhook.policy.facts import Facts
from webhook.policy.model import OwnerReference
from webhook.policy.request import AdmissionRequest

OWNER = OwnerReference("apps/v1", "ReplicaSet", "web-54f7")
REPLICA_SET = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets/web-54f7"
NAMESPACE_PATH = f"/api/v1/namespaces/{NAMESPACE}"
POLICY = policy(profile())
NAMESPACE_POLICY = policy(profile(namespace_selector=selector(tier="prod")))
LONG_TIMEOUT_S = 10.0  # seconds that the caller waits


def replica_set(app: str = "web") -> Json:
    metadata = {"name": OWNER.name, "namespace": NAMESPACE}
    return {"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": app}}}}


class World:
    """Caches without an object, an API server, and the look-ups there are results of."""

    def __init__(self, answers: Mapping[str, Behavior] | None = None) -> None:
        requests = {f"GET {path}": answer for path, answer in (answers or {}).items()}
        self.source = ApiServer(service("a"), service("b"), answers=requests)
        self.caches = Caches(Cluster(owners=()), reflector_environment(self.source))
        self.results: list[str] = []
        self.now = 0.0
        self.fallback = OwnerFallback(
            self.caches, self.source, self.results.append, lambda: self.now
        )

    def fetch(
        self, request: AdmissionRequest | None = None, timeout_s: float = LONG_TIMEOUT_S
    ) -> Awaitable[Facts] | None:
        return self.fallback.fetch(request or owned(), POLICY, timeout_s)

    @property
    def lookups(self) -> list[str]:
        return [path for path in self.source.paths if path not in LISTS]


@asynccontextmanager
async def world(answers: Mapping[str, Behavior] | None = None) -> AsyncGenerator[World]:
    made = World(answers)
    async with following(made.caches):
        await made.caches.wait_synced()
        yield made
        await made.fallback.close()


def owned(**owner: Any) -> AdmissionRequest:
    return request(pod(owner=owned_by(**owner)))


async def test_an_owner_that_is_not_in_the_cache_is_looked_up() -> None:
    async with world({REPLICA_SET: respond(replica_set())}) as here:
        fetching = here.fetch()
        assert fetching is not None
        facts = await fetching

        assert facts.owner_selector(NAMESPACE, OWNER) == selector(app="web")
        assert here.results == ["found"]


async def test_a_lookup_does_not_fill_the_cache() -> None:
    async with world({REPLICA_SET: respond(replica_set())}) as here:
        fetching = here.fetch()
        assert fetching is not None
        await fetching

        assert here.caches.cluster.owner_selector(NAMESPACE, OWNER) is None
        again = here.fetch()
        assert again is not None
        await again
        assert here.lookups == [REPLICA_SET] * 2


async def test_the_cache_counts_if_it_knows_by_then() -> None:
    async with world({REPLICA_SET: respond(replica_set())}) as here:
        fetching = here.fetch()
        assert fetching is not None
        store = here.caches.cluster.owner_stores["apps/v1", "ReplicaSet"]
        store.put(msgspec.convert(replica_set("newer"), wire.ControllerObject))

        assert (await fetching).owner_selector(NAMESPACE, OWNER) == selector(app="newer")


NOTHING_TO_FETCH = {
    "no owner": request(pod()),
    "an owner that does not control": owned(controller=False),
    "an owner of a kind without a selector": owned(kind="Job"),
    "a node, the owner of a static pod": owned(apiVersion="v1", kind="Node"),
    "an owner of another version": owned(apiVersion="apps/v1beta2"),
    "no pod": request(deployment()),
    "an update": request(pod(owner=owned_by()), pod(owner=owned_by())),
    "a name that is a path": owned(name="../../secrets/a"),
    "a name that goes up": owned(name=".."),
    "an empty name": owned(name=""),
    "a name with a query": owned(name="a?watch=1"),
    "a name of another script": owned(name="\u00e4"),
    "a namespace that is a path": replace(owned(), namespace="../.."),
}


@pytest.mark.parametrize(
    "admission_request", NOTHING_TO_FETCH.values(), ids=NOTHING_TO_FETCH.keys()
)
async def test_nothing_is_looked_up(admission_request: AdmissionRequest) -> None:
    async with world() as here:
        assert here.fetch(admission_request) is None
        assert here.lookups == []


async def test_there_is_nothing_to_fetch_without_profiles() -> None:
    async with world() as here:
        assert here.fallback.fetch(owned(), policy(), LONG_TIMEOUT_S) is None


async def test_there_is_nothing_to_fetch_for_an_owner_in_the_cache() -> None:
    async with world() as here:
        store = here.caches.cluster.owner_stores["apps/v1", "ReplicaSet"]
        store.put(msgspec.convert(replica_set(), wire.ControllerObject))

        assert here.fetch() is None


async def test_nothing_is_fetched_before_the_caches_are_filled() -> None:
    here = World()

    with pytest.raises(NotSyncedError):
        here.fetch()


FAILURES: dict[str, tuple[Behavior, str]] = {
    "it does not exist": (None, "absent"),
    "the answer is nonsense": (respond([]), "failed"),
    "the answer is no UTF-8": (Response(200, b'{"metadata":{"name":"\xff"}}'), "failed"),
    "there is no answer": (Fault.SILENCE, "late"),
}


@pytest.mark.parametrize(("answer", "result"), FAILURES.values(), ids=FAILURES.keys())
async def test_without_the_owner_the_rest_decides(answer: Behavior, result: str) -> None:
    async with world({REPLICA_SET: answer}) as here:
        fetching = here.fetch(timeout_s=0.0)
        assert fetching is not None
        if answer is not Fault.SILENCE:
            await asyncio.wait(here.fallback._lookups.values())
        facts = await fetching

        assert facts.owner_selector(NAMESPACE, OWNER) is None
        assert facts.services("shop", {"app": "a"})
        assert here.results == [result]


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


async def test_a_short_timeout_does_not_end_the_lookup_of_other_requests() -> None:
    released = asyncio.Event()

    async with world({REPLICA_SET: after(released, respond(replica_set()))}) as here:
        hurried, patient = here.fetch(timeout_s=0.0), here.fetch()
        assert hurried is not None
        assert patient is not None
        assert (await hurried).owner_selector(NAMESPACE, OWNER) is None
        released.set()

        assert (await patient).owner_selector(NAMESPACE, OWNER) == selector(app="web")
        assert here.results == ["late", "found"]


async def test_labels_of_a_namespace_are_looked_up_if_a_profile_needs_them() -> None:
    labelled = {"metadata": {"name": NAMESPACE, "labels": {"tier": "prod"}}}
    async with world(
        {NAMESPACE_PATH: respond(labelled), REPLICA_SET: respond(replica_set())}
    ) as here:
        fetching = here.fallback.fetch(owned(), NAMESPACE_POLICY, LONG_TIMEOUT_S)
        assert fetching is not None
        facts = await fetching

        assert facts.namespace_labels(NAMESPACE) == {"tier": "prod"}
        assert facts.owner_selector(NAMESPACE, OWNER) == selector(app="web")
        assert here.results == ["found", "found"]
        assert here.fetch(request(pod())) is None


async def test_a_namespace_that_cannot_be_read_fits_no_profile_that_requires_it() -> None:
    async with world() as here:
        fetching = here.fallback.fetch(request(pod()), NAMESPACE_POLICY, LONG_TIMEOUT_S)
        assert fetching is not None

        assert (await fetching).namespace_labels(NAMESPACE) is None
        assert here.results == ["absent"]


async def test_labels_in_the_cache_are_not_looked_up() -> None:
    async with world() as here:
        namespace = {"metadata": {"name": NAMESPACE, "labels": {"tier": "prod"}}}
        here.caches.cluster.namespace_store.put(msgspec.convert(namespace, wire.NamespaceObject))

        assert here.fallback.fetch(request(pod()), NAMESPACE_POLICY, LONG_TIMEOUT_S) is None


async def test_an_owner_of_a_kind_that_the_cluster_lacks_is_not_looked_up() -> None:
    source = ApiServer()
    caches = Caches(Cluster(), reflector_environment(source))
    async with following(caches):
        await caches.wait_synced()
        fallback = OwnerFallback(caches, source, lambda _: None, lambda: 0.0)
        rollout = owned(apiVersion="argoproj.io/v1alpha1", kind="Rollout")

        assert fallback.fetch(rollout, POLICY, LONG_TIMEOUT_S) is None


async def test_a_lookup_that_is_cancelled_has_failed() -> None:
    async with world({REPLICA_SET: Fault.SILENCE}) as here:
        fetching = here.fetch()
        assert fetching is not None
        waiting = asyncio.ensure_future(fetching)
        await asyncio.sleep(0)
        await here.fallback.close()

        assert (await waiting).owner_selector(NAMESPACE, OWNER) is None
        assert here.results == ["failed"]


async def test_a_lookup_without_a_response_ends_and_the_next_request_starts_another() -> None:
    async with world({REPLICA_SET: Fault.SILENCE}) as here:
        hurried = here.fetch(timeout_s=0.0)
        assert hurried is not None
        await hurried
        patient = here.fetch()
        assert patient is not None

        assert (await patient).owner_selector(NAMESPACE, OWNER) is None
        assert here.results == ["late", "late"]
        assert here.lookups == [REPLICA_SET]
