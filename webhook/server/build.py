"""
The parts of a server, built from its settings.

``Monitoring.create`` builds what the health listener needs, and ``build`` builds everything else
once the API server answers. Nothing built here runs yet: ``run`` starts and stops the parts, and
passes in the clock.
"""

import asyncio
import random
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from certs.serving import LiveContext
from certs.source import CertificateSource, Notice, SourceEnvironment
from webhook import __version__
from webhook.cluster.caches import Start
from webhook.config import Configuration
from webhook.config.kinds import OwnerSelector
from webhook.config.settings import Settings
from webhook.policy.api.versions import NEWEST_VERSION, Version, parse_version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.probe import build_probe_verdict
from webhook.server.admission import Admission, Observers, ReviewContext
from webhook.server.apiserver import (
    build_reflector_environment,
    follow_version,
    wait_for_version,
    warn_if_newer,
)
from webhook.server.audits.schedule import AuditContext, build_audits
from webhook.server.certificate import (
    CertificateContext,
    admitted_clients,
    certificate_source,
    check_certificate,
    expose_certificate,
)
from webhook.server.enforcement import Enforcement, report_reload
from webhook.server.events import EventContext, EventRecorder
from webhook.server.facts import FactsSource, FileFacts, LiveFacts
from webhook.server.health import Conditions, Health, Phase, Readiness, ReadinessCondition
from webhook.server.http.limits import Limits
from webhook.server.reload import ConfigurationWatcher, PolicySources, read_policy
from webhook.server.supervisor import Supervisor
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from webhook.cluster.client import Api

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

Clock: TypeAlias = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContext:
    """
    What the parts are built from.

    Attributes:
        configuration: The configuration as read at the start.
        api: None without a cluster.
        now: The wall clock: aware, UTC.
        listener: Host and port at which this machine reaches the admission listener.
    """

    settings: Settings
    configuration: Configuration
    limits: Limits
    api: "Api | None"
    log: Log
    verdict_log: VerdictLog
    now: Clock
    listener: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Monitoring:
    """The parts that exist before the API server answers: enough for the health listener."""

    metrics: Metrics
    readiness: Readiness
    health: Health
    supervisor: Supervisor

    @classmethod
    def create(cls, context: ServerContext) -> "Monitoring":
        """Build them; inside a running event loop."""
        metrics, readiness = Metrics(), Readiness()
        supervisor = Supervisor(
            context.log, metrics.task_restarts, time.monotonic, asyncio.sleep, random.random
        )
        health = Health(readiness.check, metrics, context.limits)
        return cls(metrics, readiness, health, supervisor)


@dataclass(frozen=True, slots=True)
class Server:
    """
    A server whose parts are all there.

    Attributes:
        watcher: Watches the configuration files.
        events: None without a cluster.
        audits: The task that makes audits; None if the settings require none.
    """

    context: ServerContext
    monitoring: Monitoring
    admission: Admission
    certificate: CertificateSource
    facts: FactsSource
    enforcement: Enforcement
    watcher: ConfigurationWatcher
    events: EventRecorder | None
    audits: Start | None

    def background(self) -> Iterator[tuple[str, Start]]:
        """List the tasks that run as long as the server does, each with its name."""
        limits, api = self.context.limits, self.context.api
        yield "certificate", self.certificate.run
        yield "facts", partial(self.facts.run, self.monitoring.supervisor.run)
        yield "reload", partial(self.watcher.run, limits.config_poll)
        yield "advice", self._advise_once_complete
        yield "stalled connections", self._cut_stalled
        if self.events is not None:
            yield "events", self.events.run
        if self.audits is not None:
            yield "election", self.audits
        if api is not None and not self.context.settings.kube_version:
            use = self.watcher.use_version
            yield "version", partial(follow_version, api, limits.version_poll, use)

    async def _advise_once_complete(self) -> None:
        await self.facts.complete()
        if self.context.api is not None:
            self.enforcement.advise()

    async def _cut_stalled(self) -> None:
        while True:
            await asyncio.sleep(self.context.limits.stalled_reply)
            self.admission.cut_stalled()


async def build(context: ServerContext, monitoring: Monitoring) -> Server:
    """
    Build a server; waits for the API server's version and for the first certificate.

    Raises:
        ConfigError: Settings or configuration cannot be used.
        ApiError: There are no usable credentials for the cluster.
        CertError: There is no certificate to serve.
    """
    settings, log, metrics = context.settings, context.log, monitoring.metrics
    readiness = monitoring.readiness
    live = LiveContext(admitted_clients(settings))
    certificate = _build_certificate(context, live, metrics)
    version = await _find_version(context)
    sources = _policy_sources(settings, version)
    configuration, policy = read_policy(sources)

    # Watcher and facts call ``enforcement`` only after the start, when it is there.
    def enforce(configuration: Configuration, policy: Policy) -> None:
        enforcement.apply_policy(configuration, policy)

    def use_current_facts() -> None:
        enforcement.use_current_facts()

    events = _build_events(context)
    report = partial(report_reload, metrics=metrics, log=log, events=events)
    watcher = ConfigurationWatcher(sources, configuration, enforce, report)
    readiness.add(partial(_check_configuration, watcher))
    readiness.phase = Phase.CERTIFYING
    readiness.add(partial(check_certificate, certificate))
    await certificate.start()
    owners = configuration.owner_selectors
    facts = _build_facts(context, owners, version, metrics, use_current_facts)
    readiness.add(facts.check)
    readiness.add(monitoring.supervisor.check)
    admission = _build_admission(context, policy, facts, metrics, live)
    enforcement = Enforcement(admission, facts, metrics, log)
    audits = build_audits(settings, _audit_context(context, enforcement, metrics))
    metrics.config_valid.set(1)
    enforcement.apply_policy(configuration, policy)
    for message in configuration.notices:
        log.warning("configuration", says=message)
    return Server(
        context, monitoring, admission, certificate, facts, enforcement, watcher, events, audits
    )


def replica_name(settings: Settings) -> str:
    """The name of this replica: as set, else the host name, which in a pod is the pod's name."""
    return settings.replica or socket.gethostname()


def own_namespace(settings: Settings) -> str:
    """The namespace that this replica runs in; empty if neither settings nor a pod name it."""
    try:
        return settings.namespace or NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _check_configuration(watcher: ConfigurationWatcher) -> Conditions:
    """Report an invalid newer version; the server stays ready, by the one in force."""
    detail = "" if watcher.valid else "the files were changed, and are invalid"
    return {"configuration": ReadinessCondition(ok=True, detail=detail)}


async def _find_version(context: ServerContext) -> Version:
    text = context.settings.kube_version
    if text:
        warn_if_newer(version := parse_version(text), context.log)
        return version
    return (
        NEWEST_VERSION if context.api is None else await wait_for_version(context.api, context.log)
    )


def _policy_sources(settings: Settings, version: Version) -> PolicySources:
    return PolicySources(
        config=settings.config,
        scheduler_config=settings.scheduler_config,
        feature_gates=settings.feature_gates,
        version=version,
        allow_locked_gates=settings.allow_locked_gates,
        least_overlap=settings.least_overlap,
        validates_pods=settings.validates_pods,
    )


def _build_certificate(
    context: ServerContext, live: LiveContext, metrics: Metrics
) -> CertificateSource:
    settings, log = context.settings, context.log

    def report(notice: Notice) -> None:
        result = "success" if notice.ok else "failure"
        metrics.rotations.labels(notice.subject, result).inc()
        (log.info if notice.ok else log.warning)("certificate", says=notice.text)

    outside = SourceEnvironment(
        clock=context.now, sleep=asyncio.sleep, report=report, jitter=random.random
    )
    place = CertificateContext(
        client=context.api,
        namespace=own_namespace(settings),
        overlap=context.configuration.ca_overlap,
        listener=context.listener,
        poll=context.limits.certificate_poll,
    )
    source = certificate_source(settings, live, outside, place)
    expose_certificate(source, settings, metrics)
    return source


def _build_facts(
    context: ServerContext,
    owners: tuple[OwnerSelector, ...],
    version: Version,
    metrics: Metrics,
    changed: Callable[[], None],
) -> FactsSource:
    if context.api is None:
        return FileFacts(context.settings.cluster, owners, metrics, context.log, changed)
    environment = build_reflector_environment(context.api, version, metrics, context.log)
    return LiveFacts(owners, environment, metrics, changed)


def _build_admission(
    context: ServerContext, policy: Policy, facts: FactsSource, metrics: Metrics, live: LiveContext
) -> Admission:
    probe_verdict = build_probe_verdict(__version__, replica_name(context.settings))
    review = ReviewContext(policy, facts.facts, facts.fetch, probe_verdict, facts.freeze)
    observers = Observers(metrics, context.log, context.verdict_log)
    return Admission(review, context.limits, observers, live.context, live.clients)


def _build_events(context: ServerContext) -> EventRecorder | None:
    settings, namespace = context.settings, own_namespace(context.settings)
    if context.api is None or not namespace:
        return None
    about = EventContext(namespace, settings.name, replica_name(settings))
    return EventRecorder(context.api, about, context.now, context.log)


def _audit_context(
    context: ServerContext, enforcement: Enforcement, metrics: Metrics
) -> AuditContext:
    return AuditContext(
        api=context.api,
        namespace=own_namespace(context.settings),
        replica=replica_name(context.settings),
        lease_s=context.limits.audit_lease,
        silence_s=context.limits.audit_silence,
        version=lambda: enforcement.version,
        wall=context.now,
        metrics=metrics,
        log=context.log,
    )
