"""
The custom resources of policies: watchers of SpreadPolicies and of their exceptions.

``build_policy_resources`` builds the watchers that a server needs, and ``build_status_writer`` the
writer of the status of SpreadPolicies. Nothing here runs until a task of the server starts it.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from webhook.cluster.caches import Start, Supervise
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.server.context import ServerContext
from webhook.server.election import Clocks
from webhook.server.enforcement import Enforcement
from webhook.server.events import EventRecorder, TaskObservers
from webhook.server.livefacts import SharedCaches
from webhook.server.policies import PolicyWatcher
from webhook.server.policyexceptions import ExceptionWatcher
from webhook.server.policyfacts import StatusSources
from webhook.server.policystatus import PolicyStatusWriter


@dataclass(frozen=True, slots=True)
class PolicyResources:
    """
    The watchers of policies and of their exceptions.

    Attributes:
        policies: Watches the SpreadPolicies; None without a cluster, or if they are not used.
        exceptions: Watches the SpreadPolicyExceptions; None without a cluster.
    """

    policies: PolicyWatcher | None = None
    exceptions: ExceptionWatcher | None = None

    @property
    def caches(self) -> SharedCaches:
        """The caches of the watchers, which outlive each set of other caches."""
        watchers = [watcher for watcher in (self.policies, self.exceptions) if watcher is not None]
        reflectors = tuple(watcher.reflector for watcher in watchers)
        store = None if self.exceptions is None else self.exceptions.store
        return SharedCaches(store, reflectors)

    async def start(self) -> None:
        """Wait until all have been listed, and put the policies in force."""
        if self.exceptions is not None:
            await self.exceptions.start()
        if self.policies is not None:
            await self.policies.start()

    def background(self, supervise: Supervise) -> Iterator[tuple[str, Start]]:
        """List the tasks that keep them current, each with its name."""
        if self.policies is not None:
            yield "policies", partial(self.policies.run, supervise)
        if self.exceptions is not None:
            yield "exceptions", self.exceptions.reflector.run


def build_policy_resources(
    context: ServerContext,
    environment: ReflectorEnvironment | None,
    events: EventRecorder | None,
    enforce: Callable[[Iterable[SpreadPolicy]], None],
) -> PolicyResources:
    """
    Build the watchers.

    Args:
        environment: What their reflectors use; None without a cluster.
        events: None if there are no Events.
        enforce: Puts SpreadPolicies in force; called only after the start.
    """
    if environment is None:
        return PolicyResources()
    exceptions = ExceptionWatcher(environment, context.now, events)
    if context.settings.policies == "file":
        return PolicyResources(exceptions=exceptions)
    observers = TaskObservers(context.metrics, context.log, events)
    alone = context.settings.policies == "resource"
    policies = PolicyWatcher(environment, observers, enforce, alone=alone)
    return PolicyResources(policies, exceptions)


def build_status_writer(
    context: ServerContext,
    policies: PolicyWatcher | None,
    enforcement: Enforcement,
    events: EventRecorder | None,
) -> PolicyStatusWriter | None:
    """Build the writer of the status of SpreadPolicies; None if these are not watched."""
    if policies is None or context.api is None:
        return None
    sources = StatusSources(
        lambda: policies.objects,
        enforcement.merge,
        lambda: enforcement.policy,
        enforcement.facts.find_namespaces,
        context.settings.audit_pause is not None,
    )
    clocks = Clocks(time.monotonic, context.now, asyncio.sleep)
    observers = TaskObservers(context.metrics, context.log, events)
    return PolicyStatusWriter(context.api, sources, clocks, observers)
