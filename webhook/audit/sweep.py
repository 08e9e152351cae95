"""
A live cluster, audited one namespace after the other, so that none but the largest costs memory.

All lists are read side by side: an API server gives each in the order of namespaces, so that what
comes next in any of them is of the namespace at hand or of a later one. Constraints count the pods
of their own namespace, so a report on a namespace is the part of a report on all that is about it.

Source: apiserver pkg/storage/etcd3/store.go ``GetList``: by key, which ends in namespace/name.
"""

from collections.abc import AsyncIterator, Sequence
from typing import TypeAlias

import msgspec

from webhook.audit.groups import PodGroups
from webhook.audit.inventory import ClusterNodes, Inventory
from webhook.audit.kinds import (
    LISTED_BUILT_IN,
    LISTED_CLUSTER_SCOPED,
    LISTED_PODS,
    find_custom_kinds,
)
from webhook.audit.reader import ObjectReader
from webhook.audit.report import AuditReport
from webhook.audit.scan import AuditOptions, scan
from webhook.audit.snapshot import Snapshot
from webhook.cluster import wire
from webhook.cluster.lists import LIST_TRIES, list_pages
from webhook.cluster.protocol import ApiClient, FailureReason
from webhook.config import Configuration
from webhook.errors import ApiError, ExpiredError, SourceError
from webhook.policy.kinds import KindRow
from webhook.policy.nesting import decode_nested

FIRST_PAGE_OBJECTS = (
    50  # objects of the first page of each list: 1 MB at most, of the largest that there are
)

Position: TypeAlias = tuple[str, str]
"""Namespace and name as they are sorted: a slash follows a namespace, and comes after a hyphen."""

_decode = msgspec.json.Decoder(wire.NamedObject).decode


class ListCursor:
    """A list that is read as far as it is needed, and keeps one page of it."""

    def __init__(self, source: ApiClient, listed: KindRow) -> None:
        """Ask nothing yet."""
        self.listed = listed
        self._source = source
        self._pages = self._begin()
        self._page: Sequence[msgspec.Raw] = ()
        self._at = 0  # of the next object in the page
        self._done: Position = ("", "")  # where the last object stood that was taken
        self._tries = 1

    async def next_namespace(self) -> str | None:
        """
        Give the namespace of the next object; None if there is none.

        Raises:
            ApiError: The list cannot be read, or is in no order.
        """
        position = await self._position()
        return None if position is None else position[0].removesuffix("/")

    async def take(self, namespace: str) -> AsyncIterator[msgspec.Raw]:
        """
        Give the objects of a namespace; those of earlier ones have to be taken before.

        Raises:
            ApiError: The list cannot be read, or is in no order.
        """
        while (position := await self._position()) and position[0] == f"{namespace}/":
            item = self._page[self._at]
            self._at, self._done = self._at + 1, position
            yield item

    async def _position(self) -> Position | None:
        """Say where the next object stands; passes over those that were taken before."""
        while True:
            while self._at >= len(self._page):
                page = await self._turn()
                if page is None:
                    return None
                self._page, self._at = page, 0
            position = _position(self._page[self._at])
            if position > self._done:
                return position
            if self._tries == 1:
                raise self._disordered()
            self._at += 1  # of a list that was begun anew

    async def _turn(self) -> Sequence[msgspec.Raw] | None:
        """Read a page; a list whose rest was forgotten is begun anew."""
        while True:
            try:
                return await anext(self._pages, None)
            except ExpiredError:
                if self._tries == LIST_TRIES:
                    raise
                self._tries += 1
                self._pages = self._begin()

    def _begin(self) -> AsyncIterator[Sequence[msgspec.Raw]]:
        return list_pages(self._source, self.listed.path(""), first=FIRST_PAGE_OBJECTS)

    def _disordered(self) -> ApiError:
        problem = f"answered with {self.listed.plural} in no order: audit by the command instead"
        return ApiError(self._source.name, problem, FailureReason.GARBAGE)


def _position(item: msgspec.Raw) -> Position:
    found = decode_nested(_decode, item)
    return f"{found.namespace}/", found.name


class ClusterSweep:
    """
    An audit of a whole cluster.

    Attributes:
        nodes: How many there are, once the first report is there.
        problems: Objects that could not be read; nothing is said of these.
    """

    def __init__(
        self, source: ApiClient, configuration: Configuration, question: AuditOptions
    ) -> None:
        """Ask nothing yet."""
        self.nodes = 0
        self.problems: list[SourceError] = []
        self._source = source
        self._owners = configuration.owner_selectors
        self._reader = ObjectReader(configuration.pod_templates, self._owners)
        self._question = question

    async def reports(self) -> AsyncIterator[AuditReport]:
        """
        Give a report on each namespace that has a workload.

        Raises:
            ApiError: A kind cannot be listed; if it may not be, that is before the first report.
        """
        whole = Snapshot()
        for listed in LISTED_CLUSTER_SCOPED:
            async for page in list_pages(self._source, listed.path("")):
                for item in page:
                    self._put(whole, listed, item)
        self.nodes = len(whole.nodes)
        terrain = ClusterNodes(whole.nodes)
        namespaces = {each.name: each for each in whole.namespaces}
        cursors = await self._cursors()
        while namespace := await _next(cursors):
            known = namespaces.get(namespace)
            snapshot = Snapshot(namespaces=[known] if known else [])
            groups = await self._gather(namespace, cursors, snapshot)
            inventory = Inventory(snapshot, self._owners, groups, terrain)
            if inventory.audited:
                yield scan(inventory, (), self._question)

    async def _cursors(self) -> list[ListCursor]:
        """Begin to read all lists; the pods come last."""
        problems: list[SourceError] = []
        customs = await find_custom_kinds(self._source, self._reader.kinds, problems)
        if problems:
            raise problems[0]
        return [
            ListCursor(self._source, each) for each in (*LISTED_BUILT_IN, *customs, LISTED_PODS)
        ]

    async def _gather(
        self, namespace: str, cursors: Sequence[ListCursor], snapshot: Snapshot
    ) -> PodGroups:
        """Put the objects of a namespace into a snapshot, but pods into groups."""
        *others, pods = cursors
        for cursor in others:
            async for item in cursor.take(namespace):
                self._put(snapshot, cursor.listed, item)
        groups = PodGroups(snapshot.workloads)
        async for item in pods.take(namespace):
            self._put(snapshot, pods.listed, item)
            groups.add(snapshot.pods)
            snapshot.pods.clear()
        return groups

    def _put(self, snapshot: Snapshot, listed: KindRow, item: msgspec.Raw) -> None:
        try:
            self._reader.put(snapshot, (listed.api_version, listed.kind), item)
        except msgspec.DecodeError as error:
            self.problems.append(SourceError(listed.path(""), str(error)))


async def _next(cursors: Sequence[ListCursor]) -> str | None:
    """Give the first namespace that any list goes on with."""
    found = [await each.next_namespace() for each in cursors]
    return min(filter(None, found), key=lambda name: f"{name}/", default=None)
