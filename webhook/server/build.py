"""
The parts of a server, built from its settings.

``build`` is the entry point. Nothing built here runs yet: ``run`` starts and stops the parts, and
passes in the clock.
"""

import asyncio
import ctypes
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from certs.serving import LiveContext
from certs.source import CertificateSource
from webhook import __version__
from webhook.cluster.caches import Start
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.config.settings import Settings
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.probe import build_probe_verdict
from webhook.server.admission import Admission
from webhook.server.allocator import return_memory
from webhook.server.apiserver import build_reflector_environment, find_version, follow_version
from webhook.server.audits.schedule import AuditedPolicy, Publish, build_audits
from webhook.server.certificate import admitted_clients, build_certificate, check_certificate
from webhook.server.context import ServerContext
from webhook.server.election import Work
from webhook.server.enforcement import Enforcement
from webhook.server.events import EventRecorder
from webhook.server.facts import FactsSource, WatchedKinds
from webhook.server.filefacts import FactsFiles, FileFacts
from webhook.server.health import Conditions, Phase, Readiness, ReadinessCondition
from webhook.server.lag import watch_lag
from webhook.server.leader import LeaderWork, build_leader
from webhook.server.livefacts import LiveFacts, SharedCaches
from webhook.server.policies import read_policy_files
from webhook.server.policyresources import (
    PolicyResources,
    build_policy_resources,
    build_status_writer,
)
from webhook.server.policystatus import PolicyStatusWriter
from webhook.server.registration import RegistrationWatcher
from webhook.server.reload import ConfigurationWatcher, PolicySources, read_policy
from webhook.server.reporting import Observers
from webhook.server.reviews import ReviewContext
from webhook.server.supervisor import Supervisor


@dataclass(frozen=True, slots=True)
class Server:
    """
    A server whose parts are all there.

    Attributes:
        watcher: Watches the configuration files.
        resources: The watchers of SpreadPolicies and of their exceptions.
        events: None without a cluster.
        leader: The task that does the work of one replica; None without a cluster, or outside of
            a pod without a namespace.
    """

    context: ServerContext
    supervisor: Supervisor
    admission: Admission
    certificate: CertificateSource
    facts: FactsSource
    enforcement: Enforcement
    watcher: ConfigurationWatcher
    resources: PolicyResources
    events: EventRecorder | None
    leader: Start | None

    def background(self) -> Iterator[tuple[str, Start]]:
        """List the tasks that run as long as the server does, each with its name."""
        limits, api = self.context.limits, self.context.api
        yield "certificate", self.certificate.run
        yield "facts", partial(self.facts.run, self.supervisor.run)
        yield "reload", partial(self.watcher.run, limits.config_poll)
        yield "advice", self._advise_once_complete
        yield "stalled connections", self._cut_stalled
        yield "memory", partial(return_memory, ctypes.CDLL(None), asyncio.sleep)
        lag, clock = self.context.metrics.event_loop_lag, time.monotonic
        yield "lag", partial(watch_lag, lag.observe, limits.lag_period, clock, asyncio.sleep)
        yield from self.resources.background(self.supervisor.run)
        if api is not None and self.events is not None:
            yield "events", self.events.run
            watcher = RegistrationWatcher(
                api, self.context, self.events, lambda: self.admission.context.policy.pod_templates
            )
            yield "registration", partial(watcher.run, limits.config_poll)
        if self.leader is not None:
            yield "election", self.leader
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


async def build(context: ServerContext, readiness: Readiness) -> Server:
    """
    Build a server.

    It waits for the API server's version, for the first certificate, and for the SpreadPolicies and
    their exceptions.

    Args:
        readiness: Gets the check of each part as soon as the part is there.

    Raises:
        ConfigError: Settings or configuration cannot be used.
        ApiError: There are no usable credentials for the cluster.
        CertError: There is no certificate to serve.
    """
    settings = context.settings
    live = LiveContext(admitted_clients(settings))
    events = EventRecorder(context.api, context) if context.api and context.namespace else None
    certificate = build_certificate(context, live, events)
    sources = _policy_sources(settings, await find_version(context))
    configuration, policy = read_policy(sources)

    def use_current_facts() -> None:  # called only after the start, when ``enforcement`` is there
        enforcement.use_current_facts()

    def use_policies(found: Iterable[SpreadPolicy]) -> None:
        enforcement.use_policies(found)

    watched = WatchedKinds(configuration.owner_selectors, policy.keeps_spread)
    environment = _build_environment(context, sources.version)
    resources = build_policy_resources(context, environment, events, use_policies)
    facts = _build_facts(context, watched, environment, use_current_facts, resources.caches)
    admission = _build_admission(context, policy, facts, live)
    enforcement = Enforcement(context, admission, facts, events)
    watcher = ConfigurationWatcher(
        sources, configuration, enforcement.reload, enforcement.refuse, now=context.now
    )
    restarts = context.metrics.task_restarts
    supervisor = Supervisor(context.log, restarts, time.monotonic, asyncio.sleep, random.random)
    leader = _build_leader(context, resources, enforcement, watcher, events)
    readiness.phase = Phase.CERTIFYING
    check_configuration = partial(_check_configuration, watcher)
    readiness.checks += check_configuration, partial(check_certificate, certificate)
    await certificate.start()
    readiness.checks += facts.check, supervisor.check
    enforcement.start(configuration, policy)
    readiness.phase = Phase.LISTING
    await resources.start()
    if environment is None and settings.policies != "file":
        enforcement.use_policies(read_policy_files(settings.facts_paths))
    return Server(
        context=context,
        supervisor=supervisor,
        admission=admission,
        certificate=certificate,
        facts=facts,
        enforcement=enforcement,
        watcher=watcher,
        resources=resources,
        events=events,
        leader=leader,
    )


def _build_leader(
    context: ServerContext,
    resources: PolicyResources,
    enforcement: Enforcement,
    watcher: ConfigurationWatcher,
    events: EventRecorder | None,
) -> Start | None:
    """Build the task that does the work of one replica: audits, statuses and ranks."""
    status = build_status_writer(context, resources.policies, enforcement, events)

    def find_audited() -> AuditedPolicy:
        return AuditedPolicy(watcher.sources, enforcement.policy.profiles)

    publish: Publish = (lambda _: None) if status is None else status.use_counts
    audits = build_audits(context, find_audited, publish, events)
    works = [*_list_work(audits, status)]
    ranks = enforcement.facts.find_ranks
    return build_leader(context, works, ranks, events, lambda: enforcement.repairs_ranks)


def _list_work(audits: Work | None, status: PolicyStatusWriter | None) -> Iterator[LeaderWork]:
    if audits is not None:
        yield LeaderWork(audits, lambda: True)
    if status is not None:
        yield LeaderWork(status.work, lambda: status.is_needed)


def _check_configuration(watcher: ConfigurationWatcher) -> Conditions:
    """Report an invalid newer version; the server stays ready, by the one in force."""
    problem = watcher.problem
    return {"configuration": ReadinessCondition(ok=True, detail=problem, degraded=bool(problem))}


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


def _build_environment(context: ServerContext, version: Version) -> ReflectorEnvironment | None:
    if context.api is None:
        return None
    return build_reflector_environment(context.api, version, context.metrics, context.log)


def _build_facts(
    context: ServerContext,
    watched: WatchedKinds,
    environment: ReflectorEnvironment | None,
    changed: Callable[[], None],
    shared: SharedCaches,
) -> FactsSource:
    metrics, log = context.metrics, context.log
    if environment is None:
        files = FactsFiles(context.settings.facts_paths, context.now)
        return FileFacts(files, watched, metrics, log, changed)
    return LiveFacts(watched, environment, metrics, changed, shared)


def _build_admission(
    context: ServerContext, policy: Policy, facts: FactsSource, live: LiveContext
) -> Admission:
    probe_verdict = build_probe_verdict(__version__, context.replica)
    review = ReviewContext(
        policy, facts.facts, facts.fetch, probe_verdict, facts.freeze, facts.find_ranks
    )
    observers = Observers(context.metrics, context.log, context.verdict_log)
    return Admission(review, context.limits, observers, live.context, live.clients)
