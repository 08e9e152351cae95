"""Background tasks: which ends are faults, when a task restarts, and what is logged and counted."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

import pytest

from tests.server.serving import NEW_YEAR, PATIENCE, settled
from webhook.cluster.backoff import FIRST_BACKOFF_S, MAX_BACKOFF_S
from webhook.server.supervisor import HEALTHY_S, Supervisor
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import LogFormat, make_log
from webhook.telemetry.metrics import Metrics

SECRET = "a piece of a body"

Task: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class ServerContext:
    """
    A supervisor, and a clock that goes on whenever it pauses.

    Attributes:
        now: The time, in seconds.
        pauses: How long each pause was, at most.
        asleep: Whether a pause goes on; with ``awake`` cleared it has no end.
    """

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []
        self.asleep = False
        self.awake = asyncio.Event()
        self.awake.set()
        self.metrics = Metrics()
        self._stream = io.BytesIO()
        log = make_log(
            LogFormat.JSON, LineWriter(self._stream, lambda write: write()), lambda: NEW_YEAR
        )
        self.supervisor = Supervisor(
            log, self.metrics.task_restarts, lambda: self.now, self.sleep, lambda: 1.0
        )

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        self.asleep = True
        await self.awake.wait()
        self.asleep = False

    def restarts(self, task: str) -> float | None:
        labels = {"task": task}
        return self.metrics.registry.get_sample_value("evenspread_task_restarts_total", labels)

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    @property
    def text(self) -> str:
        return self._stream.getvalue().decode()

    @property
    def detail(self) -> str:
        (condition,) = self.supervisor.check().values()
        assert condition.ok, "no background task makes a server unready"
        return condition.detail

    @asynccontextmanager
    async def running(self, name: str, start: Task) -> AsyncGenerator[asyncio.Task[None]]:
        task = asyncio.create_task(self.supervisor.run(name, start))
        try:
            async with asyncio.timeout(PATIENCE):
                yield task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert len(asyncio.all_tasks()) == 1


class Failing:
    """A task with a given end for each of its first starts; later ones run on."""

    def __init__(self, *ends: Task) -> None:
        self.starts = 0
        self._ends = list(ends)

    async def __call__(self) -> None:
        self.starts += 1
        if self._ends:
            await self._ends.pop(0)()
        await asyncio.Event().wait()


async def fail() -> None:
    raise ValueError(SECRET)


async def fail_late() -> None:
    await asyncio.sleep(0)
    raise ValueError(SECRET)


async def fail_in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(fail_late())


async def fail_in_groups() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(fail_in_a_group())


async def cancel_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def raise_a_cancellation() -> None:
    raise asyncio.CancelledError(SECRET)


async def recurse() -> None:
    raise RecursionError


async def run_out_of_memory() -> None:
    raise MemoryError


async def raise_no_exception() -> None:
    raise GeneratorExit(SECRET)


FAULTS: dict[str, tuple[Task, str, str]] = {
    "an exception": (fail, "ValueError", "fail"),
    "an exception after a while": (fail_late, "ValueError", "fail_late"),
    "a group": (fail_in_a_group, "ValueError", "fail_late"),
    "a group in a group": (fail_in_groups, "ValueError", "fail_late"),
    "a cancellation from elsewhere": (cancel_itself, "CancelledError", "cancel_itself"),
    "a cancellation that is raised": (
        raise_a_cancellation,
        "CancelledError",
        "raise_a_cancellation",
    ),
    "too deep a recursion": (recurse, "RecursionError", "recurse"),
    "no memory": (run_out_of_memory, "MemoryError", "run_out_of_memory"),
    "what is not even an Exception": (raise_no_exception, "GeneratorExit", "raise_no_exception"),
}


@pytest.mark.parametrize(("end", "error", "where"), FAULTS.values(), ids=FAULTS)
async def test_a_fault_is_reported_counted_shown_and_the_task_restarted(
    end: Task, error: str, where: str
) -> None:
    world, task = ServerContext(), Failing(end)

    async with world.running("reload", task):
        await settled(lambda: task.starts == 2)
        world.now += 5

        assert (
            world.detail == f"reload restarted once, last {FIRST_BACKOFF_S + 5:.0f} s ago: {error}"
        )
        assert world.restarts("reload") == 1
    (line,) = world.log
    assert (line["event"], line["level"], line["error"], line["task"]) == (
        "bug",
        "error",
        error,
        "reload",
    )
    assert f" {where}" in "".join(line["at"])
    assert SECRET not in world.text


async def test_a_factory_that_fails_is_a_fault_too() -> None:
    world, starts = ServerContext(), list[int]()

    def start() -> Coroutine[Any, Any, None]:
        starts.append(1)
        raise ValueError

    async with world.running("reload", start):
        await settled(lambda: len(starts) > 2)

    assert "reload restarted" in world.detail


async def test_a_task_that_returns_is_finished() -> None:
    world = ServerContext()

    async def finish() -> None:
        await asyncio.sleep(0)

    async with world.running("greeting", finish) as task:
        await task

    assert world.restarts("greeting") == 0
    assert (world.log, world.detail, world.pauses) == ([], "", [])


async def test_the_tasks_of_a_server_have_different_names() -> None:
    world = ServerContext()
    first, second = Failing(fail, fail), Failing(recurse)

    async with world.running("reload", first):
        await settled(lambda: first.starts == 3)
    async with world.running("reflector Service", second):
        await settled(lambda: second.starts == 2)

    assert (world.restarts("reload"), world.restarts("reflector Service")) == (2, 1)
    assert world.detail == (
        "reload restarted 2 times, last 2 s ago: ValueError; "
        "reflector Service restarted once, last 1 s ago: RecursionError"
    )


async def test_pauses_grow_to_their_bound_and_start_over_after_a_task_that_lasted() -> None:
    world = ServerContext()

    async def last() -> None:
        world.now += HEALTHY_S
        raise ValueError

    task = Failing(*[fail] * 8, last, fail)
    async with world.running("reload", task):
        await settled(lambda: task.starts == 11)

    assert world.pauses[:3] == [FIRST_BACKOFF_S, 2 * FIRST_BACKOFF_S, 4 * FIRST_BACKOFF_S]
    assert world.pauses[7] == MAX_BACKOFF_S
    assert world.pauses[8:] == [FIRST_BACKOFF_S, 2 * FIRST_BACKOFF_S]


async def test_stopping_during_a_pause_restarts_nothing() -> None:
    world, task = ServerContext(), Failing(fail)
    world.awake.clear()

    async with world.running("reload", task) as running:
        await settled(lambda: world.asleep)
        running.cancel()
        await settled(running.done)

    assert running.cancelled()
    assert task.starts == 1


async def test_stopping_waits_for_the_end_of_a_task_and_is_no_fault() -> None:
    world, ended = ServerContext(), list[str]()

    async def tidy_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("tidied up")

    task = Failing(tidy_up)
    async with world.running("election", task) as running:
        await settled(lambda: task.starts == 1)
        running.cancel()
        await settled(running.done)

    assert running.cancelled()
    assert ended == ["tidied up"]
    assert (world.log, world.restarts("election")) == ([], 0)


async def test_a_fault_while_stopping_is_reported_and_restarts_nothing() -> None:
    world = ServerContext()

    async def tidy_up_badly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError(SECRET)

    task = Failing(tidy_up_badly)
    async with world.running("election", task) as running:
        await settled(lambda: task.starts == 1)
        running.cancel()
        await settled(running.done)

    assert running.cancelled()
    assert [line["error"] for line in world.log] == ["ValueError"]
    assert (task.starts, world.restarts("election")) == (1, 0)


async def test_a_task_can_be_found_by_its_name() -> None:
    world, task = ServerContext(), Failing()

    async with world.running("reflector Service", task):
        await settled(lambda: task.starts == 1)

        assert "reflector Service" in {task.get_name() for task in asyncio.all_tasks()}
