import asyncio

import msgspec
import pytest
from msgspec.structs import replace

from tests.apiserver import ApiServer, Behavior, Fault, after, respond
from tests.build import NAMESPACE, deployment, owned_by, pod, policy, request, selector
from tests.cluster.environment import following, reflector_environment
from tests.cluster.lookups import (
    LONG_TIMEOUT_S,
    NAMESPACE_POLICY,
    OWNER,
    POLICY,
    REPLICA_SET,
    World,
    owned,
    replica_set,
    world,
)
from webhook.cluster import wire
from webhook.cluster.caches import Caches
from webhook.cluster.facts import Cluster
from webhook.cluster.fallback import OwnerFallback
from webhook.cluster.protocol import Response
from webhook.errors import NotSyncedError
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.request import AdmissionRequest
from webhook.policy.rule_entry import Action

NAMESPACE_PATH = f"/api/v1/namespaces/{NAMESPACE}"


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


RULED_NAMESPACES = replace(
    NAMESPACE_POLICY,
    profiles=(replace(NAMESPACE_POLICY.profiles[0], actions={"TSC101": Action.DENY}),),
)


async def test_the_labels_of_a_workloads_namespace_are_looked_up_for_the_rules_of_profiles() -> (
    None
):
    labels = {"metadata": {"name": NAMESPACE, "labels": {"tier": "prod"}}}
    async with world({NAMESPACE_PATH: respond(labels)}) as here:
        for workload in (request(deployment()), request(deployment(), deployment())):
            assert here.fallback.fetch(workload, NAMESPACE_POLICY, LONG_TIMEOUT_S) is None
            fetching = here.fallback.fetch(workload, RULED_NAMESPACES, LONG_TIMEOUT_S)
            assert fetching is not None
            assert (await fetching).namespace_labels(NAMESPACE) == {"tier": "prod"}
        deleted = replace(request(deployment()), template=None)
        assert here.fallback.fetch(deleted, RULED_NAMESPACES, LONG_TIMEOUT_S) is None


async def test_exceptions_are_those_of_the_cache() -> None:
    exempt = PolicyException(namespace=NAMESPACE, name="a", reason="b", defaults=True)
    async with world({REPLICA_SET: respond(replica_set())}) as here:
        here.caches.cluster.exception_store.put(exempt)
        fetching = here.fetch()
        assert fetching is not None

        assert (await fetching).exceptions(NAMESPACE) == [exempt]
