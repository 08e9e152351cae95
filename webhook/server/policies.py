"""
SpreadPolicies of the cluster, followed by a watch.

``PolicyWatcher`` passes each change on, to be put in force, and reports policies that cannot be
read; without a cluster, ``read_policy_files`` reads policies once. The watcher decides nothing:
``server.enforcement`` merges policies with the profiles of files.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

from webhook.cluster.caches import Supervise
from webhook.cluster.discovery import describe_policies
from webhook.cluster.optionalkinds import OptionalKind
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.cluster.spreadpolicies import SpreadPolicyObject, SpreadPolicyStore
from webhook.config.policyobjects import read_spread_policies
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.manifests import Document, read_documents
from webhook.server.events import TaskObservers

GRANT = "grant the verbs list and watch to the ServiceAccount, as the chart does"

NO_PROFILE = (
    "no profile is in force: the API server does not have SpreadPolicies; install their "
    "CustomResourceDefinition, which the manifests contain"
)

UNREADABLE = "shape"  # the reason of such objects in evenspread_objects_skipped_total


def read_policy_files(paths: Iterable[str]) -> list[SpreadPolicy]:
    """
    Read the SpreadPolicies among the manifests of a server without a cluster.

    Args:
        paths: Files and folders.

    Raises:
        CombinedConfigError: All errors in the policies.
    """
    documents = (item for item in read_documents(paths) if isinstance(item, Document))
    return list(read_spread_policies(documents).values())


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
        *,
        alone: bool = False,
    ) -> None:
        """
        Start without policies.

        Args:
            enforce: Puts the policies in force, which are in no order.
            alone: Whether there are no other profiles.
        """
        self._changed = asyncio.Event()
        self._store = SpreadPolicyStore(self._changed.set)
        self._kind = OptionalKind(describe_policies(self._store), environment)
        self.reflector = self._kind.reflector
        self._observers = observers
        self._enforce = enforce
        self._alone = alone
        self._reported: Mapping[str, str] = {}

    @property
    def objects(self) -> tuple[SpreadPolicyObject, ...]:
        """The SpreadPolicies as the API server has them, in no order."""
        return self._store.objects

    async def start(self) -> None:
        """
        Wait until the policies have been listed, and put them in force.

        No pod may miss its defaults because it is created before the policies are known. Without
        the right to list them, none is in force until it is granted.
        """
        if not await self._kind.list():
            message = f"SpreadPolicies do not count: {self.reflector.problem}; {GRANT}"
            self._observers.warn("policy", "SpreadPoliciesForbidden", message)
        elif self._alone and self.reflector.place is None:
            self._observers.warn("policy", "SpreadPoliciesAbsent", NO_PROFILE)
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
