"""
Turns parts of one document into models, and gathers everything that is wrong with them.

A mistake is told with its file, line and path. What pydantic says of it, and the words for that,
are in ``messages``.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from webhook.config import messages
from webhook.config.messages import RefusalError, ValidationFailure
from webhook.errors import CombinedConfigError, ConfigError, ManifestError
from webhook.manifests import Document, parse
from webhook.policy.paths import FieldPath, is_array, is_object, walk_path

Model = TypeVar("Model", bound=BaseModel)

_KEY = "[key]"  # how pydantic says that it means the key of a mapping's member


class DocumentValidation:
    """
    One document, while it is being read.

    Attributes:
        document: What is read; nulls count as absent members, as in Go.
        errors: What is wrong so far, with the lines by which they are told in order.
    """

    def __init__(self, document: Document) -> None:
        """Start with no mistakes."""
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
        Read a part of the document.

        Args:
            model: What it should be.
            value: The part, without nulls.
            path: Where it stands.
            context: What validators are told besides.

        Returns:
            None if it is not that; then ``errors`` says why.
        """
        try:
            return model.model_validate_json(json.dumps(value), context=context)
        except ValidationError as error:
            for each in error.errors(include_url=False):
                self._refuse(model, value, path, each)
            return None

    def refuse(self, problem: str, path: FieldPath = ()) -> None:
        """Note that something is wrong with the value at a path."""
        self.tell(ConfigError(problem, self.where(path)), path)

    def tell(self, error: ConfigError, path: FieldPath = ()) -> None:
        """Note a mistake that was found in another file, which the value at a path names."""
        self.errors.append((self.document.line(path), error))

    def where(self, path: FieldPath = ()) -> str:
        """Write file, line and path, as ``spread.yaml:7: profiles[0].name``."""
        place = self.document.place(path)
        return f"{place}: {messages.format_place(path)}" if path else place

    def finish(self) -> None:
        """
        Stop if anything is wrong.

        Raises:
            MistakesError: With every mistake once, in the order of the lines.
        """
        if self.errors:
            self.errors.sort(key=lambda item: item[0])
            raise CombinedConfigError(
                list({str(error): error for _, error in self.errors}.values())
            )

    def _refuse(
        self, model: type[BaseModel], value: Any, path: FieldPath, told: ErrorDetails
    ) -> None:
        below = told["loc"]
        if below[-1:] == (_KEY,):
            below = below[:-1]
        context = told.get("ctx", {})
        cause = context.get("error")
        if isinstance(cause, RefusalError):
            below = _existing(value, below)
            for inner, problem in cause.problems:
                self.refuse(problem, (*path, *below, *inner))
            return
        if told["type"] != messages.MISSING:
            below = _existing(value, below)
        at: FieldPath = (*path, *below)

        def line(inner: FieldPath) -> int:
            return self.document.line((*at, *inner))

        mistake = ValidationFailure(
            model, below, told["input"], str(context.get("expected", "")), line
        )
        self.refuse(messages.describe_failure(told["type"], mistake), at)


def read_document(text: str, source: str) -> Document:
    """
    Find the one document of a configuration file.

    Returns:
        Its value is a mapping without nulls.

    Raises:
        MistakesError: It is not YAML or JSON, has no document or several, or no mapping.
    """
    documents: list[Document] = []
    errors: list[ConfigError] = []
    for item in parse(text, source, unique_keys=True):
        if isinstance(item, ManifestError):
            errors.append(ConfigError(item.problem, f"{item.source}:{item.line}"))
        else:
            documents.append(item)
    if not errors and not documents:
        errors = [ConfigError("is empty: write at least apiVersion and kind", source)]
    for extra in documents[1:]:
        errors.append(ConfigError("is a second document: keep one in a file", extra.place()))
    if not errors and not is_object(documents[0].value):
        errors = [ConfigError("must be a mapping: write at least apiVersion and kind", source)]
    if errors:
        raise CombinedConfigError(errors)
    first = documents[0]
    return Document(first.source, _without_nulls(first.value), first.text, first.path)


def _without_nulls(value: Any) -> Any:
    if is_object(value):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if is_array(value) else value


def _existing(value: Any, path: FieldPath) -> FieldPath:
    """As much of a path as leads to something that was written."""
    return path[: len(list(walk_path(value, path))) - 1]
