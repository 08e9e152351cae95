"""The live caches: one reflector a kind, and what is known of how they stand."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import NamedTuple, NoReturn, TypeAlias

from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.reflector import Reflector, ReflectorEnvironment
from webhook.errors import NotSyncedError
from webhook.policy.model import GroupKind, OwnerReference, group_of

Start: TypeAlias = Callable[[], Awaitable[object]]
"""Gives a new coroutine of a background task."""

Supervise: TypeAlias = Callable[[str, Start], Coroutine[object, object, None]]
"""Runs a background task of that name until it returns, whatever it raises in between."""


class CacheStatus(NamedTuple):
    """
    How the cache of one kind stands.

    Attributes:
        kind: Such as ``ReplicaSet``, ``Rollout.argoproj.io``.
        synced: Whether it has been filled once.
        objects: How many it holds.
        age: Seconds since the API server last sent anything of use, about 60 at most while all is
            well, as bookmarks come each minute; None if it never did.
        trouble: What is wrong, a sentence; empty if nothing is. The old copy serves meanwhile.
    """

    kind: str
    synced: bool
    objects: int
    age: float | None
    problem: str


class Caches:
    """The stores of one cluster, kept true."""

    def __init__(self, cluster: Cluster, means: ReflectorEnvironment) -> None:
        """
        Start with nothing listed.

        Args:
            cluster: Its stores are written by nobody else.
            means: The API server, clocks and dice.
        """
        self.cluster = cluster
        self._reflectors = {
            resource.kind: Reflector(resource, means) for resource in list_resources(cluster)
        }

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds that are followed."""
        return tuple(self._reflectors)

    async def run(self, supervise: Supervise) -> NoReturn:
        """
        Follow all kinds until cancelled.

        Args:
            supervise: Restarts a reflector that fails, without the others.
        """
        tasks = [
            asyncio.create_task(supervise(f"reflector {kind}", reflector.run))
            for kind, reflector in self._reflectors.items()
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        raise AssertionError("reflectors end only by being cancelled")

    def synced(self, kind: str) -> bool:
        """Whether a kind has been listed once."""
        return self._reflectors[kind].synced.is_set()

    def age(self, kind: str) -> float | None:
        """Seconds since the API server last sent anything of use about a kind."""
        return self._reflectors[kind].age

    def follows(self, owner: OwnerReference) -> Reflector | None:
        """Give what follows the kind of an owner; None if its selectors are not asked for."""
        custom = GroupKind(group_of(owner.api_version), owner.kind)
        if (owner.api_version, owner.kind) in self.cluster.owner_stores:
            return self._reflectors[owner.kind]
        return self._reflectors[str(custom)] if custom in self.cluster.custom_stores else None

    def require(self) -> None:
        """
        Make sure that every kind has been listed once.

        Raises:
            NotSyncedError: One has not; it names the first.
        """
        for kind, reflector in self._reflectors.items():
            if not reflector.synced.is_set():
                raise NotSyncedError(kind)

    async def wait_synced(self) -> None:
        """Wait until every kind has been listed once."""
        for reflector in self._reflectors.values():
            await reflector.synced.wait()

    def statuses(self) -> Iterator[CacheStatus]:
        """Tell how each cache stands."""
        for kind, reflector in self._reflectors.items():
            yield CacheStatus(
                kind,
                reflector.synced.is_set(),
                len(reflector.resource.store),
                reflector.age,
                reflector.problem,
            )
