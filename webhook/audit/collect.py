"""
Manifests gathered into a snapshot.

Objects that neither hold a pod template nor say anything about spreading are passed over.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from webhook.audit.origins import Origin
from webhook.audit.snapshot import Owner, Pod, Snapshot, Unreadable, Workload, reduced
from webhook.cluster import wire
from webhook.cluster.lookup import BUILT_IN_OWNERS, REPLICATION_CONTROLLER
from webhook.cluster.manifests import NAMESPACE
from webhook.config import OwnerSelector
from webhook.errors import SourceError
from webhook.manifests import Document, TypeMismatch, find_type_mismatch, is_object
from webhook.policy.advice.reading import read
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.model import GroupKind, LabelSelector, ObjectMeta, group_of
from webhook.policy.paths import FieldPath, TemplatePath, find_value, format_path
from webhook.policy.workloads import POD

_SELECTOR: TemplatePath = ("spec", "selector")  # of every built-in controller
_NAME_LABEL = "kubernetes.io/metadata.name"  # kube-apiserver labels every Namespace with its name

T = TypeVar("T", bound=msgspec.Struct)


class Gathering:
    """
    A snapshot that grows object by object.

    Attributes:
        snapshot: What was gathered so far.
        problems: Objects of the cluster that are of wrong types; the snapshot is without them.
    """

    def __init__(
        self, templates: Mapping[GroupKind, TemplatePath], owners: Iterable[OwnerSelector]
    ) -> None:
        """
        Start with nothing.

        Args:
            templates: Where each kind with a pod template holds it.
            owners: Custom controllers whose selectors are asked for.
        """
        self.snapshot = Snapshot()
        self.problems: list[SourceError] = []
        self._templates = templates
        self._owners = {each.kind: each.path for each in owners}
        self._facts: dict[tuple[str, str], Callable[[Document], None]] = {
            ("v1", "Namespace"): self._put_namespace,
            ("v1", "Node"): lambda document: self._put(document, wire.Node, self.snapshot.nodes),
            ("v1", "Service"): lambda document: self._put(
                document, wire.Service, self.snapshot.services
            ),
        }

    def add(self, document: Document, *, asked: bool = True) -> None:
        """
        Take in one object.

        Args:
            document: The object.
            asked: Whether it is to be audited; else it is part of the cluster that others are in.
        """
        put = self._facts.get((document.api_version, document.kind))
        if put is not None:
            put(document)
            return
        kind = GroupKind(group_of(document.api_version), document.kind)
        if kind in self._templates:
            try:
                self._put_workload(document, kind, asked=asked)
            except msgspec.DecodeError as error:
                self._refuse(document, kind, error, asked=asked)
                return
        self._put_owner(document, kind)

    def _put(self, document: Document, kind: type[T], into: list[T]) -> None:
        if not document.name:
            problem = f"{document.kind}: metadata.name: missing, write one"
            self.problems.append(document.error(problem, ("metadata",)))
            return
        try:
            into.append(msgspec.convert(_in_namespace(document), kind))
        except msgspec.ValidationError as error:
            problem, path = find_type_mismatch(error, document.value)
            told = f"{document.kind}/{document.name}: {format_path(path)}: {problem}"
            self.problems.append(document.error(told, path))

    def _put_namespace(self, document: Document) -> None:
        metadata: Any = document.value.get("metadata")
        if is_object(metadata):
            labels: Any = metadata.get("labels") or {}
            if is_object(labels):
                named = {**metadata, "labels": {**labels, _NAME_LABEL: document.name}}
                document = replace(document, value={**document.value, "metadata": named})
        self._put(document, wire.Namespace, self.snapshot.namespaces)

    def _put_workload(self, document: Document, kind: GroupKind, *, asked: bool) -> None:
        origin = Origin.of(document)
        data = msgspec.json.encode(document.value)
        if kind == POD:
            self._put_pod(pod(data, NAMESPACE), origin, asked=asked)
            return
        subject = read(data, kind, self._templates[kind], document.namespace or NAMESPACE)
        if subject is not None:
            self.snapshot.workloads.append(
                Workload(
                    api_version=document.api_version,
                    subject=without_noise(subject),
                    origin=origin,
                    asked=asked,
                )
            )

    def _put_pod(self, found: Pod, origin: Origin, *, asked: bool) -> None:
        if found.metadata is None or found.metadata.controller is None:
            self.snapshot.workloads.append(workload_of(found, origin, asked=asked))
        (self.snapshot.pods if asked else self.snapshot.neighbours).append(found)

    def _put_owner(self, document: Document, kind: GroupKind) -> None:
        version = (document.api_version, document.kind)
        path = _SELECTOR if version in BUILT_IN_OWNERS else self._owners.get(kind)
        if path is None or not document.name:
            return
        held = find_value(document.value, path)
        if version == REPLICATION_CONTROLLER:
            held = {"matchLabels": held} if held is not None else None
        try:
            selector = msgspec.convert(held, LabelSelector | None)
        except msgspec.ValidationError as error:
            problem = f"{document.kind}/{document.name}: {format_path(path)}: {error}"
            self.problems.append(document.error(problem, path))
            return
        self.snapshot.owners.append(
            Owner(
                api_version=document.api_version,
                kind=document.kind,
                namespace=document.namespace or NAMESPACE,
                name=document.name,
                selector=selector,
            )
        )

    def _refuse(
        self, document: Document, kind: GroupKind, error: msgspec.DecodeError, *, asked: bool
    ) -> None:
        found = _mistype(document.value, self._templates[kind], error)
        if not asked:
            told = f"{document.kind}/{document.name}: {format_path(found.path)}: {found.problem}"
            self.problems.append(document.error(told, found.path))
            return
        self.snapshot.unreadable.append(
            Unreadable(
                api_version=document.api_version,
                kind=document.kind,
                namespace=document.namespace or NAMESPACE,
                name=document.name,
                source=document.source,
                line=document.line(),
                field=format_path(found.path),
                field_line=document.line(found.path),
                problem=found.problem,
            )
        )


def pod(data: bytes | msgspec.Raw, namespace: str = "") -> Pod:
    """
    Read a pod of a cluster.

    Args:
        data: As it stands on the wire.
        namespace: Of a manifest that names none.

    Raises:
        msgspec.DecodeError: It is of wrong types.
    """
    found = _decode_pod(data)
    metadata = found.metadata
    if metadata is None:
        return found
    if namespace and not metadata.namespace:
        metadata = replace(metadata, namespace=namespace)
    return replace(found, metadata=reduced(metadata))


_decode_pod = msgspec.json.Decoder(Pod).decode


def workload_of(found: Pod, origin: Origin | None = None, *, asked: bool = True) -> Workload:
    """A pod as what is audited."""
    metadata = found.metadata or ObjectMeta()
    subject = Subject(
        kind=POD,
        metadata=metadata,
        namespace=metadata.namespace,
        pod=SubjectPod(found.metadata, found.spec),
    )
    return Workload(api_version="v1", subject=subject, origin=origin, asked=asked)


def without_noise(subject: Subject) -> Subject:
    """A subject without the annotations that no rule reads."""
    inner = subject.pod.metadata
    held = replace(subject.pod, metadata=reduced(inner)) if inner else subject.pod
    return replace(subject, metadata=reduced(subject.metadata), pod=held)


def _in_namespace(document: Document) -> dict[str, Any]:
    value: dict[str, Any] = document.value
    metadata: Any = value.get("metadata")
    if not is_object(metadata) or metadata.get("namespace"):
        return value
    return {**value, "metadata": {**metadata, "namespace": NAMESPACE}}


def _mistype(value: Any, path: TemplatePath, error: msgspec.DecodeError) -> TypeMismatch:
    """Find the value that has the wrong type, from the whole object instead of a part of it."""
    places: tuple[tuple[FieldPath, Any], ...] = ((path, SubjectPod), (("metadata",), ObjectMeta))
    for at, kind in places:
        try:
            msgspec.convert(find_value(value, at), kind | None)
        except msgspec.ValidationError as found:
            problem, inner = find_type_mismatch(found, find_value(value, at))
            return TypeMismatch(problem, (*at, *inner))
    return TypeMismatch(str(error), ("spec",))
