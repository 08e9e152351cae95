"""
The schedule of audits: when the next one begins, and how the result of the last one is reported.

``build_audits`` is the entry point. The audit itself runs in a process of its own
(``AuditProcess``); ``server.leader`` decides which replica makes audits.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple, NoReturn, TypeAlias

from webhook.errors import ConfigError
from webhook.policy.advice.findings import join_names
from webhook.policy.defaulting.policystatus import PolicyCounts
from webhook.policy.defaulting.profiles import Profile
from webhook.server.audits.messages import AuditFailure, AuditOrder, AuditResult
from webhook.server.audits.subprocess import COMMAND, AuditProcess
from webhook.server.context import ServerContext
from webhook.server.election import Clocks, Work
from webhook.server.events import EventRecorder, TaskObservers
from webhook.server.reload import PolicySources
from webhook.telemetry.logs import log_bug

RunAudit: TypeAlias = Callable[[], Awaitable[AuditResult | AuditFailure]]
"""Runs one audit."""

Publish: TypeAlias = Callable[[Mapping[str, PolicyCounts]], object]
"""Takes what an audit counts of each profile, by its name."""

NAMESPACES_NAMED = 5  # namespaces in one message; the metric has their number


class AuditedPolicy(NamedTuple):
    """
    The policy that an audit applies.

    Attributes:
        sources: Of the policy, except for its profiles.
        profiles: In force, also those of SpreadPolicies.
    """

    sources: PolicySources
    profiles: tuple[Profile, ...]


def pause_after(took_s: float, interval_s: float) -> float:
    """
    Compute the pause after an audit, in seconds.

    Audits begin an interval apart. If they take longer than half of it, the pauses are as long as
    the audits, so that the API server is idle half of the time.
    """
    return max(interval_s - took_s, took_s)


class AuditSchedule:
    """Runs one audit after the other and reports each result."""

    def __init__(
        self, run: RunAudit, interval: timedelta, clocks: Clocks, observers: TaskObservers
    ) -> None:
        """
        Start no audit yet.

        Args:
            run: Runs one audit; cancelling it ends that audit.
            interval: From the beginning of one audit to the beginning of the next.
        """
        self._run = run
        self._interval_s = interval.total_seconds()
        self._clocks = clocks
        self._observers = observers
        self._metrics, self._log = observers.metrics, observers.log
        self._logged_problems: tuple[str, ...] = ()
        self._left_out: tuple[str, ...] = ()

    async def work(self) -> NoReturn:
        """Run audits until cancelled; then expose no audit any more."""
        self._metrics.audit_leader.set(1)
        try:
            while True:
                took_s = await self._audit()
                await self._clocks.sleep(pause_after(took_s, self._interval_s))
        finally:
            self._metrics.audit_leader.set(0)
            self._metrics.forget_audit()

    async def _audit(self) -> float:
        """Run one audit and report it; returns its duration in seconds."""
        begun = self._clocks.now()
        result = await self._try()
        took_s = self._clocks.now() - begun
        if isinstance(result, AuditFailure):
            self._metrics.audits.labels("failure").inc()
            self._log.error("audit", result="failure", message=result.problem)
            return took_s
        self._metrics.audits.labels("success").inc()
        self._metrics.show_audit(result.exposition, self._clocks.wall().timestamp(), took_s)
        self._log.info(
            "audit",
            result="success",
            seconds=round(took_s, 1),
            workloads=result.workloads,
            pods=result.pods,
            findings=result.findings,
        )
        if result.left_out != self._left_out:
            self._left_out = result.left_out
            if result.left_out:
                self._report_left_out(result.left_out)
        if result.problems != self._logged_problems:
            self._logged_problems = result.problems
            for problem in result.problems:
                self._log.warning("audit", message=problem)
        return took_s

    def _report_left_out(self, namespaces: tuple[str, ...]) -> None:
        named = join_names(namespaces, most=NAMESPACES_NAMED)
        message = (
            f"left out {named}, which need more memory than an audit may use: allow more by "
            "--audit-memory"
        )
        self._observers.warn("audit", "AuditIncomplete", message)

    async def _try(self) -> AuditResult | AuditFailure:
        """Run one audit; a bug is logged, and counts as a failure."""
        try:
            return await self._run()
        except Exception as error:  # noqa: BLE001  # the next audit may succeed
            log_bug(self._log, error)
            return AuditFailure(f"by a bug of evenspread ({type(error).__name__})")


def build_audits(
    context: ServerContext,
    policy: Callable[[], AuditedPolicy],
    publish: Publish,
    events: EventRecorder | None = None,
    command: Sequence[str] = COMMAND,
) -> Work | None:
    """
    Build the work of a replica that makes audits.

    Args:
        policy: Gives the policy in force.
        publish: Called with the counts of each audit that succeeds.
        events: Records incomplete audits.
        command: Carries out an order.

    Returns:
        None if the settings require no audits.

    Raises:
        ConfigError: The settings contradict each other.
    """
    settings, limits, api = context.settings, context.limits, context.api
    interval, reports = settings.audit_pause, settings.policy_reports
    if interval is None:
        if reports != "none":
            raise ConfigError("are written by audits: add --audit-interval", "--policy-reports")
        return None
    if api is None:
        raise ConfigError("needs a cluster: leave it out with --standalone", "--audit-interval")
    if not context.namespace:
        problem = "is needed for the Lease of --audit-interval, outside of a pod"
        raise ConfigError(problem, "--namespace")
    process = AuditProcess(api, limits.audit_silence, command)
    group = "" if reports == "none" else reports

    async def audit() -> AuditResult | AuditFailure:
        result = await process.run(AuditOrder(*policy(), group, settings.audit_bytes))
        if isinstance(result, AuditResult):
            publish(result.counts)
        return result

    observers = TaskObservers(context.metrics, context.log, events)
    clocks = Clocks(time.monotonic, context.now, asyncio.sleep)
    return AuditSchedule(audit, interval, clocks, observers).work
