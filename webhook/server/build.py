"""
How the parts of a server are made from its settings, each when those before it stand.

Configuration, version, certificate, facts, admission. Nothing runs yet when they are made; the
order of start and stop is in ``service``, which also hands in the clock.
"""

import asyncio
import random
import socket
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from certs.serving import LiveContext
from certs.source import CertificateSource, Notice, Outside
from webhook import __version__
from webhook.cluster.caches import Start
from webhook.config import Configuration, advise, load
from webhook.config.settings import Settings
from webhook.policy.api.versions import NEWEST_VERSION, Version, parse_version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.probe import presence
from webhook.server import certificate
from webhook.server.admission import Admission, Observers, ReviewContext
from webhook.server.apiserver import (
    follow_version,
    reflector_means,
    wait_for_version,
    warn_if_newer,
)
from webhook.server.audits.schedule import AuditContext, ScheduledAudits, build_audits
from webhook.server.events import EventContext, EventRecorder
from webhook.server.facts import FactsSource, FileFacts, LiveFacts
from webhook.server.health import Conditions, Health, Phase, Readiness, ReadinessCondition
from webhook.server.http.limits import Limits
from webhook.server.reload import ConfigurationWatcher, PolicySources, ReloadResult, read_policy
from webhook.server.supervisor import Supervisor
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from webhook.cluster.client import Api

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

Clock: TypeAlias = Callable[[], datetime]


class ServerContext(NamedTuple):
    """
    What every part may need.

    Attributes:
        api: None without a cluster.
        now: The wall clock: aware, UTC.
        listener: Host and port where this machine reaches the admission listener.
    """

    settings: Settings
    limits: Limits
    api: "Api | None"
    log: Log
    verdicts: VerdictLog
    now: Clock
    listener: tuple[str, int]


class Server:
    """
    A server in the making.

    Attributes:
        metrics: There from the beginning, as are ``readiness``, ``health`` and ``supervisor``.
        admission: There after ``make``, as are all below.
        certificate: Where the certificate comes from.
        knowledge: Where the facts come from.
        follower: What follows the configuration.
        events: None without a cluster.
        audits: None if the settings ask for none.
    """

    admission: Admission
    certificate: CertificateSource
    knowledge: FactsSource
    follower: ConfigurationWatcher
    events: EventRecorder | None = None
    audits: ScheduledAudits | None = None

    def __init__(self, world: ServerContext) -> None:
        """
        Read the configuration.

        Raises:
            ConfigError: What is wrong with it, all of it.
        """
        self._world = world
        settings = world.settings
        self._configuration = load(
            settings.config, settings.scheduler_config, least_overlap=settings.least_overlap
        )
        self.metrics = Metrics()
        self.readiness = Readiness()
        self.health = Health(self.readiness.check, self.metrics, world.limits)
        self.supervisor = Supervisor(
            world.log, self.metrics.task_restarts, time.monotonic, asyncio.sleep, random.random
        )

    async def make(self) -> None:
        """
        Make the other parts, in order; waits for the API server as long as it takes.

        Raises:
            ConfigError: Settings or configuration cannot be used.
            ApiError: There are no usable credentials for the cluster.
            CertError: There is no certificate to serve.
        """
        settings, log = self._world.settings, self._world.log
        live = LiveContext(certificate.admitted_clients(settings))
        self.certificate = self._certificate(live)
        asked = PolicySources(
            settings.config,
            settings.scheduler_config,
            settings.feature_gates,
            await self._version(),
            settings.allow_locked_gates,
            settings.least_overlap,
            settings.validates_pods,
        )
        self._configuration, policy = read_policy(asked)
        self.events = self._events()
        self.follower = ConfigurationWatcher(asked, self._configuration, self._enforce, self._tell)
        self.readiness.add(self._in_force)
        self.readiness.phase = Phase.CERTIFYING
        self.readiness.add(lambda: certificate.check(self.certificate))
        await self.certificate.start()
        self.knowledge = self._knowledge(asked.version)
        self.readiness.add(self.knowledge.check)
        self.readiness.add(self.supervisor.check)
        observers = Observers(self.metrics, log, self._world.verdicts)
        present = presence(__version__, replica_name(settings))
        known = self.knowledge
        grounds = ReviewContext(policy, known.facts, known.fetch, present, known.freeze)
        self.admission = Admission(
            grounds, self._world.limits, observers, live.context, live.clients
        )
        self.audits = self._audits()
        self.metrics.config_valid.set(1)
        self._enforce(self._configuration, policy)
        for sentence in self._configuration.notices:
            log.warning("configuration", says=sentence)

    def background(self) -> Iterator[tuple[str, Start]]:
        """Give all that runs as long as the server does: each task, and its name."""
        limits = self._world.limits
        yield "certificate", self.certificate.run
        yield "facts", partial(self.knowledge.run, self.supervisor.run)
        yield "reload", partial(self.follower.run, limits.config_poll)
        yield "advice", self._advise_once_complete
        yield "stalled connections", self._cut_stalled
        if self.events is not None:
            yield "events", self.events.run
        if self.audits is not None:
            yield "election", self.audits.run
        api = self._world.api
        if api is not None and not self._world.settings.kube_version:
            judge_by = self.follower.judge_by
            yield "version", partial(follow_version, api, limits.version_poll, judge_by)

    def _enforce(self, configuration: Configuration, policy: Policy) -> None:
        self.admission.grounds = self.admission.grounds._replace(policy=policy)
        self.metrics.show_policy(__version__, policy)
        self.knowledge.follow(configuration.owner_selectors)
        self._advise()

    def _take_facts(self) -> None:
        """Judge by the facts that are there now."""
        self.admission.grounds = self.admission.grounds._replace(
            facts=self.knowledge.facts, fetch=self.knowledge.fetch
        )

    def _advise(self) -> None:
        advice = advise(self.admission.grounds.policy, self.knowledge.facts)
        self.metrics.config_advice.set(len(advice))
        for sentence in advice:
            self._world.log.warning("advice", says=sentence)

    async def _advise_once_complete(self) -> None:
        await self.knowledge.complete()
        if self._world.api is not None:
            self._advise()

    def _tell(self, outcome: ReloadResult) -> None:
        """Report what became of a changed configuration: in log, metric and Event."""
        valid, says = outcome
        result = "success" if valid else "failure"
        self.metrics.reloads.labels(result).inc()
        self.metrics.config_valid.set(valid)
        tell = self._world.log.info if valid else self._world.log.error
        tell("reload", result=result, says=says)
        if self.events is not None:
            reason = "ConfigurationLoaded" if valid else "ConfigurationInvalid"
            kept = "" if valid else "; the old configuration stays in force"
            self.events.tell(reason, f"{says or 'in force'}{kept}", warning=not valid)

    def _in_force(self) -> Conditions:
        """A newer version that is wrong is told, but the one in force goes on."""
        detail = "" if self.follower.valid else "the files were changed, and are wrong"
        return {"configuration": ReadinessCondition(ok=True, detail=detail)}

    async def _version(self) -> Version:
        """Find the version to judge by."""
        text = self._world.settings.kube_version
        if text:
            warn_if_newer(version := parse_version(text), self._world.log)
            return version
        if self._world.api is None:
            return NEWEST_VERSION
        return await wait_for_version(self._world.api, self._world.log)

    def _certificate(self, live: LiveContext) -> CertificateSource:
        metrics, log = self.metrics, self._world.log

        def report(notice: Notice) -> None:
            result = "success" if notice.ok else "failure"
            metrics.rotations.labels(notice.subject, result).inc()
            (log.info if notice.ok else log.warning)("certificate", says=notice.text)

        outside = Outside(
            clock=self._world.now, sleep=asyncio.sleep, report=report, jitter=random.random
        )
        settings = self._world.settings
        source = certificate.certificate_source(
            settings,
            live,
            outside,
            certificate.CertificateContext(
                self._world.api,
                own_namespace(settings),
                self._configuration.ca_overlap,
                self._world.listener,
                self._world.limits.certificate_poll,
            ),
        )
        certificate.show(source, settings, metrics)
        return source

    def _knowledge(self, version: Version) -> FactsSource:
        settings, log = self._world.settings, self._world.log
        owners = self._configuration.owner_selectors
        if self._world.api is None:
            return FileFacts(settings.cluster, owners, self.metrics, log, self._take_facts)
        means = reflector_means(self._world.api, version, self.metrics, log)
        return LiveFacts(owners, means, self.metrics, self._take_facts)

    def _events(self) -> EventRecorder | None:
        settings, api = self._world.settings, self._world.api
        namespace = own_namespace(settings)
        if api is None or not namespace:
            return None
        place = EventContext(namespace, settings.name, replica_name(settings))
        return EventRecorder(api, place, self._world.now, self._world.log)

    def _audits(self) -> ScheduledAudits | None:
        settings = self._world.settings
        around = AuditContext(
            api=self._world.api,
            namespace=own_namespace(settings),
            replica=replica_name(settings),
            lease_s=self._world.limits.audit_lease,
            silence_s=self._world.limits.audit_silence,
            version=lambda: self.admission.grounds.policy.gates.version,
            wall=self._world.now,
            metrics=self.metrics,
            log=self._world.log,
        )
        return build_audits(settings, around)

    async def _cut_stalled(self) -> None:
        while True:
            await asyncio.sleep(self._world.limits.stalled_reply)
            self.admission.cut_stalled()


def replica_name(settings: Settings) -> str:
    """Give the name of this replica; of a pod, its host name is its name."""
    return settings.replica or socket.gethostname()


def own_namespace(settings: Settings) -> str:
    """Give the namespace that this replica runs in; empty if nobody says."""
    try:
        return settings.namespace or NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
