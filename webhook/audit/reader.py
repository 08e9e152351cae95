"""
The reader of objects for audits: one object of any source becomes entries of a snapshot.

``ObjectReader`` serves manifests (``collect``) and API servers (``listing``, ``sweep``). It keeps
no object and reports no problem; it raises, and the caller decides what that means.
"""

from functools import partial

import msgspec
from msgspec.structs import replace

from webhook.audit.origins import Origin
from webhook.audit.snapshot import (
    Snapshot,
    SnapshotFact,
    SnapshotOwner,
    SnapshotPod,
    SnapshotWorkload,
    reduce_metadata,
)
from webhook.cluster import wire
from webhook.cluster.discovery import list_resources
from webhook.cluster.facts import Cluster, VersionKind
from webhook.cluster.protocol import DECODE_ERRORS
from webhook.config import Configuration
from webhook.errors import SourceError
from webhook.policy.advice.decode import decode_subject
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.kinds import POD, KindRow
from webhook.policy.model import GroupKind, ObjectMeta, group_of
from webhook.policy.nesting import decode_nested

_decode_named = msgspec.json.Decoder(wire.NamedObject).decode
_decode_pod = msgspec.json.Decoder(SnapshotPod).decode


class ObjectReader:
    """
    Reads objects as JSON and puts them into snapshots.

    Attributes:
        templates: The path to the pod template, by kind.
        kinds: Kinds that hold pod templates or select pods, built-in and custom ones.
    """

    def __init__(self, configuration: Configuration) -> None:
        """Prepare the decoders, also for the custom kinds that the configuration names."""
        self.templates = configuration.pod_templates
        cluster = Cluster(configuration.owner_selectors)
        self.kinds = self.templates.keys() | cluster.custom_paths.keys()
        self._decoders = {item.key: item.decode for item in list_resources(cluster)}

    def put(self, snapshot: Snapshot, version_kind: VersionKind, data: msgspec.Raw) -> None:
        """
        Put an object of an API server, of any depth, into a snapshot.

        Raises:
            msgspec.DecodeError: A value has the wrong type; the snapshot is unchanged.
        """
        fact = self.decode_fact(version_kind, data)
        decode_nested(partial(self.put_workload, snapshot, version_kind), data)
        snapshot.add_fact(fact)

    def decode_fact(
        self, version_kind: VersionKind, data: bytes | msgspec.Raw
    ) -> SnapshotFact | None:
        """
        Decode a Node, Namespace or Service, or the selector of a controller.

        Returns:
            None for a kind that is none of these.

        Raises:
            msgspec.DecodeError: A value has the wrong type.
        """
        custom = self._decoders.get(_group_kind(version_kind))
        decode = self._decoders.get(version_kind, custom)
        found = decode(data) if decode else None
        if isinstance(found, wire.NodeObject | wire.NamespaceObject | wire.ServiceObject | None):
            return found
        api_version, kind = version_kind
        return SnapshotOwner(
            api_version=api_version,
            kind=kind,
            namespace=found.namespace,
            name=found.name,
            selector=found.selector,
        )

    def put_workload(
        self,
        snapshot: Snapshot,
        version_kind: VersionKind,
        data: bytes | msgspec.Raw,
        origin: Origin | None = None,
        *,
        requested: bool = True,
    ) -> None:
        """
        Put a pod, or an object with a pod template, into a snapshot; ignore other kinds.

        Args:
            origin: Position in a file; None if an API server sent the object.
            requested: Whether to audit the object; otherwise it is only part of the cluster.

        Raises:
            msgspec.DecodeError: A value has the wrong type; the snapshot is unchanged.
        """
        group_kind = _group_kind(version_kind)
        path, subject = self.templates.get(group_kind), None
        if group_kind == POD:
            pod = _decode_pod(data)
            if pod.metadata is not None:
                pod = replace(pod, metadata=reduce_metadata(pod.metadata))
            (snapshot.pods if requested else snapshot.neighbours).append(pod)
            subject = _build_pod_subject(pod)
        elif path is not None:
            subject = decode_subject(data, group_kind, path)
        if subject is not None:
            workload = SnapshotWorkload(
                api_version=version_kind[0],
                subject=_remove_unread_annotations(subject),
                origin=origin,
                requested=requested,
            )
            snapshot.workloads.append(workload)


def build_read_error(listed: KindRow, data: msgspec.Raw, error: Exception) -> SourceError:
    """Name the object of a list that cannot be read, by its request path as far as it has one."""
    try:
        named = decode_nested(_decode_named, data)
    except DECODE_ERRORS:
        return SourceError(listed.path(""), str(error))
    return SourceError(f"{listed.path(named.namespace)}/{named.name}", str(error))


def _build_pod_subject(pod: SnapshotPod) -> Subject | None:
    """Build the subject of a pod without a controller, which is audited by itself."""
    metadata = pod.metadata or ObjectMeta()
    if metadata.controller is not None:
        return None
    template = SubjectPod(pod.metadata, pod.spec)
    return Subject(kind=POD, metadata=metadata, namespace=metadata.namespace, pod=template)


def _remove_unread_annotations(subject: Subject) -> Subject:
    """Remove the annotations that no rule reads from a subject and its pod template."""
    metadata = subject.pod.metadata
    pod = replace(subject.pod, metadata=reduce_metadata(metadata)) if metadata else subject.pod
    return replace(subject, metadata=reduce_metadata(subject.metadata), pod=pod)


def _group_kind(version_kind: VersionKind) -> GroupKind:
    api_version, kind = version_kind
    return GroupKind(group_of(api_version), kind)
