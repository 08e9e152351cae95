"""How the parts of the audits are put together, as the settings say."""

import asyncio
import secrets
import time
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, NoReturn

from webhook.cluster.source import Sender
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.policy.api.versions import Version
from webhook.server.audits.election import Candidate, Clocks, Election
from webhook.server.audits.messages import Done, Failed, Order
from webhook.server.audits.schedule import Auditor
from webhook.server.audits.subprocess import Audit
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

UNIQUE = 4  # bytes that tell a replica from one of the same name before it; client-go takes a UUID


class Surroundings(NamedTuple):
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

    api: Sender | None
    namespace: str
    replica: str
    lease_s: float
    silence_s: float
    version: Callable[[], Version]
    wall: Callable[[], datetime]
    metrics: Metrics
    log: Log


class Audits:
    """The audits of one replica, made while it holds the Lease."""

    def __init__(self, settings: Settings, api: Sender, around: Surroundings) -> None:
        """Put the parts together."""
        self._settings = settings
        self._version = around.version
        self._audit = Audit(api, around.silence_s)
        clocks = Clocks(time.monotonic, around.wall, asyncio.sleep)
        path = f"/apis/coordination.k8s.io/v1/namespaces/{around.namespace}/leases"
        identity = f"{around.replica}_{secrets.token_hex(UNIQUE)}"
        candidate = Candidate(identity, f"{path}/{settings.name}-audit", around.lease_s)
        self._election = Election(api, candidate, clocks, around.log)
        interval = settings.audit_pause
        assert interval is not None, "else there are no audits"
        self._auditor = Auditor(self._run, interval, clocks, around.metrics, around.log)

    async def run(self) -> NoReturn:
        """Audit while the Lease is held, until cancelled."""
        await self._election.run(self._auditor.work)

    async def _run(self) -> Done | Failed:
        return await self._audit.run(order_of(self._settings, self._version()))


def order_of(settings: Settings, version: Version) -> Order:
    """Say what is to be audited, and by what."""
    reports = settings.policy_reports
    return Order(
        config=settings.config,
        scheduler_config=settings.scheduler_config,
        feature_gates=settings.feature_gates,
        version=str(version),
        allow_locked_gates=settings.allow_locked_gates,
        policy_reports="" if reports == "none" else reports,
        memory=settings.audit_bytes,
    )


def arrange(settings: Settings, around: Surroundings) -> Audits | None:
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
    return Audits(settings, around.api, around)
