"""
Audit of a live cluster one namespace at a time, to bound memory by the largest namespace.

``ClusterSweep.reports`` reads all lists in parallel. An API server sorts each list by namespace, so
that the next object of any list is in the current namespace or in a later one. Constraints count
pods of their own namespace only, so reports on single namespaces equal one report on all of them.

Source: apiserver pkg/storage/etcd3/store.go ``GetList``: by key, which ends in namespace/name.
"""

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import TypeAlias

import msgspec

from webhook.audit.groups import PodGroups
from webhook.audit.inventory import Inventory
from webhook.audit.listing import LISTED_BUILT_IN, LISTED_CLUSTER_SCOPED, LISTED_PODS
from webhook.audit.reader import ObjectReader, build_read_error
from webhook.audit.report import AuditReport
from webhook.audit.scan import AuditOptions, scan
from webhook.audit.snapshot import Snapshot
from webhook.cluster import wire
from webhook.cluster.discovery import find_custom_kinds
from webhook.cluster.lists import LIST_TRIES, list_pages
from webhook.cluster.protocol import DECODE_ERRORS, ApiClient, FailureReason
from webhook.config.configuration import Configuration
from webhook.errors import ApiError, ExpiredError, SourceError
from webhook.policy.kinds import KindRow
from webhook.policy.nesting import decode_nested

RESERVE_BYTES = 4 * 2**20  # freed when memory ends: to skip a namespace takes a few pages

FIRST_PAGE_OBJECTS = 50  # of each list: at most 1 MB, of the largest objects

Position: TypeAlias = tuple[str, str]
"""Namespace and name in sort order: a slash ends the namespace, and sorts after a hyphen."""

_decode = msgspec.json.Decoder(wire.NamedObject).decode


class ListCursor:
    """A list that is read on demand; keeps one page in memory."""

    def __init__(self, source: ApiClient, listed: KindRow, problems: list[SourceError]) -> None:
        """Prepare to read; ``problems`` receives an error for each object that is too large."""
        self.listed = listed
        self._source = source
        self._problems = problems
        self._done: Position = ("", "")  # of the last object that was read
        self._items = self._read_items()
        self._next: tuple[Position, msgspec.Raw] | None = None

    async def next_namespace(self) -> str | None:
        """
        Return the namespace of the next object; None at the end of the list.

        Raises:
            ApiError: The list cannot be read, or is not sorted.
        """
        if self._next is None:
            try:
                self._next = await anext(self._items, None)
            except MemoryError:
                self._items = self._read_items()  # the old one has ended
                raise
        return self._next[0][0].removesuffix("/") if self._next else None

    async def take(self, namespace: str) -> AsyncIterator[msgspec.Raw]:
        """
        Yield the objects of a namespace; those of earlier ones must be taken before.

        Raises:
            ApiError: The list cannot be read, or is not sorted.
        """
        while await self.next_namespace() == namespace and self._next:
            (_, item), self._next = self._next, None
            yield item

    async def skip(self, namespace: str) -> None:
        """Skip the other objects of a namespace; raises as ``take`` does."""
        while await self.next_namespace() == namespace:
            self._next = None

    async def _read_items(self) -> AsyncIterator[tuple[Position, msgspec.Raw]]:
        """Yield the objects; restart the list if it expires, and skip those yielded before."""
        tries, is_restart = 1, self._done > ("", "")
        while True:
            try:
                async for page in list_pages(
                    self._source,
                    self.listed.path(""),
                    first=FIRST_PAGE_OBJECTS,
                    problems=self._problems,
                ):
                    for item in page:
                        found = decode_nested(_decode, item)
                        position = (f"{found.namespace}/", found.name)
                        if position > self._done:
                            self._done = position
                            yield position, item
                        elif not is_restart:
                            raise self._build_order_error()
            except ExpiredError:
                if tries == LIST_TRIES:
                    raise
                tries, is_restart = tries + 1, True
            else:
                return

    def _build_order_error(self) -> ApiError:
        problem = f"returned {self.listed.plural} unsorted: use evenspread audit instead"
        return ApiError(self._source.name, problem, FailureReason.GARBAGE)


class ClusterSweep:
    """
    An audit of a whole cluster.

    Attributes:
        nodes: Number of nodes; known when the first report is there.
        problems: Objects that cannot be read; no report mentions them.
        left_out: Namespaces without a report, since they need more memory than the process may use.
    """

    def __init__(
        self, source: ApiClient, configuration: Configuration, options: AuditOptions
    ) -> None:
        """Prepare to read; send no request yet."""
        self.nodes = 0
        self.problems: list[SourceError] = []
        self.left_out: list[str] = []
        self._reserve = bytes(RESERVE_BYTES)
        self._source = source
        self._owners = configuration.owner_selectors
        self._reader = ObjectReader(configuration)
        self._options = options

    async def reports(self) -> AsyncIterator[AuditReport]:
        """
        Yield a report on each namespace that has a workload.

        Raises:
            ApiError: A kind cannot be listed; a missing right raises before the first report.
            MemoryError: The nodes, or one page of a list, need more than the process may use.
        """
        shared = Snapshot()
        for listed in LISTED_CLUSTER_SCOPED:
            async for page in list_pages(self._source, listed.path(""), problems=self.problems):
                for item in page:
                    self._put(shared, listed, item)
        self.nodes = len(shared.nodes)
        whole = Inventory(shared, self._owners)
        namespaces = {item.name: item for item in shared.namespaces}
        cursors = await self._open_cursors()
        while namespace := await _find_next(cursors):
            known = [namespaces[namespace]] if namespace in namespaces else []
            audit = self._audit_namespace(namespace, cursors, known, whole)
            report = await self._finish_or_skip(audit, namespace, cursors)
            if report is not None:
                yield report

    async def _finish_or_skip(
        self,
        audit: Awaitable[AuditReport | None],
        namespace: str,
        cursors: Sequence[ListCursor],
    ) -> AuditReport | None:
        """Finish an audit; leave its namespace out if it needs more memory than there may be."""
        try:
            return await audit
        except MemoryError:
            self._reserve = b""
        # From here on, nothing refers to what was read: the frames ended with their exception.
        for cursor in cursors:
            await cursor.skip(namespace)
        self._reserve = bytes(RESERVE_BYTES)
        self.left_out.append(namespace)
        return None

    async def _audit_namespace(
        self,
        namespace: str,
        cursors: Sequence[ListCursor],
        known: list[wire.NamespaceObject],
        whole: Inventory,
    ) -> AuditReport | None:
        snapshot = Snapshot(namespaces=known)
        groups = await self._read_namespace(namespace, cursors, snapshot)
        inventory = Inventory(snapshot, self._owners, groups, whole)
        return scan(inventory, self._options) if inventory.audited else None

    async def _open_cursors(self) -> list[ListCursor]:
        """Create a cursor for every list; that of the pods is last."""
        problems: list[SourceError] = []
        customs = await find_custom_kinds(self._source, self._reader.kinds, problems)
        if problems:
            raise problems[0]
        return [
            ListCursor(self._source, kind, self.problems)
            for kind in (*LISTED_BUILT_IN, *customs, LISTED_PODS)
        ]

    async def _read_namespace(
        self, namespace: str, cursors: Sequence[ListCursor], snapshot: Snapshot
    ) -> PodGroups:
        """Read the objects of a namespace into a snapshot, and its pods into groups."""
        *others, pods = cursors
        for cursor in others:
            async for item in cursor.take(namespace):
                self._put(snapshot, cursor.listed, item)
        if not self.problems:  # otherwise an unreadable object may refer to a template
            snapshot.reference_namespaces.append(namespace)
        groups = PodGroups(snapshot.workloads, snapshot.references)
        async for item in pods.take(namespace):
            self._put(snapshot, pods.listed, item)
            groups.add(snapshot.pods)  # by name: a leader, such as llm-0, before llm-0-1
            snapshot.pods.clear()
        return groups

    def _put(self, snapshot: Snapshot, listed: KindRow, item: msgspec.Raw) -> None:
        try:
            self._reader.put(snapshot, (listed.api_version, listed.kind), item)
        except DECODE_ERRORS as error:
            self.problems.append(build_read_error(listed, item, error))


async def _find_next(cursors: Sequence[ListCursor]) -> str | None:
    """Return the first of the next namespaces of all lists; None if all lists have ended."""
    found = [await cursor.next_namespace() for cursor in cursors]
    return min(filter(None, found), key=lambda name: f"{name}/", default=None)
