"""
Validate parts of one document against models, and collect all errors.

``DocumentValidation`` is the entry point. Every error has its file, line and path; ``failures``
translates the errors of pydantic.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.structs import replace
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from webhook.config import failures, messages
from webhook.config.failures import ValidationFailure
from webhook.config.messages import RefusalError
from webhook.errors import CombinedConfigError, ConfigError, ManifestError
from webhook.manifests import Document, parse
from webhook.policy.paths import FieldPath, is_object, walk_path, without_nulls

Model = TypeVar("Model", bound=BaseModel)

_KEY = "[key]"  # pydantic's marker for an error in the key of a mapping


class DocumentValidation:
    """
    The validation of one document.

    Attributes:
        document: The document; null fields count as absent, as in Go.
        errors: Errors so far, with the lines by which they are sorted.
    """

    def __init__(self, document: Document) -> None:
        """Start without errors."""
        self.document = document
        self.errors: list[tuple[int, ConfigError]] = []

    def model(
        self,
        model: type[Model],
        value: Any,
        path: FieldPath = (),
        *,
        context: Mapping[str, Any] | None = None,
    ) -> Model | None:
        """
        Validate a part of the document: the ``value`` at ``path``, without nulls.

        Returns:
            None if the part is invalid; then ``errors`` has the reasons.
        """
        try:
            return model.model_validate_json(json.dumps(value), context=context)
        except ValidationError as error:
            for details in error.errors(include_url=False):
                self._refuse(model, value, path, details)
            return None

    def refuse(self, problem: str, path: FieldPath = ()) -> None:
        """Record a problem with the value at a path."""
        self.add_error(ConfigError(problem, self.where(path)), path)

    def add_error(self, error: ConfigError, path: FieldPath = ()) -> None:
        """Record an error at a path, or one from another file that the value there names."""
        self.errors.append((self.document.line(path), error))

    def where(self, path: FieldPath = ()) -> str:
        """Format file, line and path, such as ``spread.yaml:7: profiles[0].name``."""
        place = self.document.place(path)
        return f"{place}: {messages.format_place(path)}" if path else place

    def finish(self) -> None:
        """
        Raise the recorded errors, if any.

        Raises:
            CombinedConfigError: All errors, without duplicates, in the order of the lines.
        """
        if self.errors:
            self.errors.sort(key=lambda item: item[0])
            raise CombinedConfigError(
                list({str(error): error for _, error in self.errors}.values())
            )

    def _refuse(
        self, model: type[BaseModel], value: Any, path: FieldPath, details: ErrorDetails
    ) -> None:
        kind, below, context = details["type"], details["loc"], details.get("ctx", {})
        if below[-1:] == (_KEY,):
            below = below[:-1]
        if kind != failures.MISSING:
            below = _existing(value, below)
        at: FieldPath = (*path, *below)
        cause = context.get("error")
        if isinstance(cause, RefusalError):
            for inner, problem in cause.problems:
                self.refuse(problem, (*at, *inner))
            return

        def line(inner: FieldPath) -> int:
            return self.document.line(at + inner)

        expected = str(context.get("expected", ""))
        failure = ValidationFailure(model, below, details["input"], expected, line)
        self.refuse(failures.describe_failure(kind, failure), at)


def read_document(text: str, source: str) -> Document:
    """
    Parse a configuration file of one document.

    Returns:
        A document whose value is a mapping without nulls.

    Raises:
        CombinedConfigError: It is not YAML or JSON, does not have exactly one document, or the
            document is not a mapping.
    """
    items = list(parse(text, source, unique_keys=True))
    documents = [item for item in items if isinstance(item, Document)]
    errors = [
        ConfigError(item.problem, f"{item.source}:{item.line}")
        for item in items
        if isinstance(item, ManifestError)
    ]
    errors += [
        ConfigError("is a second document: keep one in a file", extra.place())
        for extra in documents[1:]
    ]
    if not items:
        errors = [ConfigError("is empty: write at least apiVersion and kind", source)]
    elif not errors and not is_object(documents[0].value):
        errors = [ConfigError("must be a mapping: write at least apiVersion and kind", source)]
    if errors:
        raise CombinedConfigError(errors)
    return replace(documents[0], value=without_nulls(documents[0].value))


def _existing(value: Any, path: FieldPath) -> FieldPath:
    """Return the longest prefix of a path that exists in a value."""
    return path[: len(list(walk_path(value, path))) - 1]
