"""
Live caches of a cluster: one reflector per kind.

``Caches.run`` keeps the stores of a ``Cluster`` current; only its reflectors write them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import NoReturn, TypeAlias

from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.pods import PodStore
from webhook.cluster.reflector import Reflector, ReflectorEnvironment
from webhook.errors import NotSyncedError
from webhook.policy.model import GroupKind, group_of

Start: TypeAlias = Callable[[], Awaitable[object]]
"""Creates the coroutine of a background task."""

Supervise: TypeAlias = Callable[[str, Start], Coroutine[object, object, None]]
"""Runs the background task of a name until it returns; restarts it after exceptions."""


class Caches:
    """The caches of one cluster."""

    def __init__(self, cluster: Cluster, environment: ReflectorEnvironment) -> None:
        """Create empty caches; nothing else may write the stores of the cluster."""
        self.cluster = cluster
        self._reflectors = {
            resource.key: Reflector(resource, environment) for resource in list_resources(cluster)
        }

        self._required = [item for item in self.reflectors if item.resource.required]

    @property
    def ranks(self) -> PodStore | None:
        """
        The store that ranks pods; None if no pods are stored, or not all are known yet.

        A rank among pods that are not all known would be given twice.
        """
        for kind in ("Node", "Pod"):
            reflector = self.find_reflector("v1", kind)
            if reflector is None or not reflector.synced.is_set():
                return None
        return self.cluster.pod_store

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]] | None:
        """The labels of all Namespaces at this time, by name; None if not all are known yet."""
        reflector = self.find_reflector("v1", "Namespace")
        if reflector is None or not reflector.synced.is_set():
            return None
        return self.cluster.namespace_store.copy()

    @property
    def reflectors(self) -> tuple[Reflector, ...]:
        """The reflectors of all watched kinds."""
        return tuple(self._reflectors.values())

    async def run(self, supervise: Supervise) -> NoReturn:
        """Watch all kinds until cancelled; ``supervise`` restarts a failed reflector."""
        tasks = [
            asyncio.create_task(supervise(f"reflector {reflector.resource.kind}", reflector.run))
            for reflector in self.reflectors
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        raise AssertionError("reflectors end only by being cancelled")

    def find_reflector(self, api_version: str, kind: str) -> Reflector | None:
        """Return the reflector of a kind; None if the kind is not watched."""
        custom = self._reflectors.get(GroupKind(group_of(api_version), kind))
        return self._reflectors.get((api_version, kind), custom)

    def require(self) -> None:
        """
        Check that every required kind has been listed once.

        Raises:
            NotSyncedError: A kind has not; the error names the first.
        """
        for reflector in self._required:
            if not reflector.synced.is_set():
                raise NotSyncedError(reflector.resource.kind)

    @property
    def synced(self) -> bool:
        """Whether every required kind has been listed once."""
        return all(reflector.synced.is_set() for reflector in self._required)

    async def wait_synced(self) -> None:
        """Wait until every required kind has been listed once."""
        for reflector in self._required:
            await reflector.synced.wait()
