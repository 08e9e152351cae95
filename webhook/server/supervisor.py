"""
Supervision of background tasks: restart one that failed, with back-off, and report it.

``Supervisor.run`` runs one task. An exception, an exception group, and a cancellation that does not
come from stopping are faults. Each fault is logged with its traceback, counted, and shown in
``/readyz?verbose``. No fault reaches the listeners or makes the server unready.

Expected errors (an API server that answers garbage, an unreadable file) are no faults: the tasks
must handle them themselves.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeGuard

from prometheus_client import Counter

from webhook.cluster.backoff import MAX_BACKOFF_S, Backoff
from webhook.cluster.caches import Start
from webhook.server.health import Conditions, ReadinessCondition
from webhook.telemetry.logs import Log, log_bug

HEALTHY_S = MAX_BACKOFF_S  # a task that ran this long, longer than any pause, restarts its back-off


@dataclass(frozen=True, slots=True)
class TaskFaults:
    """
    The faults of one task.

    Attributes:
        last: The time of the last fault, by the supervisor's clock.
        error: The class name of the last exception.
    """

    number: int
    last: float
    error: str


@dataclass(slots=True)
class Supervisor:
    """
    Runs background tasks, each until it returns or the server stops.

    Attributes:
        restarts: The counter of faults by the name of the task.
        clock: Seconds; never goes back.
        sleep: Waits for a number of seconds.
        jitter: Gives uniformly distributed numbers from 0 to 1.
    """

    log: Log
    restarts: Counter
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    jitter: Callable[[], float]
    _faults: dict[str, TaskFaults] = field(default_factory=dict[str, TaskFaults], init=False)

    async def run(self, name: str, start: Start) -> None:
        """
        Run a task until it returns, and restart it after each fault.

        Cancelling this stops the task and waits for its end.

        Args:
            name: The name of the task in the log, in metrics and in ``/readyz?verbose``.
            start: Creates a new coroutine for each try.
        """
        self.restarts.labels(name)  # expose 0 now, else Prometheus sees no increase at fault 1
        backoff = Backoff(self.jitter, self.sleep)
        while True:
            began = self.clock()
            error = await self._try(name, start)
            if error is None:
                return
            self._report(name, error)
            if self.clock() - began >= HEALTHY_S:
                backoff.reset()
            await backoff.pause()

    def check(self) -> Conditions:
        """List the tasks that were restarted; the condition is always ok."""
        now = self.clock()
        summaries = (_summary(name, faults, now) for name, faults in self._faults.items())
        return {"tasks": ReadinessCondition(ok=True, detail="; ".join(summaries))}

    async def _try(self, name: str, start: Start) -> BaseException | None:
        """Run a task once, in its own asyncio.Task; returns its error, None if it ended well."""
        task = asyncio.create_task(_run(start), name=name)
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:  # ours: the server stops
            task.cancel()
            await asyncio.wait((task,))
            error = _error_of(task)
            if error is not None and not task.cancelled():
                log_bug(self.log, error, task=name)
            raise
        return _error_of(task)

    def _report(self, name: str, error: BaseException) -> None:
        before = self._faults.get(name)
        number = 1 + (before.number if before else 0)
        self._faults[name] = TaskFaults(number, self.clock(), type(error).__name__)
        self.restarts.labels(name).inc()
        log_bug(self.log, error, task=name)


async def _run(start: Start) -> None:
    await start()


def _error_of(task: asyncio.Task[None]) -> BaseException | None:
    """The error of an ended task; of an exception group the first leaf."""
    try:
        task.result()
    except BaseException as raised:  # noqa: BLE001  # a cancellation too
        error = raised
        while _is_group(error):
            error = error.exceptions[0]
        return error
    return None


def _is_group(error: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    return isinstance(error, BaseExceptionGroup)


def _summary(name: str, faults: TaskFaults, now: float) -> str:
    times = "once" if faults.number == 1 else f"{faults.number} times"
    return f"{name} restarted {times}, last {now - faults.last:.0f} s ago: {faults.error}"
