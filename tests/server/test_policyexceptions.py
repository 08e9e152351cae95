"""SpreadPolicyExceptions of a cluster, followed as long as a server runs."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.apiserver import ApiServer, Json, refuse
from tests.background import working
from tests.cluster.environment import reflector_environment
from tests.server.serving import PATIENCE, server_context, settled
from webhook.cluster.discovery import SkippedObject
from webhook.server.events import EventRecorder
from webhook.server.policyexceptions import MOST_EVENTS, ExceptionWatcher

KIND = "SpreadPolicyException.evenspread.io"
END = datetime(2027, 1, 31, tzinfo=UTC)


def policy_exception(name: str, namespace: str = "shop", **spec: Any) -> Json:
    return {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicyException",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"defaults": True, "reason": "old", **spec},
    }


class WatchedExceptions:
    """A watcher of the exceptions of an API server, and what it reported."""

    def __init__(self, server: ApiServer, *, has_events: bool = True) -> None:
        self.server = server
        self.skipped: list[tuple[str, SkippedObject]] = []
        context = server_context(None, namespace="ns")
        self.events = EventRecorder(server, context) if has_events else None
        self.now = datetime(2027, 1, 1, tzinfo=UTC)
        environment = replace(
            reflector_environment(server),
            report_skipped=lambda kind, one: self.skipped.append((kind, one)),
            sleep=lambda _: asyncio.sleep(0),
        )
        self.watcher = ExceptionWatcher(environment, lambda: self.now, self.events)

    @property
    def reasons(self) -> dict[str, str]:
        return {one.name: one.reason for one in self.watcher.store.in_force("shop")}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with asyncio.timeout(PATIENCE):
            await self.watcher.start()
            async with working(self.watcher.reflector.run()):
                yield


async def test_every_change_is_seen() -> None:
    watched = WatchedExceptions(ApiServer(policy_exception("a"), policy_exception("b", "other")))
    async with watched.running():
        assert watched.reasons == {"a": "old"}

        watched.server.add(policy_exception("c", reason="new"))
        await settled(lambda: watched.reasons == {"a": "old", "c": "new"})
        path = next(path for path in watched.server.objects if path.endswith("/a"))
        await watched.server.send("DELETE", path)
        await settled(lambda: watched.reasons == {"c": "new"})


async def test_without_the_kind_there_are_no_exceptions_until_it_appears() -> None:
    watched = WatchedExceptions(ApiServer())
    async with watched.running():
        assert watched.reasons == {}

        watched.server.add(policy_exception("a"))
        await settled(lambda: watched.reasons == {"a": "old"})


async def test_without_the_right_to_list_them_none_counts_until_it_is_granted() -> None:
    watched = WatchedExceptions(ApiServer(policy_exception("a")))
    path = "GET /apis/evenspread.io/v1alpha1/spreadpolicyexceptions"
    watched.server.answers[path] = refuse("spreadpolicyexceptions is forbidden")
    assert watched.events is not None
    async with watched.running(), working(watched.events.run()):
        assert watched.reasons == {}
        await settled(lambda: bool(watched.server.writes))

        del watched.server.answers[path]
        await settled(lambda: watched.reasons == {"a": "old"})

    (written,) = watched.server.writes
    assert written.content["reason"] == "SpreadPolicyExceptionsForbidden"
    assert "spreadpolicyexceptions is forbidden; grant the verbs" in written.content["message"]


async def test_an_end_takes_effect_without_a_change() -> None:
    watched = WatchedExceptions(ApiServer(policy_exception("a", expires=END.isoformat())))
    async with watched.running():
        assert watched.reasons == {"a": "old"}

        watched.now = END
        assert watched.reasons == {}


async def test_of_an_unreadable_exception_the_version_before_it_counts_until_its_end() -> None:
    watched = WatchedExceptions(ApiServer(policy_exception("a", expires=END.isoformat())))
    async with watched.running():
        watched.server.add(policy_exception("a", expires="never"))
        watched.server.add(policy_exception("new", rules=["TSC999"]))
        await settled(lambda: len(watched.skipped) == 2)

        assert watched.reasons == {"a": "old"}
        watched.now = END
        assert watched.reasons == {}
        watched.server.add(policy_exception("a", reason="fixed"))
        await settled(lambda: watched.reasons == {"a": "fixed"})

    assert [(kind, one.namespace, one.name) for kind, one in watched.skipped] == [
        (KIND, "shop", "a"),
        (KIND, "shop", "new"),
    ]
    assert '"TSC999" is no policy rule: write some of TSC101' in watched.skipped[1][1].message


async def test_exceptions_of_another_version_are_not_read() -> None:
    newer = {**policy_exception("newer"), "apiVersion": "evenspread.io/v2"}
    watched = WatchedExceptions(ApiServer(newer, policy_exception("a")))
    async with watched.running():
        assert watched.reasons == {"a": "old"}


async def test_a_skipped_exception_has_one_event_for_each_reason() -> None:
    watched = WatchedExceptions(ApiServer(policy_exception("a", rules=["a\n\x1b[2J"])))
    assert watched.events is not None
    async with watched.running(), working(watched.events.run()):
        watched.server.add(policy_exception("a", rules=["TSC999"]))
        await settled(lambda: len(watched.skipped) >= 2 and bool(watched.server.writes))

    (written,) = watched.server.writes
    assert written.content["reason"] == "SpreadPolicyExceptionSkipped"
    message = written.content["message"]
    assert message.startswith("SpreadPolicyException shop/a: ")
    assert message.isprintable()


async def test_a_tenant_cannot_cause_events_without_end() -> None:
    many = [policy_exception(f"{n:03}", defaults=False) for n in range(MOST_EVENTS + 5)]
    watched = WatchedExceptions(ApiServer(*many))
    assert watched.events is not None
    async with watched.running(), working(watched.events.run()):
        await settled(lambda: len(watched.skipped) >= len(many))
        watched.server.add(policy_exception("last", defaults=False))
        await settled(lambda: len(watched.skipped) > len(many))

    assert len(watched.server.writes) <= MOST_EVENTS


async def test_without_events_the_exception_is_reported_all_the_same() -> None:
    watched = WatchedExceptions(ApiServer(policy_exception("a", defaults=7)), has_events=False)
    async with watched.running():
        await settled(lambda: bool(watched.skipped))

    assert watched.skipped[0][1].name == "a"
    assert watched.server.writes == []
