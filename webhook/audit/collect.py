"""
The collector of manifests: documents of files become a snapshot.

``ManifestCollector.add`` takes one document after the other and ignores kinds that neither hold a
pod template nor affect spreading. It reads no file itself.
"""

from typing import Any

import msgspec

from webhook.audit.origins import Origin
from webhook.audit.reader import ObjectReader
from webhook.audit.snapshot import Snapshot, SnapshotOwner, UnreadableObject
from webhook.cluster.manifests import DEFAULT_NAMESPACE, complete_metadata
from webhook.config import Configuration
from webhook.errors import SourceError
from webhook.manifests import Document, find_type_mismatch
from webhook.manifests.type_errors import TypeMismatch
from webhook.policy.advice.subject import SubjectPod
from webhook.policy.model import GroupKind, ObjectMeta, group_of
from webhook.policy.paths import FieldPath, TemplatePath, find_value, format_path


class ManifestCollector:
    """
    A snapshot that grows document by document.

    Attributes:
        snapshot: The objects collected so far.
        problems: Objects of the cluster that cannot be read; the snapshot is without them.
    """

    def __init__(self, configuration: Configuration) -> None:
        """Start with an empty snapshot, for the kinds of an ``ObjectReader``."""
        self.snapshot = Snapshot()
        self.problems: list[SourceError] = []
        self._reader = ObjectReader(configuration)

    def add(self, document: Document, *, requested: bool = True) -> None:
        """
        Add one object.

        Args:
            document: The object.
            requested: Whether to audit the object; otherwise it is only part of the cluster.
        """
        version_kind = document.api_version, document.kind
        data = msgspec.json.encode(complete_metadata(document, DEFAULT_NAMESPACE))
        if not self._add_workload(document, data, requested=requested):
            return
        try:
            fact = self._reader.decode_fact(version_kind, data)
        except msgspec.ValidationError as error:
            self._report_problem(document, find_type_mismatch(error, document.value))
            return
        if document.name:
            self.snapshot.add_fact(fact)
        elif fact is not None and not isinstance(fact, SnapshotOwner):
            problem = f"{document.kind}: metadata.name: missing, write one"
            self.problems.append(document.error(problem, ("metadata",)))

    def _add_workload(self, document: Document, data: bytes, *, requested: bool) -> bool:
        """Add an object that may hold a pod template; return whether its types are right."""
        kind = GroupKind(group_of(document.api_version), document.kind)
        path = self._reader.templates.get(kind)
        if path is None:
            return True
        version_kind, origin = (document.api_version, document.kind), Origin.of(document, path)
        try:
            self._reader.put_workload(
                self.snapshot, version_kind, data, origin, requested=requested
            )
        except msgspec.ValidationError as error:
            found = _locate_type_error(document.value, path, error)
            if requested:
                self.snapshot.unreadable.append(_build_unreadable(document, found))
            else:
                self._report_problem(document, found)
            return False
        return True

    def _report_problem(self, document: Document, found: TypeMismatch) -> None:
        problem = f"{document.kind}/{document.name}: {format_path(found.path)}: {found.problem}"
        self.problems.append(document.error(problem, found.path))


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


def _locate_type_error(
    value: Any, path: TemplatePath, error: msgspec.ValidationError
) -> TypeMismatch:
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
