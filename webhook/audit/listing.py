"""
A cluster gathered into a snapshot, page by page, from its API server.

Lists are read once and not watched: an audit is about a moment. Kinds that may not be listed are
problems, and the rest is still read.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.audit.kinds import (
    LISTED_BUILT_IN,
    LISTED_CLUSTER_SCOPED,
    LISTED_PODS,
    find_custom_kinds,
)
from webhook.audit.reader import ObjectReader
from webhook.audit.snapshot import Snapshot
from webhook.cluster.lists import LIST_TRIES, list_pages
from webhook.cluster.protocol import ApiClient, FailureReason
from webhook.config import OwnerSelector
from webhook.errors import ApiError, ExpiredError, SourceError
from webhook.policy.kinds import KindRow
from webhook.policy.model import GroupKind
from webhook.policy.paths import TemplatePath

ProgressReporter: TypeAlias = Callable[[str, int], None]
"""Is told a kind and how many of its objects were read so far."""

_USELESS = frozenset(
    {
        FailureReason.UNREACHABLE,
        FailureReason.CREDENTIALS,
        FailureReason.UNAUTHORIZED,
        FailureReason.SILENT,
    }
)


class ClusterListing:
    """
    A snapshot that grows list by list.

    Attributes:
        snapshot: What was listed so far.
        problems: Kinds that could not be listed, and objects that could not be read.
    """

    def __init__(
        self,
        source: ApiClient,
        templates: Mapping[GroupKind, TemplatePath],
        owners: Iterable[OwnerSelector],
    ) -> None:
        """
        Ask nothing yet.

        Args:
            source: The API server.
            templates: Where each kind with a pod template holds it.
            owners: Custom controllers whose selectors are asked for.
        """
        self.snapshot = Snapshot()
        self.problems: list[SourceError] = []
        self._source = source
        self._reader = ObjectReader(templates, owners)

    async def read(
        self, namespace: str = "", told: ProgressReporter = lambda _kind, _number: None
    ) -> None:
        """
        List everything.

        Args:
            namespace: The only one whose objects are asked for; empty for all.
            told: Is told how far that is.

        Raises:
            ApiError: The API server cannot be reached at all.
        """
        for listed in (*LISTED_CLUSTER_SCOPED, *LISTED_BUILT_IN):
            await self._read(listed, namespace, told)
        for listed in await find_custom_kinds(self._source, self._reader.kinds, self.problems):
            await self._read(listed, namespace, told)
        await self._read(LISTED_PODS, namespace, told)

    async def _read(self, listed: KindRow, namespace: str, told: ProgressReporter) -> None:
        try:
            await self._list(listed, namespace, told)
        except ApiError as error:
            if error.reason in _USELESS:
                raise
            self.problems.append(error)

    async def _list(self, listed: KindRow, namespace: str, told: ProgressReporter) -> None:
        """Read a list; one that expires is forgotten, and begun anew."""
        before = _lengths(self.snapshot), len(self.problems)
        for attempt in range(1, LIST_TRIES + 1):
            try:
                await self._pages(listed, namespace, told)
            except ApiError as error:
                self.snapshot = _cut(self.snapshot, before[0])
                del self.problems[before[1] :]
                if not isinstance(error, ExpiredError) or attempt == LIST_TRIES:
                    raise
            else:
                return

    async def _pages(self, listed: KindRow, namespace: str, told: ProgressReporter) -> None:
        path, number = listed.path(namespace), 0
        async for page in list_pages(self._source, path):
            for item in page:
                try:
                    self._reader.put(self.snapshot, (listed.api_version, listed.kind), item)
                except msgspec.DecodeError as error:
                    self.problems.append(SourceError(path, str(error)))
            number += len(page)
            told(listed.kind, number)


_LISTS = ("namespaces", "nodes", "services", "owners", "workloads", "pods")


def _lengths(snapshot: Snapshot) -> dict[str, int]:
    return {name: len(getattr(snapshot, name)) for name in _LISTS}


def _cut(snapshot: Snapshot, lengths: Mapping[str, int]) -> Snapshot:
    """Forget what was put into a snapshot since its lists had these lengths."""
    return replace(
        snapshot, **{name: getattr(snapshot, name)[:length] for name, length in lengths.items()}
    )
