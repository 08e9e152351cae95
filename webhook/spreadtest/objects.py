"""
Objects of a suite: written in the suite itself, or in files that it names.

``SuiteObjects.find`` returns one object and reports errors of the suite to its
``DocumentValidation``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webhook.admission.encode import REVIEW_KIND
from webhook.admission.offline import unpack_recording
from webhook.config.validation import DocumentValidation
from webhook.errors import SourceError
from webhook.manifests import Document, is_object, read_file
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import FieldPath, TemplatePath
from webhook.spreadtest.schema import ObjectReference

Templates = Mapping[GroupKind, TemplatePath]

MOST_LISTED_OBJECTS = 5  # objects of a file that a message lists; more would hide the right one

_INLINE = "apiVersion"  # a member that objects have and references do not have
_NO_TEMPLATE = "with a pod template: write a Pod, a workload, or a recorded AdmissionReview"


class SuiteObjects:
    """Finds the objects that a suite names; reads each file once."""

    def __init__(self, reading: DocumentValidation, templates: Templates) -> None:
        """
        Start without any file.

        Args:
            reading: The suite; collects its errors.
            templates: Kinds with a pod template.
        """
        self._reading = reading
        self._templates = templates
        self._files: dict[str, list[Document] | SourceError] = {}

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
        documents = self._read(reference.file, path)
        return (
            self._choose(documents, reference, path) if isinstance(documents, list) else documents
        )

    def _read(self, file: str, path: FieldPath) -> list[Document] | SourceError | None:
        beside = resolve_path(self._reading, file)
        if not beside.is_file():
            self._reading.refuse(f"{str(beside)!r} is no file", path)
            return None
        if file not in self._files:
            try:
                documents = read_file(str(beside))
            except SourceError as error:
                self._files[file] = error
            else:
                self._files[file] = [
                    item for document in documents for item in unpack_recording(document)
                ]
        return self._files[file]

    def _choose(
        self, documents: list[Document], reference: ObjectReference, path: FieldPath
    ) -> Document | None:
        reviewed = [item for item in documents if self._is_reviewed(item)]
        fitting = [item for item in reviewed if _matches(item, reference)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            example = _format_example(reference.file, fitting[0])
            self._reading.refuse(f"names {len(fitting)} objects: say which, as `{example}`", path)
        elif reviewed:
            there = f"{reference.file!r}, which has {_format_titles(reviewed)}"
            self._reading.refuse(f"names no object of {there}", path)
        else:
            self._reading.refuse(f"names nothing {_NO_TEMPLATE}", path)
        return None

    def _is_reviewed(self, document: Document) -> bool:
        kind = GroupKind(group_of(document.api_version), document.kind)
        return document.kind == REVIEW_KIND or kind in self._templates


def resolve_path(reading: DocumentValidation, file: str) -> Path:
    """Return the path of a file that a suite names, relative to the suite."""
    return Path(reading.document.source).parent / file


def _matches(document: Document, reference: ObjectReference) -> bool:
    required = (reference.kind, reference.namespace, reference.name)
    actual = (document.kind, document.namespace, document.name)
    return all(word in (None, found) for word, found in zip(required, actual, strict=True))


def _format_titles(documents: list[Document]) -> str:
    more = ", ..." if len(documents) > MOST_LISTED_OBJECTS else ""
    return f"{', '.join(map(_format_title, documents[:MOST_LISTED_OBJECTS]))}{more}"


def _format_title(document: Document) -> str:
    inside = f"{document.namespace}/" if document.namespace else ""
    return f"{document.kind} {inside}{document.name}".rstrip()


def _format_example(file: str, document: Document) -> str:
    return f"{{file: {file}, kind: {document.kind}, name: {document.name}}}"
