"""
The objects that a plan of evictions reads, from files and from an API server: ``PlanningObjects``.

``list_planning_objects`` reads a live cluster. It decides nothing; see ``workloads.read_scope``.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, get_args

import msgspec

from webhook.cluster import wire
from webhook.cluster.discovery import ObjectDecoder, list_resources
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import LIST_TRIES, list_pages
from webhook.cluster.manifests import complete_metadata
from webhook.cluster.protocol import DECODE_ERRORS, ApiClient, FailureReason
from webhook.cluster.scheduling.workloads import WorkloadObjects
from webhook.errors import ApiError, ExpiredError, SourceError
from webhook.manifests import Document, find_type_mismatch
from webhook.policy import kinds
from webhook.policy.kinds import KindRow
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import format_path

PLANNING_KINDS: Mapping[str, KindRow] = MappingProxyType(
    {
        "nodes": kinds.BUILT_IN_KINDS[kinds.NODE],
        "namespaces": kinds.BUILT_IN_KINDS[kinds.NAMESPACE_KIND],
        "deployments": kinds.BUILT_IN_KINDS[kinds.DEPLOYMENT],
        "replica_sets": kinds.BUILT_IN_KINDS[kinds.REPLICA_SET],
        "stateful_sets": kinds.BUILT_IN_KINDS[kinds.STATEFUL_SET],
        "replication_controllers": kinds.BUILT_IN_KINDS[kinds.REPLICATION_CONTROLLER],
        "services": kinds.BUILT_IN_KINDS[kinds.SERVICE],
        "pod_disruption_budgets": kinds.BUILT_IN_KINDS[kinds.POD_DISRUPTION_BUDGET],
        "persistent_volumes": kinds.BUILT_IN_KINDS[kinds.VOLUME],
        "persistent_volume_claims": kinds.BUILT_IN_KINDS[kinds.VOLUME_CLAIM],
        "storage_classes": kinds.BUILT_IN_KINDS[kinds.STORAGE_CLASS],
        "csi_nodes": kinds.BUILT_IN_KINDS[kinds.CSI_NODE],
        "csi_drivers": kinds.BUILT_IN_KINDS[kinds.CSI_DRIVER],
        "csi_storage_capacities": kinds.BUILT_IN_KINDS[kinds.CSI_CAPACITY],
        "volume_attachments": kinds.BUILT_IN_KINDS[kinds.VOLUME_ATTACHMENT],
        "pods": kinds.BUILT_IN_KINDS[kinds.POD],
    }
)
"""Field of ``WorkloadObjects`` -> kind; Services are only facts. Pods change most, and are last."""

_FIELDS = {row.group_kind: field for field, row in PLANNING_KINDS.items()}

_REQUIRED = frozenset({"nodes", "pods"})
_EVERYWHERE = frozenset({"pods", "persistent_volume_claims", "csi_storage_capacities"})
"""Kinds whose objects of other namespaces take room, or have it."""

ProgressReporter: TypeAlias = Callable[[str, int], None]
"""Called with a kind and the number of its objects read so far."""


def _find_decoders() -> Iterator[tuple[str, ObjectDecoder]]:
    """Yield the fields of ``WorkloadObjects``, tuples or None, with the decoders of their items."""
    for field in msgspec.structs.fields(WorkloadObjects):
        (items, *_) = get_args(field.type)
        (item, *_) = get_args(items)
        yield field.name, msgspec.json.Decoder(item).decode


_DECODERS: Mapping[str, ObjectDecoder] = MappingProxyType(dict(_find_decoders()))


class PlanningObjects:
    """
    Objects of a cluster; of two with the same kind and name, the later one replaces the other.

    Attributes:
        facts: The Services and controllers, for the scheduler's default constraints.
        unknown: Kinds that could not be listed; a plan does not consider their objects.
    """

    def __init__(self) -> None:
        self.facts = Cluster()
        self.unknown: list[SourceError] = []
        self._resources = {resource.key: resource for resource in list_resources(self.facts)}
        self._found: dict[str, dict[tuple[str, str], Any]] = {name: {} for name in _DECODERS}

    @property
    def objects(self) -> WorkloadObjects:
        """All objects, in the order of their namespaces and names."""
        fields = {
            field: tuple(found[name] for name in sorted(found))
            for field, found in self._found.items()
        }
        return WorkloadObjects(**fields)

    @property
    def namespaces(self) -> set[str]:
        """The namespaces of the pods."""
        return {namespace for namespace, _ in self._found["pods"]}

    def put(self, field: str, data: bytes | msgspec.Raw) -> None:
        """
        Put an object.

        Args:
            field: Its kind, a key of ``PLANNING_KINDS``.
            data: As JSON.

        Raises:
            msgspec.MsgspecError: A value has the wrong type.
        """
        row = PLANNING_KINDS[field]
        resource = self._resources.get((row.api_version, row.kind))
        if resource is not None:
            resource.store.put(resource.decode(data))
        decode = _DECODERS.get(field)
        if decode is not None:
            named = decode_nested(_decode_name, data)
            name = (named.namespace if row.namespaced else "", named.name)
            self._found[field][name] = decode_nested(decode, data)

    def put_document(self, document: Document, namespace: str) -> SourceError | None:
        """
        Put an object of a file; ignore a kind that no plan reads.

        Args:
            namespace: Namespace of objects that name none.

        Returns:
            The error of an object that cannot be read.
        """
        field = _FIELDS.get(document.group_kind)
        if field is None:
            return None
        try:
            self.put(field, msgspec.json.encode(complete_metadata(document, namespace)))
        except msgspec.ValidationError as error:
            problem, path = find_type_mismatch(error, document.value)
            where = f"{document.kind}/{document.name}: {format_path(path)}"
            return document.error(f"{where}: {problem}", path)
        return None


_decode_name = msgspec.json.Decoder(wire.NamedObject).decode


async def list_planning_objects(
    client: ApiClient,
    namespace: str = "",
    report: ProgressReporter = lambda _kind, _number: None,
) -> PlanningObjects:
    """
    List the objects of a live cluster.

    A kind that the user may not list is not considered. Of kinds whose objects elsewhere take room,
    those of the namespace are listed then.

    Args:
        namespace: Of the workloads; empty for all.

    Raises:
        ApiError: The nodes or the pods cannot be listed, or the API server does not answer.
    """
    listing = _Listing(client, report)
    for field, row in PLANNING_KINDS.items():
        await listing.read(field, _list_scopes(field, row, namespace))
    return listing.found


def _list_scopes(field: str, row: KindRow, namespace: str) -> tuple[str, ...]:
    """List the namespaces to read a kind from, until one of them may be read; empty for all."""
    if not namespace or not row.namespaced:
        return ("",)
    return ("", namespace) if field in _EVERYWHERE else (namespace,)


class _Listing:
    """Objects that grow list by list."""

    def __init__(self, client: ApiClient, report: ProgressReporter) -> None:
        self.found = PlanningObjects()
        self._client, self._report = client, report

    async def read(self, field: str, namespaces: tuple[str, ...]) -> None:
        """Read a kind from the first namespace that may be read."""
        refused: ApiError | None = None
        for namespace in namespaces:
            try:
                await self._read(field, namespace)
            except ApiError as error:
                if error.reason not in (FailureReason.FORBIDDEN, FailureReason.ABSENT):
                    raise
                refused = error
                if error.reason is FailureReason.FORBIDDEN:
                    where = f" in namespace {namespace}" if namespace else ""
                    kind = f"{PLANNING_KINDS[field].kind}s"
                    self.found.unknown.append(SourceError(f"{kind}{where}", error.problem))
            else:
                return
        if refused is not None and field in _REQUIRED:
            raise refused

    async def _read(self, field: str, namespace: str, tries: int = LIST_TRIES) -> None:
        """Read a list; if it expires, start again, ``tries`` times in all."""
        row, number = PLANNING_KINDS[field], 0
        unknown = self.found.unknown
        try:
            async for page in list_pages(self._client, row.path(namespace), problems=unknown):
                for item in page:
                    self._put(field, item)
                number += len(page)
                self._report(row.kind, number)
        except ExpiredError:
            if tries <= 1:
                raise
            await self._read(field, namespace, tries - 1)

    def _put(self, field: str, item: msgspec.Raw) -> None:
        try:
            self.found.put(field, item)
        except DECODE_ERRORS as error:
            kind = PLANNING_KINDS[field].kind
            self.found.unknown.append(SourceError(kind, f"cannot be read: {error}"))
