"""Facts of a cluster: which caches are in use, and what is looked up."""

import asyncio
import math
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

import pytest

from tests.apiserver import Fault, after, respond
from tests.build import owned_by, pod, request
from tests.cluster.environment import reflector_environment
from tests.server.factsources import FLEET, NOTHING, OWNER, cluster, log, run, value
from tests.server.serving import PATIENCE, POLICY, settled
from webhook.cluster.discovery import describe_exceptions
from webhook.cluster.policyexceptions import PolicyExceptionStore
from webhook.cluster.protocol import Response
from webhook.cluster.reflector import Reflector
from webhook.config.ownerselectors import OwnerSelector
from webhook.errors import NotSyncedError
from webhook.policy.model import GroupKind, OwnerReference
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.request import AdmissionRequest
from webhook.server.facts import WatchedKinds
from webhook.server.health import ReadinessCondition
from webhook.server.livefacts import LiveFacts, SharedCaches
from webhook.server.supervisor import Supervisor
from webhook.telemetry.metrics import Metrics

OTHER_KIND = OwnerSelector(GroupKind("example.io", "Other"), ("spec", "selector"))
NODES = "/api/v1/nodes"
NOW = datetime(2027, 1, 1, tzinfo=UTC)


async def test_a_cluster_is_followed_as_soon_as_it_runs() -> None:
    metrics = Metrics()
    live = LiveFacts(NOTHING, reflector_environment(cluster()), metrics, lambda: None)
    before = live.check()["cache Service"]
    age = value(metrics, "age_seconds", "Service")
    assert live.find_namespaces() is None

    async with run(live):
        await live.complete()

        assert len(live.facts.services("shop", {"app": "a"})) == 2
        assert live.find_namespaces() == {}
        assert live.check()["cache Service"].detail == "2 objects, updated 0 s ago"
        assert value(metrics, "objects", "Service") == 2
        assert value(metrics, "synced", "Service") == 1
        assert value(metrics, "age_seconds", "Service") == 0
    assert before == ReadinessCondition(ok=False, detail="not listed yet")
    assert age == math.inf


def test_before_it_is_listed_no_call_is_served() -> None:
    live = LiveFacts(NOTHING, reflector_environment(cluster()), Metrics(), lambda: None)

    with pytest.raises(NotSyncedError):
        live.fetch(request(pod()), POLICY, 1.0)


async def test_other_owners_mean_other_caches_once_they_are_filled() -> None:
    metrics, changed = Metrics(), asyncio.Event()
    live = LiveFacts(NOTHING, reflector_environment(cluster()), metrics, changed.set)
    async with run(live):
        await live.complete()
        old = live.facts
        assert old.owner_selector("shop", OWNER) is None

        live.follow(WatchedKinds((FLEET,)))
        assert live.facts is old
        await changed.wait()

        found = live.facts.owner_selector("shop", OWNER)
        assert found is not None
        assert found.match_labels == {"app": "a"}
        assert len(live.facts.services("shop", {"app": "a"})) == 2
        assert live.check()["cache Fleet.example.io"].ok
        await asyncio.sleep(0)
        assert value(metrics, "objects", "Fleet.example.io") == 1

        changed.clear()
        live.follow(NOTHING)
        await changed.wait()
        await asyncio.sleep(0)
        assert value(metrics, "objects", "Fleet.example.io") is None


async def test_other_caches_have_the_same_exceptions() -> None:
    store, changed = PolicyExceptionStore(lambda: NOW), asyncio.Event()
    environment = reflector_environment(cluster())
    watched = Reflector(describe_exceptions(store), environment)
    shared = SharedCaches(store, (watched,))
    live = LiveFacts(NOTHING, environment, Metrics(), changed.set, shared)
    store.put(PolicyException(namespace="shop", name="legacy", reason="old", defaults=True))
    async with run(live):
        await live.complete()
        old = live.facts
        live.follow(WatchedKinds((FLEET,)))
        await changed.wait()

    assert live.facts is not old
    for facts in (old, live.facts):
        assert [one.name for one in facts.exceptions("shop")] == ["legacy"]
    assert "cache SpreadPolicyException.evenspread.io" in live.check()


async def test_the_same_owners_change_nothing() -> None:
    live = LiveFacts(
        WatchedKinds((FLEET,)),
        reflector_environment(cluster()),
        Metrics(),
        lambda: pytest.fail("changed"),
    )
    async with run(live):
        await live.complete()
        facts = live.facts

        live.follow(WatchedKinds((FLEET,)))
        for _ in range(100):
            await asyncio.sleep(0)

        assert live.facts is facts


async def test_caches_that_cannot_be_filled_are_given_up_for_the_next_ones() -> None:
    source, changed = cluster(), asyncio.Event()
    live = LiveFacts(NOTHING, reflector_environment(source), Metrics(), changed.set)
    async with run(live):
        await live.complete()
        old, source.answers[f"GET {NODES}"] = live.facts, Response(404)
        live.follow(WatchedKinds((OTHER_KIND,)))
        await settled(lambda: source.count_lists(NODES) == 2)
        assert live.facts is old

        del source.answers[f"GET {NODES}"]
        live.follow(WatchedKinds((FLEET,)))
        await changed.wait()

        assert live.facts.owner_selector("shop", OWNER) is not None


async def test_owners_taken_back_before_their_caches_are_filled_leave_the_old_ones() -> None:
    source = cluster()
    live = LiveFacts(
        NOTHING, reflector_environment(source), Metrics(), lambda: pytest.fail("changed")
    )
    async with run(live):
        await live.complete()
        source.answers[f"GET {NODES}"] = Response(404)
        live.follow(WatchedKinds((FLEET,)))
        await settled(lambda: source.count_lists(NODES) == 2)

        live.follow(NOTHING)
        for _ in range(100):
            await asyncio.sleep(0)

        live.fetch(request(pod()), POLICY, 1.0)


REPLICA_SET = OwnerReference("apps/v1", "ReplicaSet", "web-54f7")
LATE = "/apis/apps/v1/namespaces/shop/replicasets/web-54f7"
"""Path of the owner of a late pod."""

LATE_OWNER = {
    "metadata": {"name": "web-54f7", "namespace": "shop"},
    "spec": {"selector": {"matchLabels": {"app": "a"}}},
}


def late() -> AdmissionRequest:
    """A new pod whose ReplicaSet the caches do not know."""
    return request(pod(owner=owned_by()), namespace="shop")


async def test_what_the_caches_lack_is_looked_up_and_counted() -> None:
    source, metrics = cluster(), Metrics()
    source.answers[f"GET {LATE}"] = respond(LATE_OWNER)
    live = LiveFacts(NOTHING, reflector_environment(source), metrics, lambda: None)
    async with run(live):
        await live.complete()
        fetching = live.fetch(late(), POLICY, 10.0)
        assert fetching is not None
        facts = await fetching

        assert facts.owner_selector("shop", REPLICA_SET) is not None
        assert live.facts.owner_selector("shop", REPLICA_SET) is None
    labels = {"result": "found"}
    assert metrics.registry.get_sample_value("evenspread_owner_lookups_total", labels) == 1


async def test_after_a_bug_the_facts_are_followed_on_and_lookups_are_answered() -> None:
    source, metrics, answered = cluster(), Metrics(), asyncio.Event()
    changes: list[str] = []

    def change() -> None:
        changes.append("changed")
        if len(changes) == 1:
            raise ZeroDivisionError

    source.answers[f"GET {LATE}"] = after(answered, respond(LATE_OWNER))
    live = LiveFacts(NOTHING, reflector_environment(source), metrics, change)
    supervisor = Supervisor(
        log(), metrics.task_restarts, lambda: 0.0, lambda _: asyncio.sleep(0), lambda: 0.0
    )
    task = asyncio.create_task(supervisor.run("facts", partial(live.run, supervisor.run)))
    async with asyncio.timeout(PATIENCE):
        await live.complete()
        fetching = live.fetch(late(), POLICY, 10.0)
        assert fetching is not None
        waiting = asyncio.ensure_future(fetching)
        await settled(lambda: LATE in source.paths)
        live.follow(WatchedKinds((FLEET,)))
        await settled(lambda: len(changes) == 2)
        answered.set()

        assert (await waiting).owner_selector("shop", REPLICA_SET) is not None
        assert live.facts.owner_selector("shop", OWNER) is not None
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert supervisor.check()["tasks"].detail.startswith("facts restarted once, ")


async def test_a_lookup_in_flight_when_it_stops_is_cancelled() -> None:
    source = cluster()
    live = LiveFacts(NOTHING, reflector_environment(source), Metrics(), lambda: None)

    source.answers[f"GET {LATE}"] = Fault.SILENCE
    async with run(live):
        await live.complete()
        fetching = live.fetch(late(), POLICY, 10.0)
        assert fetching is not None
        await settled(lambda: LATE in source.paths)
    waiting = asyncio.ensure_future(fetching)

    assert (await waiting).owner_selector("shop", REPLICA_SET) is None
    await settled(lambda: len(asyncio.all_tasks()) == 1)
