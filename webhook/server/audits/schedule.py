"""Audits at their time: when the next one begins, and what is shown and told of the last one."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NoReturn, TypeAlias

from webhook.server.audits.election import Clocks
from webhook.server.audits.messages import Done, Failed
from webhook.telemetry.logs import Log, tell_bug
from webhook.telemetry.metrics import Metrics

Run: TypeAlias = Callable[[], Awaitable[Done | Failed]]
"""Makes one audit."""


def pause_after(took_s: float, interval_s: float) -> float:
    """
    Say how long to wait after an audit, in seconds.

    Audits begin an interval apart. In a cluster that takes longer than half of it, the pauses are
    as long as the audits, so that the API server has rest.
    """
    return max(interval_s - took_s, took_s)


class Auditor:
    """Makes one audit after the other, and shows what the last one found."""

    def __init__(
        self, run: Run, interval: timedelta, clocks: Clocks, metrics: Metrics, log: Log
    ) -> None:
        """
        Begin nothing yet.

        Args:
            run: Makes one audit; when it is cancelled, that is given up.
            interval: From the beginning of one to that of the next.
        """
        self._run = run
        self._interval_s = interval.total_seconds()
        self._clocks = clocks
        self._metrics = metrics
        self._log = log
        self._told: tuple[str, ...] = ()

    async def work(self) -> NoReturn:
        """Audit again and again; once cancelled, show nothing any more."""
        self._metrics.audit_leader.set(1)
        try:
            while True:
                took_s = await self._audit()
                await self._clocks.sleep(pause_after(took_s, self._interval_s))
        finally:
            self._metrics.audit_leader.set(0)
            self._metrics.forget_audit()

    async def _audit(self) -> float:
        """Make one audit; gives how long it took, in seconds."""
        begun = self._clocks.now()
        outcome = await self._outcome()
        took_s = self._clocks.now() - begun
        if isinstance(outcome, Failed):
            self._metrics.audits.labels("failure").inc()
            self._log.error("audit", result="failure", says=outcome.says)
            return took_s
        self._metrics.audits.labels("success").inc()
        ended = self._clocks.wall().timestamp()
        self._metrics.show_audit(outcome.exposition, ended, took_s)
        self._log.info(
            "audit",
            result="success",
            seconds=round(took_s, 1),
            workloads=outcome.workloads,
            pods=outcome.pods,
            findings=outcome.findings,
        )
        self._complain(outcome.problems)
        return took_s

    async def _outcome(self) -> Done | Failed:
        """Make one audit; a bug is told, and counts as one that failed."""
        try:
            return await self._run()
        except Exception as error:  # noqa: BLE001  # the next audit may go well
            tell_bug(self._log, error)
            return Failed(f"by a bug of evenspread ({type(error).__name__})")

    def _complain(self, problems: tuple[str, ...]) -> None:
        """Tell what an audit had to leave out, unless that is as the last time."""
        if problems != self._told:
            self._told = problems
            for sentence in problems:
                self._log.warning("audit", says=sentence)
