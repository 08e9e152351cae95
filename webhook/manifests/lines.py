"""At which line of its source each value of a document stands; found only when it is asked for."""

from collections.abc import Iterator
from functools import cached_property
from itertools import count

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from webhook.policy.paths import FieldPath


class _Spot:
    """Where a value stands, and the spots of what is in it."""

    __slots__ = ("inner", "line")

    def __init__(self, line: int, inner: "dict[str | int, _Spot]") -> None:
        self.line = line
        self.inner = inner


class Lines:
    """
    The lines of one document.

    Making one costs nothing; the first question parses the text once more, and what it finds is
    kept for further ones.

    Attributes:
        text: One document of YAML, or of JSON that is read as YAML.
        start: The character at which the text starts in its source, from 0.
    """

    def __init__(self, text: str, first: int, start: int = 0) -> None:
        """
        Remember the text.

        Args:
            text: One document.
            first: The line at which the text starts in its source, from 1.
            start: The character at which it starts there, from 0.
        """
        self.text = text
        self.start = start
        self._first = first

    def line(self, path: FieldPath) -> int:
        """Give the line of a value's key, else of the nearest value around it, from 1."""
        spot = self._root
        for step in path:
            if step not in spot.inner:
                break
            spot = spot.inner[step]
        return self._first + spot.line

    @cached_property
    def _root(self) -> _Spot:
        events = yaml.parse(self.text, Loader=yaml.CBaseLoader)
        try:
            while not isinstance(next(events), DocumentStartEvent):
                pass
            return _spot(next(events), events, {})
        except (yaml.YAMLError, RecursionError):
            return _Spot(0, {})  # JSON escapes, and nests, what libyaml or Python may not


def _spot(event: Event, events: Iterator[Event], anchors: dict[str, _Spot]) -> _Spot:
    if isinstance(event, AliasEvent):
        known = anchors.get(event.anchor or "")
        return _Spot(_line(event), known.inner if known else {})
    spot = _Spot(_line(event), {})
    match event:
        case MappingStartEvent():
            for key in _until_end(events):
                _spot(key, events, anchors)
                inner = _spot(next(events), events, anchors)
                inner.line = _line(key)
                if isinstance(key, ScalarEvent):
                    spot.inner[key.value] = inner
        case SequenceStartEvent():
            for index, item in zip(count(), _until_end(events), strict=False):
                spot.inner[index] = _spot(item, events, anchors)
        case _:
            pass
    if isinstance(event, NodeEvent) and event.anchor:
        anchors[event.anchor] = spot
    return spot


def _until_end(events: Iterator[Event]) -> Iterator[Event]:
    while not isinstance(event := next(events), CollectionEndEvent):
        yield event


def _line(event: Event) -> int:
    return event.start_mark.line if event.start_mark else 0
