"""Audits at their time: when the next one begins, and what is shown and told of the last one."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import NamedTuple, NoReturn, TypeAlias

from webhook.cluster.protocol import ApiClient
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.policy.api.versions import Version
from webhook.server.audits.election import Candidate, Clocks, Election
from webhook.server.audits.messages import AuditFailure, AuditOrder, AuditResult
from webhook.server.audits.subprocess import AuditProcess
from webhook.telemetry.logs import Log, log_bug
from webhook.telemetry.metrics import Metrics

RunAudit: TypeAlias = Callable[[], Awaitable[AuditResult | AuditFailure]]
"""Makes one audit."""


def pause_after(took_s: float, interval_s: float) -> float:
    """
    Say how long to wait after an audit, in seconds.

    Audits begin an interval apart. In a cluster that takes longer than half of it, the pauses are
    as long as the audits, so that the API server has rest.
    """
    return max(interval_s - took_s, took_s)


class AuditSchedule:
    """Makes one audit after the other, and shows what the last one found."""

    def __init__(
        self, run: RunAudit, interval: timedelta, clocks: Clocks, metrics: Metrics, log: Log
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
        if isinstance(outcome, AuditFailure):
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

    async def _outcome(self) -> AuditResult | AuditFailure:
        """Make one audit; a bug is told, and counts as one that failed."""
        try:
            return await self._run()
        except Exception as error:  # noqa: BLE001  # the next audit may go well
            log_bug(self._log, error)
            return AuditFailure(f"by a bug of evenspread ({type(error).__name__})")

    def _complain(self, problems: tuple[str, ...]) -> None:
        """Tell what an audit had to leave out, unless that is as the last time."""
        if problems != self._told:
            self._told = problems
            for sentence in problems:
                self._log.warning("audit", says=sentence)


UNIQUE = 4  # bytes that tell a replica from one of the same name before it; client-go takes a UUID


class AuditContext(NamedTuple):
    """
    What audits need of the server.

    Attributes:
        api: None without a cluster.
        namespace: Of the Lease; empty if nobody said.
        replica: The name of this one.
        lease_s: The duration of the Lease.
        silence_s: Seconds without a message, after which the process that audits is ended.
        version: Gives the Kubernetes version that is judged by now.
        wall: The wall clock: aware, UTC.
    """

    api: ApiClient | None
    namespace: str
    replica: str
    lease_s: float
    silence_s: float
    version: Callable[[], Version]
    wall: Callable[[], datetime]
    metrics: Metrics
    log: Log


class ScheduledAudits:
    """The audits of one replica, made while it holds the Lease."""

    def __init__(self, settings: Settings, api: ApiClient, around: AuditContext) -> None:
        """Put the parts together."""
        self._settings = settings
        self._version = around.version
        self._audit = AuditProcess(api, around.silence_s)
        clocks = Clocks(time.monotonic, around.wall, asyncio.sleep)
        path = f"/apis/coordination.k8s.io/v1/namespaces/{around.namespace}/leases"
        identity = f"{around.replica}_{secrets.token_hex(UNIQUE)}"
        candidate = Candidate(identity, f"{path}/{settings.name}-audit", around.lease_s)
        self._election = Election(api, candidate, clocks, around.log)
        interval = settings.audit_pause
        assert interval is not None, "else there are no audits"
        self._auditor = AuditSchedule(self._run, interval, clocks, around.metrics, around.log)

    async def run(self) -> NoReturn:
        """Audit while the Lease is held, until cancelled."""
        await self._election.run(self._auditor.work)

    async def _run(self) -> AuditResult | AuditFailure:
        return await self._audit.run(build_order(self._settings, self._version()))


def build_order(settings: Settings, version: Version) -> AuditOrder:
    """Say what is to be audited, and by what."""
    reports = settings.policy_reports
    return AuditOrder(
        config=settings.config,
        scheduler_config=settings.scheduler_config,
        feature_gates=settings.feature_gates,
        version=str(version),
        allow_locked_gates=settings.allow_locked_gates,
        policy_reports="" if reports == "none" else reports,
        memory=settings.audit_bytes,
    )


def build_audits(settings: Settings, around: AuditContext) -> ScheduledAudits | None:
    """
    Arrange the audits that the settings ask for; None if they ask for none.

    Raises:
        ConfigError: The settings do not fit together.
    """
    if settings.audit_pause is None:
        if settings.policy_reports != "none":
            raise ConfigError("are written by audits: add --audit-interval", "--policy-reports")
        return None
    if around.api is None:
        raise ConfigError("is for a cluster: leave it out with --standalone", "--audit-interval")
    if not around.namespace:
        problem = "is needed for the Lease of --audit-interval, outside of a pod"
        raise ConfigError(problem, "--namespace")
    return ScheduledAudits(settings, around.api, around)
