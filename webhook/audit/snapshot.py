"""
Everything that an audit looks at, in one value and in one file.

Of each object there is only what some rule reads: no environment, no images, no annotation but
our own, so that a snapshot can be given away. Files are JSON, compressed; equal snapshots are
equal bytes.
"""

import gzip
import zlib
from pathlib import Path as File
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.audit.origins import Origin, StoredOrigin
from webhook.cluster import wire
from webhook.errors import SourceError
from webhook.manifests import is_object
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.defaulting.inject import MIRROR_ANNOTATION
from webhook.policy.model import LabelSelector, ObjectMeta
from webhook.policy.paths import CONSTRAINTS_IN_POD, TemplatePath, is_array
from webhook.policy.placement.census import FINISHED, ObservedStatus

SNAPSHOT_API_VERSION = "evenspread.io/v1alpha1"
SNAPSHOT_KIND = "ClusterSnapshot"

MOST_SNAPSHOT_BYTES = 2 * 2**30  # bytes of JSON; 150 000 pods take 70 MB
COMPRESSION_LEVEL = 6  # of compression; 9 takes three times as long for one hundredth less

_OURS = "evenspread.io/"  # annotations that rules read
_GZIP = b"\x1f\x8b"


class SnapshotPodMetadata(ObjectMeta, frozen=True, rename="camel", gc=False):
    """A pod's metadata, and whether it is going away."""

    deletion_timestamp: str | None = None


class SnapshotPod(SubjectPod, frozen=True, rename="camel", gc=False):
    """A pod of the cluster."""

    metadata: SnapshotPodMetadata | None = None
    status: ObservedStatus | None = None

    @property
    def is_gone(self) -> bool:
        """Whether it is finished, or about to go: such a pod neither counts nor is audited."""
        if self.metadata is not None and self.metadata.deletion_timestamp is not None:
            return True
        return self.status is not None and self.status.phase in FINISHED


class SnapshotWorkload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    An object that holds a pod template, or a pod that nobody controls.

    Attributes:
        api_version: As the object says it.
        subject: The object, without pods.
        origin: Where it was read; None if that was an API server.
        requested: Whether it is audited; otherwise it is only part of the cluster.
    """

    api_version: str
    subject: Subject
    origin: Origin | None = None
    requested: bool = msgspec.field(default=True, name="asked")


class SnapshotOwner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A controller, and the pods that it selects."""

    api_version: str
    kind: str
    namespace: str
    name: str
    selector: LabelSelector | None = None


class UnreadableObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object with a value of the wrong type, which no API server would take."""

    api_version: str
    kind: str
    namespace: str
    name: str
    source: str
    line: int
    field: str
    field_line: int
    problem: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    Everything that an audit looks at; lists are filled by whoever gathers it.

    Attributes:
        workloads: What is audited, and what it belongs to.
        pods: All pods of what is audited.
        neighbours: Further pods, which only count.
        unreadable: Objects that could not be read as what they say they are.
    """

    api_version: str = SNAPSHOT_API_VERSION
    kind: str = SNAPSHOT_KIND
    namespaces: list[wire.NamespaceObject] = msgspec.field(
        default_factory=list[wire.NamespaceObject]
    )
    nodes: list[wire.NodeObject] = msgspec.field(default_factory=list[wire.NodeObject])
    services: list[wire.ServiceObject] = msgspec.field(default_factory=list[wire.ServiceObject])
    owners: list[SnapshotOwner] = msgspec.field(default_factory=list[SnapshotOwner])
    workloads: list[SnapshotWorkload] = msgspec.field(default_factory=list[SnapshotWorkload])
    pods: list[SnapshotPod] = msgspec.field(default_factory=list[SnapshotPod])
    neighbours: list[SnapshotPod] = msgspec.field(default_factory=list[SnapshotPod])
    unreadable: list[UnreadableObject] = msgspec.field(default_factory=list[UnreadableObject])


def reduce_metadata(metadata: ObjectMeta) -> ObjectMeta:
    """Metadata without the annotations that no rule reads: they may hold whole manifests."""
    annotations = metadata.annotations
    if not annotations:
        return metadata
    kept = {
        key: value
        for key, value in annotations.items()
        if key.startswith(_OURS) or key == MIRROR_ANNOTATION
    }
    return replace(metadata, annotations=kept)


def constraints_path(path: TemplatePath) -> tuple[str, ...]:
    """Where an object holds its constraints, given where it holds its pod template."""
    return (*path, *CONSTRAINTS_IN_POD)


def write_snapshot(snapshot: Snapshot, file: str) -> None:
    """
    Write a snapshot.

    Raises:
        SourceError: The file cannot be written.
    """
    stored = replace(snapshot, workloads=[_stored(each) for each in snapshot.workloads])
    plain = _without_nulls(msgspec.json.decode(msgspec.json.encode(stored)))
    data = gzip.compress(msgspec.json.encode(plain), COMPRESSION_LEVEL, mtime=0)
    try:
        File(file).write_bytes(data)
    except OSError as error:
        raise SourceError(file, f"cannot be written: {error.strerror or error}") from error


def load_snapshot(file: str) -> Snapshot:
    """
    Read a snapshot.

    Raises:
        SourceError: The file cannot be read, or is no snapshot.
    """
    try:
        snapshot = _decode(_read(file))
    except (gzip.BadGzipFile, EOFError, zlib.error, msgspec.MsgspecError) as error:
        raise SourceError(file, f"is no snapshot: {error}; {_HOW}") from error
    except OSError as error:
        raise SourceError(file, f"cannot be read: {error.strerror or error}") from error
    if (snapshot.api_version, snapshot.kind) != (SNAPSHOT_API_VERSION, SNAPSHOT_KIND):
        said = f"{snapshot.api_version}, {snapshot.kind}"
        raise SourceError(file, f"is no snapshot that can be read, but {said}; {_HOW}")
    return snapshot


_HOW = "make one with evenspread audit --save-snapshot FILE"


def _read(file: str) -> bytes:
    with File(file).open("rb") as stream:
        is_packed = stream.read(len(_GZIP)) == _GZIP
        stream.seek(0)
        data = (gzip.GzipFile(fileobj=stream) if is_packed else stream).read(
            MOST_SNAPSHOT_BYTES + 1
        )
    if len(data) > MOST_SNAPSHOT_BYTES:
        raise SourceError(file, f"holds more than {MOST_SNAPSHOT_BYTES >> 30} GiB")
    return data


def _restore(kind: type, stored: Any) -> Origin:
    assert kind is Origin, "the only type that msgspec does not know"
    return Origin.restore(msgspec.convert(stored, StoredOrigin))


_decode = msgspec.json.Decoder(Snapshot, dec_hook=_restore).decode


def _stored(workload: SnapshotWorkload) -> Any:
    """Give what was read from a file its lines in place of the file."""
    if workload.origin is None:
        return workload
    lines: Any = workload.origin.store(constraints_path(workload.subject.path))
    return replace(workload, origin=lines)


def _without_nulls(value: Any) -> Any:
    """Leave out what is not set, which is most of it."""
    if is_object(value):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(each) for each in value] if is_array(value) else value
