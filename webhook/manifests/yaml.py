"""
YAML to JSON-like values, as kubectl does it.

libyaml parses; here its events become values. No tag is ever executed: those of the YAML core say
how to read a scalar, all others are ignored. Of a key that stands twice the last value counts, as
in sigs.k8s.io/yaml, unless unique keys are asked for.
"""

import math
import sys
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from webhook.errors import ManifestError
from webhook.manifests.scalars import resolve
from webhook.policy.paths import is_array, is_object

DEPTH = 200
"""Deepest nesting, in values; schemas of custom resources, the deepest there are, need half."""

TOO_DEEP = f"nested more than {DEPTH} deep: no object of Kubernetes is"

ALIASED = 400_000
"""Most values that aliases may add to one document: where Go's reader begins to doubt as well."""

_RESOLVED = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))
_MERGE = "<<"


def load(text: str, source: str, first: int, *, unique_keys: bool = False) -> Any:
    """
    Read the one document of a text.

    Args:
        source: For messages.
        first: The line at which the text starts in its source, from 1.
        unique_keys: Whether a key that stands twice is an error.

    Returns:
        Its value, of JSON's types; None if it is empty. Aliases of one anchor share one value.

    Raises:
        ManifestError: The text is no YAML, or cannot be had as JSON.
    """
    value: Any = None
    try:
        events = yaml.parse(text, Loader=yaml.CBaseLoader)
        for event in events:
            if isinstance(event, DocumentStartEvent):
                builder = _Builder(events, source, first, unique_keys=unique_keys)
                value = builder.value(next(events), DEPTH)
    except yaml.YAMLError as error:
        raise _manifest_error(error, text, source, first) from error
    return value


def _manifest_error(error: yaml.YAMLError, text: str, source: str, first: int) -> ManifestError:
    if isinstance(error, yaml.MarkedYAMLError):
        line = error.problem_mark.line if error.problem_mark else 0
        said = ", ".join(part for part in (error.context, error.problem) if part)
    else:
        position = getattr(error, "position", 0)
        line, said = text.count("\n", 0, position), "a control character stands in it"
    hint = "; render a chart with helm template first" if "{{" in text else ""
    if _is_tab(error, text):
        hint = "; indent with spaces, not with a tab"
    lines = text.count("\n")
    return ManifestError(source, first + min(line, lines), f"no valid YAML: {said}{hint}")


def _is_tab(error: yaml.YAMLError, text: str) -> bool:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return mark is not None and text[mark.index : mark.index + 1] == "\t"


class _Builder:
    """Builds one document's value from its events."""

    def __init__(
        self, events: Iterator[Event], source: str, first: int, *, unique_keys: bool
    ) -> None:
        self._events = events
        self._source = source
        self._first = first
        self._unique_keys = unique_keys
        self._values = 0  # as many as JSON would hold, so with aliases written out
        self._aliased = 0
        self._anchors: dict[str, tuple[Any, int]] = {}  # with the number of values inside

    def value(self, event: Event, depth: int) -> Any:
        """Build the value that starts with an event; at most ``depth`` levels of it."""
        before = self._values
        self._values += 1
        match event:
            case ScalarEvent():
                value: Any = self._scalar(event)
            case MappingStartEvent():
                value = self._mapping(event, depth - 1)
            case SequenceStartEvent():
                value = self._sequence(event, depth - 1)
            case AliasEvent():
                return self._alias(event)
            case _:
                raise AssertionError(event)
        if event.anchor:
            self._anchors[event.anchor] = value, self._values - before
        return value

    def _scalar(self, event: ScalarEvent) -> Any:
        plain = event.implicit[0] and event.tag is None
        if not plain and event.tag not in _RESOLVED:
            return event.value
        value = resolve(event.value)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._fault(event, f"{event.value} is no JSON number: write a finite one")
        return value

    def _sequence(self, start: Event, depth: int) -> list[Any]:
        self._check(start, depth)
        values: list[Any] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            values.append(self.value(event, depth))
        return values

    def _mapping(self, start: Event, depth: int) -> dict[str, Any]:
        self._check(start, depth)
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            if is_merge(event):
                merged |= self._merged(next(self._events), depth)
                continue
            key = self._key(event, depth)
            if self._unique_keys and key in values:
                raise self._fault(event, f"the key {key!r} stands twice: leave one of the two")
            values[key] = self.value(next(self._events), depth)
        return merged | values if merged else values

    def _merged(self, event: Event, depth: int) -> dict[str, Any]:
        value = self.value(event, depth)
        merged: dict[str, Any] = {}
        for mapping in reversed(value if is_array(value) else [value]):
            if not is_object(mapping):
                raise self._fault(event, "<< merges mappings: write an alias of one, or a list")
            merged |= mapping
        return merged

    def _key(self, event: Event, depth: int) -> str:
        value = self.value(event, depth)
        match value:
            case str():
                return sys.intern(value)
            case bool():
                return "true" if value else "false"
            case int() | float():
                return f"{value}" if isinstance(value, int) else f"{value:g}"
            case dict():  # as {{ .Values.name }}
                problem = "a key must be a string, and no object: render a chart with helm template"
                raise self._fault(event, f"{problem} first")
            case _:
                raise self._fault(event, "a key must be a string: write it in quotes")

    def _alias(self, event: AliasEvent) -> Any:
        if event.anchor not in self._anchors:
            raise self._fault(event, f"*{event.anchor} stands for nothing that was named before")
        value, size = self._anchors[event.anchor]
        self._values += size - 1
        self._aliased += size
        if self._aliased > ALIASED:
            raise self._fault(event, f"aliases add more than {ALIASED} values: write them out")
        return value

    def _check(self, event: Event, depth: int) -> None:
        if depth < 0:
            raise self._fault(event, TOO_DEEP)

    def _fault(self, event: Event, problem: str) -> ManifestError:
        return ManifestError(self._source, self._first + _line(event), problem)


def is_merge(event: Event) -> bool:
    """Whether an event is the key of a merge: ``<<``."""
    return isinstance(event, ScalarEvent) and event.value == _MERGE and event.implicit[0]


def _line(event: Event) -> int:
    return event.start_mark.line if event.start_mark else 0
