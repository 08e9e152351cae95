"""
The collector of manifests: documents of files become a snapshot.

``ManifestCollector.add`` takes one document after the other and ignores kinds that neither hold a
pod template nor affect spreading. It reads no file itself.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.audit.origins import Origin
from webhook.audit.reader import ObjectReader, WorkloadSource
from webhook.audit.snapshot import Snapshot, SnapshotOwner, UnreadableField, UnreadableObject
from webhook.audit.strict import find_strict_errors
from webhook.cluster.manifests import complete_metadata, find_unknown_fields
from webhook.config.configuration import Configuration
from webhook.errors import SourceError
from webhook.manifests import Document, find_type_mismatch, find_type_mismatches
from webhook.manifests.type_errors import TypeMismatch
from webhook.policy.advice.subject import SubjectPod
from webhook.policy.api.patches import PatchedValue, withhold_entries
from webhook.policy.api.schema import StrictFinding
from webhook.policy.kinds import DEFAULT_NAMESPACE
from webhook.policy.model import ObjectMeta
from webhook.policy.paths import find_value, format_path, is_object
from webhook.policy.places import TemplatePlaces, find_places, template_at


class ManifestCollector:
    """
    A snapshot that grows document by document.

    Attributes:
        snapshot: The objects collected so far.
        problems: Objects of the cluster that cannot be read; the snapshot is without them.
    """

    def __init__(self, configuration: Configuration, namespace: str = DEFAULT_NAMESPACE) -> None:
        """
        Start with an empty snapshot, for the kinds of an ``ObjectReader``.

        Args:
            namespace: Namespace of objects that name none.
        """
        self._namespace = namespace
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
        places = self._reader.templates.get(document.group_kind)
        judged = withhold_entries(document.value, places)
        named = complete_metadata(replace(document, value=judged.value), self._namespace)
        data = msgspec.json.encode(named)
        if places is not None and not self._add_workload(
            document, data, judged, places, requested=requested
        ):
            return
        unknown = find_unknown_fields(document)
        if unknown:
            self.problems += unknown
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

    def _add_workload(
        self,
        document: Document,
        data: bytes,
        judged: PatchedValue,
        places: TemplatePlaces,
        *,
        requested: bool,
    ) -> bool:
        """Add an object that may hold a pod template; return whether its types are right."""
        strict = find_strict_errors(document, places) if requested else ()
        source = WorkloadSource(Origin.of(document), strict, requested, judged.withheld)
        version_kind = document.api_version, document.kind
        try:
            self._reader.put_workload(self.snapshot, version_kind, data, source)
        except msgspec.ValidationError as error:
            found = _locate_type_errors(judged.value, places, error)
            if requested:
                unreadable = _build_unreadable(document, found, strict, self._namespace)
                self.snapshot.unreadable.append(unreadable)
            else:
                self._report_problem(document, found[0])
            return False
        return True

    def _report_problem(self, document: Document, found: TypeMismatch) -> None:
        problem = f"{document.kind}/{document.name}: {format_path(found.path)}: {found.problem}"
        self.problems.append(document.error(problem, found.path))


def _build_unreadable(
    document: Document,
    found: Sequence[TypeMismatch],
    strict: tuple[StrictFinding, ...],
    namespace: str,
) -> UnreadableObject:
    first, *others = (
        UnreadableField(
            field=format_path(one.path), field_line=document.line(one.path), problem=one.problem
        )
        for one in found
    )
    return UnreadableObject(
        api_version=document.api_version,
        kind=document.kind,
        namespace=document.namespace or namespace,
        name=document.name,
        source=document.source,
        line=document.line(),
        labels=_read_labels(document.value),
        field=first.field,
        field_line=first.field_line,
        problem=first.problem,
        more=tuple(others),
        strict=strict,
    )


def _read_labels(value: Any) -> dict[str, str]:
    """Read the labels of an object, but those that are no strings."""
    found = find_value(value, ("metadata", "labels"))
    items = found.items() if is_object(found) else ()
    return {key: label for key, label in items if isinstance(label, str)}


def _locate_type_errors(
    value: Any, places: TemplatePlaces, error: msgspec.ValidationError
) -> list[TypeMismatch]:
    """Find the values of wrong types, at least one, with their paths from the whole object."""

    def decode(value: Any) -> None:
        for path in find_places(value, places):
            template_at(value, path, SubjectPod)
        msgspec.convert(value, _Metadata | None)

    return find_type_mismatches(value, decode) or [TypeMismatch(str(error), ("spec",))]


class _Metadata(msgspec.Struct):
    metadata: ObjectMeta | None = None
