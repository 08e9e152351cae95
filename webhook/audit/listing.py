"""
Lists of a cluster: the objects of an API server become a snapshot.

``ClusterListing.read`` reads each list once, page by page, and watches nothing. A kind that the
user may not list becomes a problem; all other kinds are still read.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from webhook.audit.reader import ObjectReader, build_read_error
from webhook.audit.snapshot import Snapshot
from webhook.cluster.discovery import find_custom_kinds
from webhook.cluster.lists import LIST_TRIES, list_pages
from webhook.cluster.policyexceptions import POLICY_EXCEPTION
from webhook.cluster.protocol import DECODE_ERRORS, ApiClient, FailureReason
from webhook.config.configuration import Configuration
from webhook.errors import ApiError, ExpiredError, SourceError
from webhook.policy.kinds import BUILT_IN_KINDS, POD, RUNTIME_CLASS, KindRow

LISTED_CLUSTER_SCOPED: tuple[KindRow, ...] = tuple(
    row for row in BUILT_IN_KINDS.values() if row.audited and not row.namespaced
)
"""Kinds that are not namespaced, and that every audit lists."""

LISTED_PODS = BUILT_IN_KINDS[POD]
"""Pods; listed last, so that almost every pod has its controller in the snapshot."""

LISTED_BUILT_IN: tuple[KindRow, ...] = tuple(
    row
    for row in BUILT_IN_KINDS.values()
    if row.namespaced and row.audited and row is not LISTED_PODS
)
"""Namespaced kinds that every audit lists, apart from pods."""

ALL_NAMESPACES = ("",)
"""In place of names of namespaces."""

ProgressReporter: TypeAlias = Callable[[str, int], None]
"""Called with a kind and the number of its objects read so far."""

_FATAL = frozenset(
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
        snapshot: The objects read so far.
        problems: Kinds that could not be listed, and objects that could not be read.
        refused: Why SpreadPolicyExceptions may not be listed, which then do not count; otherwise
            None.
    """

    def __init__(self, source: ApiClient, configuration: Configuration) -> None:
        """Prepare to read the kinds of an ``ObjectReader``; send no request yet."""
        self.snapshot = Snapshot()
        self.problems: list[SourceError] = []
        self.refused: ApiError | None = None
        self._classes_refused: ApiError | None = None
        self._source = source
        self._reader = ObjectReader(configuration)

    async def read(
        self,
        namespaces: Sequence[str] = ALL_NAMESPACES,
        report: ProgressReporter = lambda _kind, _number: None,
    ) -> None:
        """
        Read all lists.

        Args:
            namespaces: The only namespaces to read; the empty name stands for all.
            report: Receives the progress.

        Raises:
            ApiError: The API server cannot be reached, or rejects the credentials.
        """
        for listed in LISTED_CLUSTER_SCOPED:
            await self._read_list(listed, "", report)
        known = len(self.problems)
        customs = await find_custom_kinds(self._source, self._reader.kinds, self.problems)
        for listed in customs:
            for namespace in namespaces:
                await self._read_list(listed, namespace, report)
        if len(self.problems) == known:  # custom kinds may refer to templates
            self.snapshot.reference_namespaces.extend(namespaces)
        for listed in (*LISTED_BUILT_IN, LISTED_PODS):
            for namespace in namespaces:
                await self._read_list(listed, namespace, report)
        if self._classes_refused is not None and _needs_classes(self.snapshot):
            self.problems.append(self._classes_refused)

    async def _read_list(
        self, listed: KindRow, namespace: str, report: ProgressReporter, tries: int = LIST_TRIES
    ) -> None:
        """Read a list; if it expires, start again, ``tries`` times in all."""
        try:
            await self._read_pages(listed, namespace, report)
        except ApiError as error:
            if error.reason in _FATAL:
                raise
            if error.reason == FailureReason.FORBIDDEN and listed.group_kind == POLICY_EXCEPTION:
                self.refused = error
            elif error.reason == FailureReason.FORBIDDEN and listed.group_kind == RUNTIME_CLASS:
                self._classes_refused = error  # a problem only if a workload names one
            elif isinstance(error, ExpiredError) and tries > 1:
                await self._read_list(listed, namespace, report, tries - 1)
            else:
                self.problems.append(error)

    async def _read_pages(self, listed: KindRow, namespace: str, report: ProgressReporter) -> None:
        path, number = listed.path(namespace), 0
        found, problems = Snapshot(), list[SourceError]()
        async for page in list_pages(self._source, path, problems=problems):
            for item in page:
                try:
                    self._reader.put(found, (listed.api_version, listed.kind), item)
                except DECODE_ERRORS as error:
                    problems.append(build_read_error(listed, item, error))
            number += len(page)
            report(listed.kind, number)
        self.snapshot.extend(found)
        self.problems += problems


def _needs_classes(snapshot: Snapshot) -> bool:
    return any(workload.subject.lacks_runtime_class for workload in snapshot.workloads)
