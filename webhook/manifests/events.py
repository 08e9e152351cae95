"""
Walk over libyaml's events; limits nesting and aliases for everything built from YAML.

``EventWalker`` is the entry point; its subclasses build values (``yaml``) or positions (``tree``).
It must not interpret scalars or keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

T = TypeVar("T")

MOST_LEVELS = 200
"""Deepest nesting, in values; the deepest known, schemas of custom resources, need half."""

TOO_DEEP = f"nested more than {MOST_LEVELS} deep: no object of Kubernetes is"

MOST_ALIASED_VALUES = 400_000
"""Values that aliases may add to one document; Go's reader starts to limit aliases here too."""

_MERGE = "<<"


class UnsupportedYAMLError(yaml.YAMLError):
    """
    YAML that is well-formed, but has no equivalent in JSON, or exceeds a bound.

    Attributes:
        position: Of the node's first character, from 0.
        problem: The message, without the position.
    """

    def __init__(self, event: Event, problem: str) -> None:
        """Refuse the node that starts with an event."""
        super().__init__(problem)
        self.position = event.start_mark.index if event.start_mark else 0
        self.problem = problem


def is_merge(event: Event) -> bool:
    """Whether an event is the key of a merge: ``<<``."""
    return isinstance(event, ScalarEvent) and event.value == _MERGE and event.implicit[0]


class EventWalker(ABC, Generic[T]):
    """Builds one object of type ``T`` for each node of a document."""

    def __init__(self, text: str) -> None:
        """Start before the first event of a text with at most one document."""
        self.events: Iterator[Event] = yaml.parse(text, Loader=yaml.CBaseLoader)
        self.opening = 0  # the first character of the document's value
        self._values = 0  # as many as JSON would hold, so with aliases written out
        self._aliased = 0
        self._anchors: dict[str, tuple[T, int]] = {}  # with the number of values inside

    def build(self) -> T | None:
        """
        Build the document; None if the text has none.

        Raises:
            yaml.YAMLError: The text is not YAML, or exceeds a bound.
        """
        built: T | None = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                root = next(self.events)
                self.opening = root.start_mark.index if root.start_mark else 0
                built = self.node(root, MOST_LEVELS)
        return built

    def node(self, event: Event, depth: int) -> T:
        """Build the node that starts with an event; at most ``depth`` levels of it."""
        before = self._values
        self._values += 1
        if isinstance(event, ScalarEvent):
            built = self.scalar(event)
        elif isinstance(event, AliasEvent):
            return self._alias(event)
        else:
            assert isinstance(event, NodeEvent), "a value starts here"
            # Checked before the children are read: libyaml's time is quadratic in the nesting.
            if depth <= 0:
                raise UnsupportedYAMLError(event, TOO_DEEP)
            is_mapping = isinstance(event, MappingStartEvent)
            built = (self.mapping if is_mapping else self.sequence)(event, depth - 1)
        if event.anchor:
            self._anchors[event.anchor] = built, self._values - before
        return built

    def children(self) -> Iterator[Event]:
        """Yield the first event of each child until the collection ends; read the rest of each."""
        while not isinstance(event := next(self.events), CollectionEndEvent):
            yield event
        self.closed = event

    @abstractmethod
    def scalar(self, event: ScalarEvent) -> T:
        """Build a scalar."""

    @abstractmethod
    def sequence(self, start: NodeEvent, depth: int) -> T:
        """Build a sequence from its children, which may have ``depth`` levels."""

    @abstractmethod
    def mapping(self, start: NodeEvent, depth: int) -> T:
        """Build a mapping from its children, keys and values in turn."""

    def _alias(self, event: AliasEvent) -> T:
        if event.anchor not in self._anchors:
            problem = f"*{event.anchor} is an alias of no earlier anchor in this document"
            raise UnsupportedYAMLError(event, f"{problem}: an anchor ends with its document")
        built, size = self._anchors[event.anchor]
        # Nested aliases multiply ("billion laughs"), so the values that they stand for are counted.
        self._values += size - 1
        self._aliased += size
        if self._aliased > MOST_ALIASED_VALUES:
            raise UnsupportedYAMLError(
                event, f"aliases add more than {MOST_ALIASED_VALUES} values: write them out"
            )
        return built
