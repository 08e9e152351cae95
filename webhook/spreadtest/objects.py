"""The objects that the cases of a suite are about: as they are, or in the files that it names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webhook.admission.offline import unpack
from webhook.admission.version import KIND
from webhook.config.reading import Reading
from webhook.errors import SourceError
from webhook.manifests import Document, is_object, read_file
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import FieldPath, TemplatePath
from webhook.spreadtest.form import Reference

Templates = Mapping[GroupKind, TemplatePath]

NAMED = 5  # objects of a file that a sentence repeats: more hide the one that is meant

_INLINE = "apiVersion"  # the member that tells an object from a reference to one
_NO_TEMPLATE = "with a pod template: write a Pod, a workload, or a recorded AdmissionReview"


class Objects:
    """What a suite names is found by this; each file is read once."""

    def __init__(self, reading: Reading, templates: Templates) -> None:
        """
        Start with no file read.

        Args:
            reading: Of the suite; takes note of what is wrong with it.
            templates: The kinds that hold a pod template.
        """
        self._reading = reading
        self._templates = templates
        self._files: dict[str, list[Document] | SourceError] = {}

    def find(self, written: Any, path: FieldPath) -> Document | SourceError | None:
        """
        Find an object.

        Args:
            written: An object, the path of a file, or a reference to an object of one.
            path: Where that stands in the suite.

        Returns:
            Why the file cannot be read, if that is so; None if the suite is wrong about it.
        """
        if is_object(written) and _INLINE in written:
            suite = self._reading.document
            inline = Document(suite.source, written, suite.text, path)
            return self._chosen([inline], Reference(file=suite.source), path)
        value = written if is_object(written) else {"file": written}
        reference = self._reading.model(Reference, value, path)
        if reference is None:
            return None
        documents = self._read(reference.file, path)
        return (
            self._chosen(documents, reference, path) if isinstance(documents, list) else documents
        )

    def _read(self, file: str, path: FieldPath) -> list[Document] | SourceError | None:
        beside = beside_suite(self._reading, file)
        if not beside.is_file():
            self._reading.refuse(f"{str(beside)!r} is no file", path)
            return None
        if file not in self._files:
            try:
                documents = read_file(str(beside))
            except SourceError as error:
                self._files[file] = error
            else:
                self._files[file] = [each for one in documents for each in unpack(one)]
        return self._files[file]

    def _chosen(
        self, documents: list[Document], reference: Reference, path: FieldPath
    ) -> Document | None:
        judged = [each for each in documents if self._is_judged(each)]
        fitting = [each for each in judged if _fits(each, reference)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            example = _example(reference.file, fitting[0])
            self._reading.refuse(f"names {len(fitting)} objects: say which, as `{example}`", path)
        elif judged:
            there = f"{reference.file!r}, which has {_titles(judged)}"
            self._reading.refuse(f"names no object of {there}", path)
        else:
            self._reading.refuse(f"names nothing {_NO_TEMPLATE}", path)
        return None

    def _is_judged(self, document: Document) -> bool:
        kind = GroupKind(group_of(document.api_version), document.kind)
        return document.kind == KIND or kind in self._templates


def beside_suite(reading: Reading, file: str) -> Path:
    """The path of a file that a suite names."""
    return Path(reading.document.source).parent / file


def _fits(document: Document, reference: Reference) -> bool:
    asked = (reference.kind, reference.namespace, reference.name)
    there = (document.kind, document.namespace, document.name)
    return all(word in (None, found) for word, found in zip(asked, there, strict=True))


def _titles(documents: list[Document]) -> str:
    more = ", ..." if len(documents) > NAMED else ""
    return f"{', '.join(map(_title, documents[:NAMED]))}{more}"


def _title(document: Document) -> str:
    inside = f"{document.namespace}/" if document.namespace else ""
    return f"{document.kind} {inside}{document.name}".rstrip()


def _example(file: str, document: Document) -> str:
    return f"{{file: {file}, kind: {document.kind}, name: {document.name}}}"
