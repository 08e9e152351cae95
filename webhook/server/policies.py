"""
SpreadPolicies of the cluster, followed by a watch.

``PolicyWatcher`` passes each change on, to be put in force, and reports policies that cannot be
read. It decides nothing: ``server.enforcement`` merges policies with the profiles of files.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

from webhook.cluster.caches import Supervise
from webhook.cluster.discovery import describe_policies
from webhook.cluster.reflector import Reflector, ReflectorEnvironment
from webhook.cluster.spreadpolicies import SpreadPolicyObject, SpreadPolicyStore
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.server.events import TaskObservers

UNREADABLE = "shape"  # the reason of such objects in evenspread_objects_skipped_total


class PolicyWatcher:
    """
    Watches the SpreadPolicies, and passes each change on.

    Attributes:
        reflector: Keeps the policies current; a cluster without the kind has none.
    """

    def __init__(
        self,
        environment: ReflectorEnvironment,
        observers: TaskObservers,
        enforce: Callable[[Iterable[SpreadPolicy]], None],
    ) -> None:
        """
        Start without policies.

        Args:
            enforce: Puts the policies in force, which are in no order.
        """
        self._changed = asyncio.Event()
        self._store = SpreadPolicyStore(self._changed.set)
        self.reflector = Reflector(describe_policies(self._store), environment)
        self._observers = observers
        self._enforce = enforce
        self._reported: Mapping[str, str] = {}

    @property
    def objects(self) -> tuple[SpreadPolicyObject, ...]:
        """The SpreadPolicies as the API server has them, in no order."""
        return self._store.objects

    async def start(self) -> None:
        """
        Wait until the policies have been listed, and put them in force.

        No pod may miss its defaults because it is created before the policies are known.
        """
        listing = asyncio.create_task(self.reflector.run(), name="first list of SpreadPolicies")
        listed = asyncio.create_task(self.reflector.synced.wait())
        try:
            await asyncio.wait((listing, listed), return_when=asyncio.FIRST_COMPLETED)
            if listing.done():
                listing.result()  # a bug
        finally:
            for task in (listing, listed):
                task.cancel()
            await asyncio.gather(listing, listed, return_exceptions=True)
        self._apply()

    async def run(self, supervise: Supervise) -> NoReturn:
        """Put each change in force until cancelled; ``supervise`` restarts the reflector."""
        async with asyncio.TaskGroup() as group:
            name = f"reflector {self.reflector.resource.kind}"
            group.create_task(supervise(name, self.reflector.run))
            while True:
                await self._changed.wait()
                self._apply()

    def _apply(self) -> None:
        """Put the present policies in force; a bug leaves the change to the next call."""
        self._enforce(self._store.policies)
        self._report(self._store.problems)
        self._changed.clear()

    def _report(self, problems: Mapping[str, str]) -> None:
        used = {policy.name for policy in self._store.policies}
        for name, problem in problems.items():
            if problem != self._reported.get(name):
                first, *others = problem.splitlines()
                more = f" (and {len(others)} more)" if others else ""
                stays = "the version before it stays in force" if name in used else "it is not used"
                message = f"SpreadPolicy {name!r}: {first}{more}; {stays}"
                self._observers.warn("policy", "SpreadPolicyInvalid", message)
                kind = self.reflector.resource.kind
                self._observers.metrics.skipped.labels(kind, UNREADABLE).inc()
        self._reported = problems
