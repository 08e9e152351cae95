"""
Snapshots: all objects that an audit reads, as one value and as one file.

A snapshot contains only what rules read: no environment variables, no images and no annotations of
others, so that it can be shared. Files are compressed JSON; equal snapshots give equal bytes.
"""

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path as File
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.audit.origins import Origin, StoredOrigin
from webhook.audit.references import TemplateReference
from webhook.audit.snapshotpods import SnapshotPod
from webhook.cluster import wire
from webhook.cluster.protocol import DECODE_ERRORS
from webhook.errors import SourceError
from webhook.policy.advice.podgroups import PodGroup
from webhook.policy.advice.scaling import Autoscaler
from webhook.policy.advice.storage import StorageClass
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.unspread import EXCLUSIVE_ANNOTATIONS
from webhook.policy.api.schema import StrictFinding
from webhook.policy.defaulting.inject import MIRROR_ANNOTATION
from webhook.policy.model import LabelSelector, ObjectMeta
from webhook.policy.paths import without_nulls
from webhook.policy.placement.runtimeclasses import RuntimeClass
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.scaledown.ranks import DELETION_COST

SNAPSHOT_API_VERSION = "evenspread.io/v1alpha1"
SNAPSHOT_KIND = "ClusterSnapshot"

MOST_SNAPSHOT_BYTES = 2 * 2**30  # of JSON; 150 000 pods take 70 MB
COMPRESSION_LEVEL = 6  # 9 takes three times as long and saves one per cent

_OUR_PREFIX = "evenspread.io/"  # annotations that rules read
REVISION_ANNOTATIONS = ("deployment.kubernetes.io/revision", "rollout.argoproj.io/revision")
"""Annotations of ReplicaSets that number the revisions of their controller."""

_READ_ANNOTATIONS = EXCLUSIVE_ANNOTATIONS.union(
    {MIRROR_ANNOTATION, DELETION_COST, *REVISION_ANNOTATIONS}
)
_GZIP = b"\x1f\x8b"
_START = f'{{"apiVersion":"{SNAPSHOT_API_VERSION}","kind":"{SNAPSHOT_KIND}"'.encode()


class SnapshotWorkload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    An object with a pod template, or a pod without a controller.

    Attributes:
        api_version: API version as written in the object.
        subject: The object, without its running pods.
        origin: Position in a file; None if an API server sent it.
        requested: Whether to audit it; otherwise it is only part of the cluster.
        strict: Its unknown and duplicate fields.
    """

    api_version: str
    subject: Subject
    origin: Origin | None = None
    requested: bool = msgspec.field(default=True, name="asked")
    strict: tuple[StrictFinding, ...] = ()


class SnapshotOwner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A controller and its label selector."""

    api_version: str
    kind: str
    namespace: str
    name: str
    selector: LabelSelector | None = None


SnapshotFact: TypeAlias = (
    wire.NamespaceObject
    | wire.NodeObject
    | wire.ServiceObject
    | SnapshotOwner
    | Autoscaler
    | StorageClass
    | RuntimeClass
    | PodGroup
    | PolicyException
)
"""What spreading depends on, besides workloads and their pods."""


class UnreadableField(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A value of the wrong type, and its line in the file, from 1."""

    field: str
    field_line: int
    problem: str


class UnreadableObject(UnreadableField, frozen=True, kw_only=True, rename="camel"):
    """
    An object with a value of the wrong type, which API servers refuse.

    Attributes:
        labels: Its own labels, as far as they can be read; absent in snapshots of earlier versions.
        more: Further values of wrong types.
        strict: Its unknown and duplicate fields.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    source: str
    line: int
    labels: Mapping[str, str] = {}
    more: tuple[UnreadableField, ...] = ()
    strict: tuple[StrictFinding, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    All objects that an audit reads; readers fill its lists.

    Attributes:
        workloads: Objects to audit, and their controllers.
        pods: All pods of the objects to audit.
        neighbours: Further pods, which only count.
        autoscalers: Autoscalers; absent in snapshots of earlier versions, as storage classes,
            runtime classes, PodGroups and exceptions.
        unreadable: Objects with values of wrong types.
        references: Objects whose pods are created from the template of another object.
        reference_namespaces: Namespaces of which all references are known; an empty name stands for
            all namespaces.
    """

    api_version: str = SNAPSHOT_API_VERSION
    kind: str = SNAPSHOT_KIND
    namespaces: list[wire.NamespaceObject] = []
    nodes: list[wire.NodeObject] = []
    services: list[wire.ServiceObject] = []
    owners: list[SnapshotOwner] = []
    autoscalers: list[Autoscaler] = []
    storage_classes: list[StorageClass] = []
    runtime_classes: list[RuntimeClass] = []
    pod_groups: list[PodGroup] = []
    exceptions: list[PolicyException] = []
    workloads: list[SnapshotWorkload] = []
    pods: list[SnapshotPod] = []
    neighbours: list[SnapshotPod] = []
    unreadable: list[UnreadableObject] = []
    references: list[TemplateReference] = []
    reference_namespaces: list[str] = []

    def add_fact(self, fact: SnapshotFact | None) -> None:
        """Add a fact to the list of its kind."""
        if fact is not None:
            facts: list[SnapshotFact] = getattr(self, _LIST_OF_FACTS[type(fact)])
            facts.append(fact)

    def extend(self, listed: "Snapshot") -> None:
        """Add the objects of a list."""
        for name in _LISTED:
            getattr(self, name).extend(getattr(listed, name))


_LIST_OF_FACTS: Mapping[type[SnapshotFact], str] = MappingProxyType(
    {
        wire.NamespaceObject: "namespaces",
        wire.NodeObject: "nodes",
        wire.ServiceObject: "services",
        SnapshotOwner: "owners",
        Autoscaler: "autoscalers",
        StorageClass: "storage_classes",
        RuntimeClass: "runtime_classes",
        PodGroup: "pod_groups",
        PolicyException: "exceptions",
    }
)
"""Type of a fact -> the list of a snapshot for it."""

_LISTED = (*_LIST_OF_FACTS.values(), "workloads", "pods", "references")
"""The lists of a snapshot that objects of API servers belong to."""


def reduce_metadata(metadata: ObjectMeta) -> ObjectMeta:
    """Remove the annotations that no rule reads; they may contain whole manifests."""
    annotations = metadata.annotations
    if not annotations:
        return metadata
    kept = {
        key: value
        for key, value in annotations.items()
        if key.startswith(_OUR_PREFIX) or key in _READ_ANNOTATIONS
    }
    return replace(metadata, annotations=kept)


def write_snapshot(snapshot: Snapshot, file: str) -> None:
    """
    Write a snapshot to a file.

    Raises:
        SourceError: The file cannot be written.
    """
    plain = without_nulls(msgspec.json.decode(msgspec.json.encode(snapshot, enc_hook=_store)))
    data = gzip.compress(msgspec.json.encode(plain), COMPRESSION_LEVEL, mtime=0)
    try:
        File(file).write_bytes(data)
    except OSError as error:
        raise SourceError(file, f"cannot be written: {error.strerror or error}") from error


def load_snapshot(file: str, most_bytes: int = MOST_SNAPSHOT_BYTES) -> Snapshot:
    """
    Load a snapshot from a file of at most this number of bytes, unpacked.

    Raises:
        SourceError: The file cannot be read, or is no snapshot.
    """
    try:
        snapshot = _decode(_read(file, most_bytes))
    except (gzip.BadGzipFile, EOFError, zlib.error, *DECODE_ERRORS) as error:
        raise SourceError(file, f"is no snapshot: {error}; {_HOW}") from error
    except OSError as error:
        raise SourceError(file, f"cannot be read: {error.strerror or error}") from error
    if (snapshot.api_version, snapshot.kind) != (SNAPSHOT_API_VERSION, SNAPSHOT_KIND):
        actual = f"{snapshot.api_version}, {snapshot.kind}"
        raise SourceError(file, f"is no snapshot of a supported version, but {actual}; {_HOW}")
    return snapshot


def is_snapshot(file: str) -> bool:
    """Whether a file looks like a snapshot by its first bytes; False if it cannot be read."""
    try:
        with File(file).open("rb") as stream:
            start = stream.read(len(_START))
    except OSError:
        return False
    return start.startswith(_GZIP) or start == _START


_HOW = "make one with evenspread audit --save-snapshot FILE"


def _read(file: str, most_bytes: int) -> bytes:
    with File(file).open("rb") as stream:
        is_packed = stream.read(len(_GZIP)) == _GZIP
        stream.seek(0)
        data = (gzip.GzipFile(fileobj=stream) if is_packed else stream).read(most_bytes + 1)
    if len(data) > most_bytes:
        raise SourceError(file, f"holds more than {most_bytes / 2**30:g} GiB")
    return data


def _store(value: Origin | range) -> StoredOrigin | tuple[int, int]:
    return (value.start, value.stop) if isinstance(value, range) else value.store()


def _restore(kind: type, stored: Any) -> Origin | range:
    if kind is range:
        return range(*msgspec.convert(stored, tuple[int, int]))
    assert kind is Origin, "the only other type that msgspec cannot decode"
    return Origin.restore(msgspec.convert(stored, StoredOrigin))


_decode = msgspec.json.Decoder(Snapshot, dec_hook=_restore).decode
