"""SpreadPolicies of a cluster, followed from the first list on."""

import asyncio
import io
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.apiserver import ApiServer, Json, refuse
from tests.background import working
from tests.cluster.environment import reflector_environment, unsupervised
from tests.server.serving import PATIENCE, logged, server_context, settled
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.errors import CombinedConfigError
from webhook.server.events import EventRecorder, TaskObservers
from webhook.server.policies import PolicyWatcher, read_policy_files

KIND = "SpreadPolicy.evenspread.io"


def policy(name: str, order: Any = 0, version: str = "v1alpha1") -> Json:
    return {
        "apiVersion": f"evenspread.io/{version}",
        "kind": "SpreadPolicy",
        "metadata": {"name": name},
        "spec": {"order": order, "defaultConstraints": []},
    }


class Watched:
    """A watcher of the policies of an API server, and what it put in force and reported."""

    def __init__(self, server: ApiServer, *, alone: bool = False) -> None:
        self._stream = io.BytesIO()
        self.server = server
        self.context = server_context(self._stream, namespace="ns")
        self.events = EventRecorder(server, self.context)
        self.calls: list[dict[str, int]] = []
        self.error: Exception | None = None
        observers = TaskObservers(self.context.metrics, self.context.log, self.events)
        environment = replace(reflector_environment(server), sleep=lambda _: asyncio.sleep(0))
        self.watcher = PolicyWatcher(environment, observers, self.enforce, alone=alone)

    def enforce(self, policies: Iterable[SpreadPolicy]) -> None:
        error, self.error = self.error, None
        if error is not None:
            raise error
        self.calls.append({found.name: found.order for found in policies})

    @property
    def messages(self) -> list[str]:
        return [line["message"] for line in logged(self._stream)]

    @property
    def skipped(self) -> float:
        labels = {"kind": KIND, "reason": "shape"}
        read = self.context.metrics.registry.get_sample_value
        return read("evenspread_objects_skipped_total", labels) or 0

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with asyncio.timeout(PATIENCE):
            await self.watcher.start()
            async with working(self.watcher.run(unsupervised)):
                yield

    async def put(self, obj: Json) -> None:
        """Change an object, and wait until the change is in force."""
        before = len(self.calls)
        self.server.add(obj)
        await settled(lambda: len(self.calls) > before)


async def test_the_policies_of_the_first_list_are_in_force_after_the_start() -> None:
    watched = Watched(ApiServer(policy("b", 2), policy("a", 1)))
    async with asyncio.timeout(PATIENCE):
        await watched.watcher.start()

    assert watched.calls == [{"a": 1, "b": 2}]
    assert watched.watcher.reflector.synced.is_set()
    assert len(asyncio.all_tasks()) == 1


async def test_without_the_kind_there_are_no_policies_until_it_appears() -> None:
    watched = Watched(ApiServer())
    async with watched.running():
        assert watched.calls == [{}]

        await watched.put(policy("a", 1))

    assert watched.calls[-1] == {"a": 1}


async def test_without_the_kind_and_other_profiles_it_says_once_that_none_is_in_force() -> None:
    alone, beside = Watched(ApiServer(), alone=True), Watched(ApiServer())
    for watched in (alone, beside):
        async with watched.running():
            await watched.put(policy("a", 1))

    (message,) = alone.messages
    assert message.startswith("no profile is in force: the API server does not have SpreadPolicies")
    assert beside.messages == []


async def test_with_the_kind_and_without_policies_nothing_is_reported() -> None:
    server = ApiServer(policy("a", 1))
    path = next(path for path in server.objects if path.endswith("/a"))
    await server.send("DELETE", path)
    watched = Watched(server, alone=True)
    async with asyncio.timeout(PATIENCE):
        await watched.watcher.start()

    assert (watched.calls, watched.messages) == ([{}], [])


async def test_every_change_is_put_in_force() -> None:
    watched = Watched(ApiServer(policy("a", 1)))
    async with watched.running():
        await watched.put(policy("b", 2))
        await watched.put(policy("a", 3))
        path = next(path for path in watched.server.objects if path.endswith("/b"))
        await watched.server.send("DELETE", path)
        await settled(lambda: watched.calls[-1] == {"a": 3})

    assert watched.messages == []


async def test_a_policy_that_cannot_be_read_leaves_the_version_before_it_in_force() -> None:
    watched = Watched(ApiServer(policy("a", 1)))
    async with watched.running():
        await watched.put(policy("a", "x"))
        await watched.put(policy("b", 5))
        await watched.put(policy("new", "y"))
        assert watched.calls[-1] == {"a": 1, "b": 5}

        await watched.put(policy("a", 2))
        await watched.put(policy("a", "x"))

    unreadable = "spec.order: must be a whole number, not"
    stays = f"SpreadPolicy 'a': {unreadable} 'x'; the version before it stays in force"
    assert watched.messages == [
        stays,
        f"SpreadPolicy 'new': {unreadable} 'y'; it is not used",
        stays,
    ]
    assert watched.skipped == 3


async def test_policies_are_known_as_the_api_server_has_them() -> None:
    watched = Watched(ApiServer(policy("a", 1), policy("b", "x")))
    async with watched.running():
        found = {thing.name: thing for thing in watched.watcher.objects}

    assert {name: bool(thing.problem) for name, thing in found.items()} == {"a": False, "b": True}


async def test_several_problems_of_a_policy_are_counted() -> None:
    broken = policy("a", "x")
    broken["spec"] |= {"merge": "Never", "gangs": 5}
    watched = Watched(ApiServer(broken))
    async with watched.running():
        pass

    (message,) = watched.messages
    assert "(and 2 more)" in message


async def test_policies_of_another_version_are_not_used() -> None:
    watched = Watched(ApiServer(policy("a", 1, "v2")))
    async with watched.running():
        pass

    assert watched.calls == [{}]
    (message,) = watched.messages
    assert message.startswith("SpreadPolicy 'a': apiVersion: cannot be 'evenspread.io/v2': ")


async def test_the_known_version_is_read_beside_another_one() -> None:
    server = ApiServer(policy("other", 1, "v2"), policy("a", 1))
    watched = Watched(server)
    async with watched.running():
        pass

    assert watched.calls == [{"a": 1}]


async def test_a_problem_is_an_event() -> None:
    watched = Watched(ApiServer(policy("a", "x")))
    async with watched.running(), working(watched.events.run()):
        await settled(lambda: bool(watched.server.writes))

    (written,) = watched.server.writes
    assert written.content["reason"] == "SpreadPolicyInvalid"
    assert written.content["message"].startswith("SpreadPolicy 'a': spec.order: ")


async def test_the_start_waits_for_a_list_that_is_refused_at_first() -> None:
    server = ApiServer(policy("a", 1))
    server.script("/apis", refuse("not yet", 403), refuse("not yet", 503))
    watched = Watched(server)
    async with asyncio.timeout(PATIENCE):
        await watched.watcher.start()

    assert watched.calls == [{"a": 1}]


async def test_without_the_right_to_list_them_none_is_in_force_until_it_is_granted() -> None:
    watched = Watched(ApiServer(policy("a", 1)))
    path = "GET /apis/evenspread.io/v1alpha1/spreadpolicies"
    watched.server.answers[path] = refuse("spreadpolicies is forbidden")
    async with watched.running():
        assert watched.calls == [{}]
        assert not watched.watcher.reflector.resource.required

        del watched.server.answers[path]
        await settled(lambda: watched.calls[-1] == {"a": 1})

    (message,) = watched.messages
    assert message.startswith("SpreadPolicies do not count: ")
    assert "spreadpolicies is forbidden; grant the verbs list and watch" in message


async def test_a_start_that_is_cancelled_leaves_no_task() -> None:
    server = ApiServer()
    server.otherwise = refuse("never", 503)
    starting = asyncio.create_task(Watched(server).watcher.start())
    await settled(lambda: len(server.requests) > 1)
    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting
    assert len(asyncio.all_tasks()) == 1


async def test_a_bug_while_listing_ends_the_start() -> None:
    server = ApiServer()

    def fail(_: object) -> None:
        raise ZeroDivisionError

    server.faults.append(fail)

    with pytest.raises(ZeroDivisionError):
        await Watched(server).watcher.start()


async def test_a_change_that_fails_is_put_in_force_after_a_restart() -> None:
    watched = Watched(ApiServer(policy("a", 1)))
    await watched.watcher.start()
    watched.error = ZeroDivisionError()
    watched.server.add(policy("a", 2))
    with pytest.raises(ExceptionGroup):
        await watched.watcher.run(unsupervised)

    async with working(watched.watcher.run(unsupervised)):
        await settled(lambda: watched.calls[-1] == {"a": 2})


def test_policies_of_files_are_read_once_without_a_cluster(tmp_path: Path) -> None:
    for name, order in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(policy(name, order)))
    (tmp_path / "c.json").write_text("{")

    found = read_policy_files([str(tmp_path)])

    assert {one.name: one.order for one in found} == {"a": 1, "b": 2}


def test_a_policy_of_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(msgspec.json.encode(policy("a", "first")))

    with pytest.raises(CombinedConfigError, match="order"):
        read_policy_files([str(file)])
