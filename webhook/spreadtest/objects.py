"""
Objects of a suite: written in the suite itself, or in files that it names.

``SuiteObjects.find`` returns one object and reports errors of the suite to its
``DocumentValidation``.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from webhook.admission.encode import REVIEW_KIND
from webhook.admission.offline import unpack_recording
from webhook.config.validation import DocumentValidation
from webhook.errors import SourceError
from webhook.manifests import Document
from webhook.manifests.files import read_file
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import FieldPath, is_object
from webhook.policy.places import TemplatePlaces
from webhook.spreadtest.schema import ObjectReference

Templates = Mapping[GroupKind, TemplatePlaces]

MOST_LISTED_OBJECTS = 5  # objects of a file that a message lists; more would hide the right one

_INLINE = "apiVersion"  # a member that objects have and references do not have
_NO_TEMPLATE = "with a pod template: write a Pod, a workload, or a recorded AdmissionReview"


class SuiteObjects:
    """Finds the objects that a suite names; reads each file once."""

    def __init__(self, reading: DocumentValidation, templates: Templates) -> None:
        """Take the suite, which collects the errors, and the kinds with a pod template."""
        self._reading = reading
        self._templates = templates
        self._read_once = cache(_read_objects)

    def find(self, written: Any, path: FieldPath) -> Document | SourceError | None:
        """
        Find an object.

        Args:
            written: An object, the path of a file, or a reference to an object in a file.
            path: Position in the suite.

        Returns:
            The object; an error if the file cannot be read; None if the suite has an error here.
        """
        if is_object(written) and _INLINE in written:
            suite = self._reading.document
            inline = Document(suite.source, written, suite.text, path)
            return self._choose([inline], ObjectReference(file=suite.source), path)
        value = written if is_object(written) else {"file": written}
        reference = self._reading.model(ObjectReference, value, path)
        if reference is None:
            return None
        file = resolve_path(self._reading, reference.file)
        if not file.is_file():
            self._reading.refuse(f"{str(file)!r} is no file", path)
            return None
        found = self._read_once(str(file))
        return found if isinstance(found, SourceError) else self._choose(found, reference, path)

    def _choose(
        self, documents: Sequence[Document], reference: ObjectReference, path: FieldPath
    ) -> Document | None:
        reviewed = [item for item in documents if self._is_reviewed(item)]
        fitting = [item for item in reviewed if _matches(item, reference)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            first = fitting[0]
            example = f"{{file: {reference.file}, kind: {first.kind}, name: {first.name}}}"
            self._reading.refuse(f"names {len(fitting)} objects: say which, as `{example}`", path)
        elif reviewed:
            titles = ", ".join(map(_format_title, reviewed[:MOST_LISTED_OBJECTS]))
            more = ", ..." if len(reviewed) > MOST_LISTED_OBJECTS else ""
            file = f"{reference.file!r}, which has {titles}{more}"
            self._reading.refuse(f"names no object of {file}", path)
        else:
            self._reading.refuse(f"names nothing {_NO_TEMPLATE}", path)
        return None

    def _is_reviewed(self, document: Document) -> bool:
        kind = GroupKind(group_of(document.api_version), document.kind)
        return document.kind == REVIEW_KIND or kind in self._templates


def resolve_path(reading: DocumentValidation, file: str) -> Path:
    """Return the path of a file that a suite names, relative to the suite."""
    return Path(reading.document.source).parent / file


def _read_objects(file: str) -> list[Document] | SourceError:
    try:
        return [item for document in read_file(file) for item in unpack_recording(document)]
    except SourceError as error:
        return error


def _matches(document: Document, reference: ObjectReference) -> bool:
    required = (reference.kind, reference.namespace, reference.name)
    actual = (document.kind, document.namespace, document.name)
    return all(word in (None, found) for word, found in zip(required, actual, strict=True))


def _format_title(document: Document) -> str:
    inside = f"{document.namespace}/" if document.namespace else ""
    return f"{document.kind} {inside}{document.name}".rstrip()
