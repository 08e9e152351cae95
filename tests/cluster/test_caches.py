import asyncio

import msgspec
import pytest

from tests.apiserver import ApiServer, Behavior, after, path_of, refuse
from tests.build import service
from tests.cluster.environment import LISTS, following, reflector_environment
from tests.cluster.objects import labelled_pod
from webhook.cluster import wire
from webhook.cluster.caches import Caches, Start
from webhook.cluster.facts import Cluster
from webhook.cluster.protocol import Response
from webhook.errors import NotSyncedError

KINDS = ("Namespace", "Node", "Service", "ReplicationController", "ReplicaSet", "StatefulSet")


def make_caches(**answers: Behavior) -> Caches:
    """Build caches of a server with two Services, without custom kinds."""
    server = ApiServer(service("a"), service("b"), answers=answers)
    return Caches(Cluster(owners=()), reflector_environment(server))


async def test_all_kinds_are_listed_and_then_known() -> None:
    caches = make_caches()
    async with following(caches):
        before = caches.synced
        await caches.wait_synced()

        assert (before, caches.synced) == (False, True)
        caches.require()
        assert tuple(cache.resource.kind for cache in caches.reflectors) == KINDS
        assert all(cache.synced.is_set() for cache in caches.reflectors)
        assert [found.name for found in caches.cluster.services("shop", {"app": "a"})] == [
            "a",
            "b",
        ]


async def test_namespaces_are_known_once_all_are_listed() -> None:
    labelled = {"metadata": {"name": "shop", "labels": {"tier": "prod"}}}
    caches = make_caches()
    caches.cluster.namespace_store.put(msgspec.convert(labelled, wire.NamespaceObject))
    assert caches.namespaces is None

    found = caches.find_reflector("v1", "Namespace")
    assert found is not None
    found.synced.set()

    assert caches.namespaces == {"shop": {"tier": "prod"}}


async def test_nothing_is_known_before() -> None:
    caches = make_caches()

    with pytest.raises(NotSyncedError, match="the cache of Namespace is not filled yet"):
        caches.require()
    assert not any(cache.synced.is_set() for cache in caches.reflectors)
    assert all(cache.age is None for cache in caches.reflectors)


async def test_one_kind_that_cannot_be_listed_keeps_all_from_being_ready() -> None:
    caches = make_caches(**{"GET /api/v1/nodes": Response(404)})
    async with following(caches):
        waiting = asyncio.create_task(caches.wait_synced())
        for kind in set(FOLLOWED) - {("v1", "Node")}:
            reflector = caches.find_reflector(*kind)
            if reflector is not None:
                await reflector.synced.wait()

        with pytest.raises(NotSyncedError, match="Node"):
            caches.require()
        assert not waiting.done()
        waiting.cancel()
    followed = {cache.resource.kind: cache for cache in caches.reflectors}
    node, services = followed["Node"], followed["Service"]
    assert (node.synced.is_set(), node.age, node.problem) == (
        False,
        None,
        "https://api: answered 404",
    )
    assert (services.synced.is_set(), len(services.resource.store), services.age) == (True, 2, 0.0)


async def test_a_failed_reflector_lists_again_and_the_other_reflectors_continue() -> None:
    server, failed = ApiServer(service("a"), service("b")), list[str]()
    caches = Caches(Cluster(owners=()), reflector_environment(server))
    store = caches.cluster.service_store
    put, seen = store.put, list[str]()

    def put_one(thing: wire.ServiceObject) -> None:
        seen.append(thing.name)
        if seen == ["a", "b"]:
            raise ZeroDivisionError  # a bug, in the middle of a list
        put(thing)

    async def restart(name: str, start: Start) -> None:
        try:
            await start()
        except ZeroDivisionError:
            failed.append(name)
            server.delete(path_of(service("a")))
            server.add(service("c"))
            await start()

    store.put = put_one  # type: ignore[method-assign]  # as a bug in it would
    async with following(caches, restart):
        await caches.wait_synced()

        assert sorted(store.iterate_keys()) == [("shop", "b"), ("shop", "c")], (
            "what is gone is gone"
        )
    assert failed == ["reflector Service"]
    assert [server.count_lists(path) for path in LISTS] == [1, 1, 2, 1, 1, 1]


FOLLOWED = {
    ("v1", "Namespace"): "Namespace",
    ("v1", "Node"): "Node",
    ("v1", "Service"): "Service",
    ("v1", "ReplicationController"): "ReplicationController",
    ("apps/v1", "ReplicaSet"): "ReplicaSet",
    ("apps/v1", "StatefulSet"): "StatefulSet",
    ("argoproj.io/v1alpha1", "Rollout"): "Rollout.argoproj.io",
    ("argoproj.io/v2", "Rollout"): "Rollout.argoproj.io",
    ("apps/v1beta2", "ReplicaSet"): None,
    ("apps/v1", "Deployment"): None,
    ("batch/v1", "Job"): None,
    ("", ""): None,
}


@pytest.mark.parametrize(("owner", "kind"), FOLLOWED.items(), ids=map(str, FOLLOWED))
def test_a_reflector_is_found_by_version_and_kind(owner: tuple[str, str], kind: str | None) -> None:
    caches = Caches(Cluster(), reflector_environment(ApiServer()))

    reflector = caches.find_reflector(*owner)

    assert (reflector and reflector.resource.kind) == kind


async def test_a_reflector_that_ends_is_a_bug() -> None:
    async def supervise(_name: str, _start: Start) -> None:
        """Return at once, as no supervisor does."""

    with pytest.raises(AssertionError, match="only by being cancelled"):
        await Caches(Cluster(), reflector_environment(ApiServer())).run(supervise)


PODS = "/api/v1/pods"


async def test_pods_that_cannot_be_listed_keep_nothing_from_being_ready() -> None:
    server = ApiServer(answers={f"GET {PODS}": refuse("pods is forbidden")})
    cluster = Cluster(owners=(), pod_clock=lambda: 0.0)
    caches = Caches(cluster, reflector_environment(server))
    async with following(caches):
        await caches.wait_synced()

        caches.require()
        assert caches.ranks is None
        assert {cache.resource.kind for cache in caches.reflectors if cache.synced.is_set()} == {
            *KINDS
        }


async def test_pods_have_ranks_once_they_and_their_nodes_are_listed() -> None:
    server, nodes = ApiServer(labelled_pod("w1")), asyncio.Event()
    server.answers["GET /api/v1/nodes"] = after(nodes)
    cluster = Cluster(owners=(), pod_clock=lambda: 0.0)
    caches = Caches(cluster, reflector_environment(server))
    async with following(caches):
        pods = caches.find_reflector("v1", "Pod")
        assert pods is not None
        await pods.synced.wait()
        assert caches.ranks is None

        nodes.set()
        await caches.wait_synced()

        assert caches.ranks is cluster.pod_store
        assert list(pods.resource.store.iterate_keys()) == [("shop", "w1")]


async def test_without_pods_there_are_no_ranks() -> None:
    caches = make_caches()
    async with following(caches):
        await caches.wait_synced()

        assert caches.ranks is None
