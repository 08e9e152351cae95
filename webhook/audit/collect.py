"""
The collector of manifests: documents of files become a snapshot.

``ManifestCollector.add`` takes one document after the other and ignores kinds that neither hold a
pod template nor affect spreading. It reads no file itself.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from webhook.audit.origins import Origin
from webhook.audit.reader import ManifestContext, ObjectReader
from webhook.audit.snapshot import Snapshot, UnreadableObject
from webhook.cluster.facts import VersionKind
from webhook.cluster.manifests import DEFAULT_NAMESPACE, complete_metadata
from webhook.config import OwnerSelector
from webhook.errors import SourceError
from webhook.manifests import Document, TypeMismatch, find_type_mismatch
from webhook.policy.advice.subject import SubjectPod
from webhook.policy.model import GroupKind, ObjectMeta, group_of
from webhook.policy.paths import FieldPath, TemplatePath, find_value, format_path

_FACT_KINDS = {("v1", "Namespace"), ("v1", "Node"), ("v1", "Service")}


class ManifestCollector:
    """
    A snapshot that grows document by document.

    Attributes:
        snapshot: The objects collected so far.
        problems: Objects of the cluster that cannot be read; the snapshot is without them.
    """

    def __init__(
        self, templates: Mapping[GroupKind, TemplatePath], owners: Iterable[OwnerSelector]
    ) -> None:
        """
        Start with an empty snapshot.

        Args:
            templates: The path to the pod template, by kind.
            owners: Custom controllers that select pods.
        """
        self.snapshot = Snapshot()
        self.problems: list[SourceError] = []
        self._reader = ObjectReader(templates, owners)

    def add(self, document: Document, *, requested: bool = True) -> None:
        """
        Add one object.

        Args:
            document: The object.
            requested: Whether to audit the object; otherwise it is only part of the cluster.
        """
        if _version_kind(document) in _FACT_KINDS:
            self._add_fact(document)
        elif self._add_workload(document, requested=requested):
            self._add_owner(document)

    def _add_fact(self, document: Document) -> None:
        if not document.name:
            problem = f"{document.kind}: metadata.name: missing, write one"
            self.problems.append(document.error(problem, ("metadata",)))
            return
        data = msgspec.json.encode(complete_metadata(document, DEFAULT_NAMESPACE))
        try:
            self._reader.put_fact(self.snapshot, _version_kind(document), data)
        except msgspec.ValidationError as error:
            self._report_problem(document, find_type_mismatch(error, document.value))

    def _add_workload(self, document: Document, *, requested: bool) -> bool:
        """Add an object that may hold a pod template; return whether its types are right."""
        kind = GroupKind(group_of(document.api_version), document.kind)
        path = self._reader.templates.get(kind)
        if path is None:
            return True
        try:
            self._reader.put_workload(
                self.snapshot,
                _version_kind(document),
                msgspec.json.encode(document.value),
                ManifestContext(
                    document.namespace or DEFAULT_NAMESPACE, Origin.of(document), requested
                ),
            )
        except msgspec.DecodeError as error:
            found = _locate_type_error(document.value, path, error)
            if requested:
                self.snapshot.unreadable.append(_build_unreadable(document, found))
            else:
                self._report_problem(document, found)
            return False
        return True

    def _add_owner(self, document: Document) -> None:
        if not document.name or not self._reader.is_owner(_version_kind(document)):
            return
        data, namespace = (
            msgspec.json.encode(document.value),
            document.namespace or DEFAULT_NAMESPACE,
        )
        try:
            owners = self._reader.read_owner(_version_kind(document), data, namespace)
        except msgspec.ValidationError as error:
            self._report_problem(document, find_type_mismatch(error, document.value))
        else:
            self.snapshot.owners.extend(owners)

    def _report_problem(self, document: Document, found: TypeMismatch) -> None:
        problem = f"{document.kind}/{document.name}: {format_path(found.path)}: {found.problem}"
        self.problems.append(document.error(problem, found.path))


def _version_kind(document: Document) -> VersionKind:
    return document.api_version, document.kind


def _build_unreadable(document: Document, found: TypeMismatch) -> UnreadableObject:
    return UnreadableObject(
        api_version=document.api_version,
        kind=document.kind,
        namespace=document.namespace or DEFAULT_NAMESPACE,
        name=document.name,
        source=document.source,
        line=document.line(),
        field=format_path(found.path),
        field_line=document.line(found.path),
        problem=found.problem,
    )


def _locate_type_error(value: Any, path: TemplatePath, error: msgspec.DecodeError) -> TypeMismatch:
    """Find the value of the wrong type, with its path from the whole object."""
    places: tuple[tuple[FieldPath, Any], ...] = ((path, SubjectPod), (("metadata",), ObjectMeta))
    for outer, kind in places:
        inner = find_value(value, outer)
        try:
            msgspec.convert(inner, kind | None)
        except msgspec.ValidationError as found:
            problem, steps = find_type_mismatch(found, inner)
            return TypeMismatch(problem, (*outer, *steps))
    return TypeMismatch(str(error), ("spec",))
