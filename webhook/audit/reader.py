"""
The reader of objects for audits: one object of any source becomes entries of a snapshot.

``ObjectReader`` serves manifests (``collect``) and API servers (``listing``, ``sweep``). It keeps
no object and reports no problem; it raises, and the caller decides what that means.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.audit.origins import Origin
from webhook.audit.references import decode_reference
from webhook.audit.snapshot import (
    Snapshot,
    SnapshotFact,
    SnapshotOwner,
    SnapshotWorkload,
    reduce_metadata,
)
from webhook.audit.snapshotpods import SnapshotPod, SnapshotPodMetadata, mark_stored
from webhook.cluster import wire
from webhook.cluster.autoscalers import decode_autoscaler
from webhook.cluster.discovery import describe_exceptions, list_resources
from webhook.cluster.facts import Cluster, VersionKind
from webhook.cluster.podgroups import decode_pod_group
from webhook.cluster.policyexceptions import POLICY_EXCEPTION
from webhook.cluster.protocol import DECODE_ERRORS
from webhook.cluster.scheduling.runtimeclasses import decode_runtime_class
from webhook.cluster.storageclasses import decode_storage_class
from webhook.config.configuration import Configuration
from webhook.errors import SourceError
from webhook.policy.advice.decode import decode_subject
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.api.schema import StrictFinding
from webhook.policy.jobstatus import JOB_KINDS, count_remaining, is_finished, is_suspended
from webhook.policy.kinds import (
    AUTOSCALERS,
    BUILT_IN_KINDS,
    POD,
    POD_GROUP,
    ROLLOUT,
    RUNTIME_CLASS,
    STATEFUL_SET,
    STORAGE_CLASS,
    KindRow,
)
from webhook.policy.model import GroupKind, group_of
from webhook.policy.nesting import decode_nested
from webhook.policy.nextrevision import (
    REVISION_FIELDS,
    read_partition,
    read_partitioned,
    read_revision,
)
from webhook.policy.paths import FieldPath
from webhook.policy.places import find_places
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.unknown_fields import find_unknown_in_object, select_findings


class WorkloadSource(NamedTuple):
    """
    Where a workload comes from.

    Attributes:
        origin: Position in a file; None if an API server sent the object.
        strict: Its unknown and duplicate fields.
        requested: Whether to audit the object; otherwise it is only part of the cluster.
        withheld: Place of a pod template -> indexes of its constraints that are parts of a patch.
    """

    origin: Origin | None = None
    strict: tuple[StrictFinding, ...] = ()
    requested: bool = True
    withheld: Mapping[FieldPath, frozenset[int]] = MappingProxyType({})


FROM_SERVER = WorkloadSource()

_FACTS = (
    wire.NodeObject, wire.NamespaceObject, wire.ServiceObject, PolicyException, type(None)
)  # fmt: skip
"""Types of objects that are facts of a snapshot as they are decoded; others are owners."""

_decode_named = msgspec.json.Decoder(wire.NamedObject).decode
_decode_pod = msgspec.json.Decoder(SnapshotPod).decode

_WITH_STATUS = JOB_KINDS | REVISION_FIELDS.keys()
"""Kinds whose status shows something of their next pods."""

_MARK = b"pread"  # in the name of the list, and in nearly all misspellings of it


class ObjectReader:
    """
    Reads objects as JSON and puts them into snapshots.

    Attributes:
        templates: The path to the pod template, by kind.
        kinds: Kinds that hold pod templates, select pods or scale, built-in and custom ones.
    """

    def __init__(self, configuration: Configuration) -> None:
        """Prepare the decoders, also for the custom kinds that the configuration names."""
        self.templates = configuration.pod_templates
        cluster = Cluster(configuration.owner_selectors)
        known = AUTOSCALERS | {POD_GROUP, POLICY_EXCEPTION}
        self.kinds = self.templates.keys() | cluster.custom_paths.keys() | known
        exceptions = describe_exceptions(cluster.exception_store)
        resources = (*list_resources(cluster), exceptions)
        self._decoders = {item.key: item.decode for item in resources}

    def put(self, snapshot: Snapshot, version_kind: VersionKind, data: msgspec.Raw) -> None:
        """
        Put an object of an API server, of any depth, into a snapshot.

        Raises:
            msgspec.DecodeError: A value has the wrong type; the snapshot is unchanged.
        """
        fact = decode_nested(partial(self.decode_fact, version_kind), data)
        source = WorkloadSource(strict=self._find_unknown_fields(version_kind, data))
        decode_nested(partial(self.put_workload, snapshot, version_kind, source=source), data)
        snapshot.add_fact(fact)

    def _find_unknown_fields(
        self, version_kind: VersionKind, data: msgspec.Raw
    ) -> tuple[StrictFinding, ...]:
        """Find unknown fields of a custom kind; API servers drop those of built-in kinds."""
        kind = _group_kind(version_kind)
        places = self.templates.get(kind)
        if places is None or kind in BUILT_IN_KINDS or _MARK not in bytes(data):
            return ()
        return find_unknown_in_object(decode_nested(msgspec.json.decode, data), kind, places)

    def decode_fact(
        self, version_kind: VersionKind, data: bytes | msgspec.Raw
    ) -> SnapshotFact | None:
        """
        Decode a fact of a cluster, such as a Node or a PodGroup, or the selector of a controller.

        Returns:
            None for a kind that is none of these.

        Raises:
            msgspec.DecodeError: A value has the wrong type.
        """
        group_kind = _group_kind(version_kind)
        if group_kind in AUTOSCALERS:
            return decode_autoscaler(group_kind, data)
        if group_kind == STORAGE_CLASS:
            return decode_storage_class(data)
        if group_kind == RUNTIME_CLASS:
            return decode_runtime_class(data)
        if group_kind == POD_GROUP:
            return decode_pod_group(data)
        custom = self._decoders.get(group_kind)
        decode = self._decoders.get(version_kind, custom)
        found = decode(data) if decode else None
        if isinstance(found, _FACTS):
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
        source: WorkloadSource = FROM_SERVER,
    ) -> None:
        """
        Put a pod, or an object with a pod template, into a snapshot; ignore other kinds.

        Raises:
            msgspec.DecodeError: A value has the wrong type; the snapshot is unchanged.
        """
        group_kind = _group_kind(version_kind)
        if group_kind == POD:
            pod = mark_stored(_decode_pod(data))
            subjects = [_build_pod_subject(pod)]
            if pod.metadata is not None:
                pod = replace(pod, metadata=reduce_metadata(pod.metadata))
            (snapshot.pods if source.requested else snapshot.neighbours).append(pod)
        else:
            subjects = self._decode_subjects(group_kind, data)
        if group_kind == ROLLOUT and subjects == [None]:
            reference = decode_reference(data, group_kind)
            if reference is not None:
                placed = replace(reference, api_version=version_kind[0], origin=source.origin)
                snapshot.references.append(placed)
        present = [subject for subject in subjects if subject is not None]
        paths = [subject.path for subject in present]
        snapshot.workloads.extend(
            SnapshotWorkload(
                api_version=version_kind[0],
                subject=replace(
                    _remove_unread_annotations(subject),
                    unjudged=source.withheld.get(subject.path, frozenset()),
                ),
                origin=source.origin and source.origin.within(subject.path),
                requested=source.requested,
                strict=tuple(select_findings(source.strict, subject.path, paths)),
            )
            for subject in present
        )

    def _decode_subjects(self, kind: GroupKind, data: bytes | msgspec.Raw) -> list[Subject | None]:
        places = self.templates.get(kind)
        if places is None:
            return []
        is_read = kind in _WITH_STATUS or not isinstance(places, tuple)
        workload = msgspec.json.decode(data) if is_read else None
        paths = find_places(workload, places)
        subjects = (decode_subject(data, kind, path) for path in paths)
        return [subject and _add_status(subject, workload) for subject in subjects]


def _add_status(subject: Subject, workload: Any) -> Subject:
    """Add what the status of a workload, as JSON, shows of its next pods."""
    if subject.kind in JOB_KINDS:
        return _add_progress(subject, workload)
    return _add_revisions(subject, workload) if subject.kind in REVISION_FIELDS else subject


def _add_progress(subject: Subject, job: Any) -> Subject:
    """Add whether a Job is suspended or has finished; its replicas are the pods that are left."""
    remaining, replicas = count_remaining(subject.kind, job), subject.replicas
    if remaining is not None:
        replicas = remaining if replicas is None else min(remaining, replicas)
    return replace(
        subject,
        replicas=replicas,
        suspended=is_suspended(subject.kind, job),
        finished=is_finished(subject.kind, job),
    )


def _add_revisions(subject: Subject, workload: Any) -> Subject:
    """Add the revision of the next pod; with a partition, it depends on the pods' ordinals."""
    if not read_partition(workload):
        revision = read_revision(subject.kind, workload)
        return replace(subject, revision=revision) if revision else subject
    if subject.kind != STATEFUL_SET:
        return subject
    return replace(subject, partitioned=read_partitioned(workload))


def build_read_error(listed: KindRow, data: msgspec.Raw, error: Exception) -> SourceError:
    """Name the object of a list that cannot be read, by its request path as far as it has one."""
    try:
        named = decode_nested(_decode_named, data)
    except DECODE_ERRORS:
        return SourceError(listed.path(""), str(error))
    return SourceError(f"{listed.path(named.namespace)}/{named.name}", str(error))


def _build_pod_subject(pod: SnapshotPod) -> Subject | None:
    """Build the subject of a pod without a controller, which is audited until it has ended."""
    metadata = pod.metadata or SnapshotPodMetadata()
    if metadata.controller is not None or pod.is_gone:
        return None
    return Subject(
        kind=POD,
        metadata=metadata,
        namespace=metadata.namespace,
        pod=SubjectPod(pod.metadata, pod.spec),
        stored=pod.stored,
    )


def _remove_unread_annotations(subject: Subject) -> Subject:
    """Remove the annotations that no rule reads from a subject and its pod template."""
    metadata = subject.pod.metadata
    pod = replace(subject.pod, metadata=reduce_metadata(metadata)) if metadata else subject.pod
    return replace(subject, metadata=reduce_metadata(subject.metadata), pod=pod)


def _group_kind(version_kind: VersionKind) -> GroupKind:
    api_version, kind = version_kind
    return GroupKind(group_of(api_version), kind)
