"""
Union of snapshots: the objects of several sources, without duplicates.

``merge_snapshots`` is the entry point. An object that is in several sources is taken from the first
of them. Objects without a name, which the API server would name, are always kept.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.audit.groups import key_of
from webhook.audit.snapshot import Snapshot, SnapshotWorkload
from webhook.audit.snapshotpods import SnapshotPod
from webhook.policy.kinds import DEFAULT_NAMESPACE


def merge_snapshots(sources: Sequence[Snapshot]) -> Snapshot:
    """
    Unite snapshots.

    Args:
        sources: In the order of their precedence; objects of the same source are never dropped.
    """
    if len(sources) == 1:
        return sources[0]
    merged, seen = Snapshot(), set[Hashable]()
    for source in sources:
        added = set[Hashable]()
        for field in _LISTS:
            target: list[Any] = getattr(merged, field)
            for item in getattr(source, field):
                key = _key_of(item)
                if key is None or key not in seen:
                    target.append(item)
                    added.add(key)
        seen |= added
    return merged


def as_context(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot whose workloads are not audited, and whose pods only count."""
    return replace(
        snapshot,
        workloads=[replace(workload, requested=False) for workload in snapshot.workloads],
        pods=[],
        neighbours=[*snapshot.pods, *snapshot.neighbours],
        unreadable=[],
    )


def list_namespaces(snapshots: Iterable[Snapshot]) -> set[str]:
    """List the namespaces that exist: those of objects, and Namespaces without objects."""
    found = set[str]()
    for snapshot in snapshots:
        found.update(item.name for item in snapshot.namespaces)
        found.update(item.subject.namespace for item in snapshot.workloads)
        found.update(item.namespace for item in snapshot.services)
        found.update(item.namespace for item in snapshot.owners)
        found.update(item.namespace for item in snapshot.unreadable)
        for pod in (*snapshot.pods, *snapshot.neighbours):
            found.add(pod.metadata.namespace if pod.metadata else "")
    return found - {""}


_LISTS = tuple(
    field.name
    for field in msgspec.structs.fields(Snapshot)
    if field.name not in ("api_version", "kind")
)


def _key_of(item: Any) -> Hashable:
    """Return the identity of an object, or of a namespace's name; None for one without a name."""
    if isinstance(item, str):
        return ("name", item)
    if isinstance(item, SnapshotWorkload):
        key = key_of(item.subject)
        return ("workload", key) if key.name else None
    if isinstance(item, SnapshotPod):
        metadata = item.metadata
        namespace = (metadata and metadata.namespace) or DEFAULT_NAMESPACE
        return ("pod", namespace, metadata.name) if metadata and metadata.name else None
    kind = (type(item).__name__, getattr(item, "api_version", ""), getattr(item, "kind", ""))
    return (*kind, item.namespace, item.name) if item.name else None
