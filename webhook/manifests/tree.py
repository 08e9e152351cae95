"""
Where each value of a document of YAML stands in its text, to the character.

libyaml's events tell what there is, and its tokens where the punctuation stands. Which lines a
reader is shown is the subject of ``webhook.manifests.lines``.
"""

from bisect import bisect_left
from collections.abc import Iterator

import msgspec
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
from yaml.tokens import AnchorToken, BlockEntryToken, KeyToken, TagToken, Token

from webhook.manifests.yaml import is_merge
from webhook.policy.paths import FieldPath


class Node(msgspec.Struct, gc=False):
    """
    A value in a text.

    Attributes:
        opening: The first character, that of an anchor or a tag if it has one.
        start: The first character of the value itself.
        end: The character after the last one; before the line's end, also in a block scalar.
        collection: Whether it is a mapping or a sequence.
        flow: Whether it is a collection in brackets.
        literal: Whether it is a block scalar.
        tagged: Whether a tag says how to read it.
        places: How many values of the document it makes: 1, and one more for each alias of it.
        entries: What is in it, in order.
    """

    opening: int
    start: int
    end: int
    collection: bool = False
    flow: bool = False
    literal: bool = False
    tagged: bool = False
    places: int = 0
    entries: "list[Entry]" = msgspec.field(default_factory=list)

    @property
    def ends_literally(self) -> bool:
        """Whether its last characters are those of a block scalar."""
        if self.flow or not self.entries:
            return self.literal
        last = self.entries[-1]
        return not last.alias and last.node.ends_literally


class Entry(msgspec.Struct, gc=False):
    """
    A member of a mapping, or an item of a sequence.

    Attributes:
        step: The key as it is written, or the index; None of a merge (``<<``).
        start: The first character: of the key, of the dash, or of the item.
        value: The first character of the value, of its anchor, tag or alias.
        end: The character after the last one of the value.
        node: The value; that of the anchor if it is an alias.
        alias: Whether the value is written as an alias.
        explicit: Whether a question mark marks the key, or the key is no scalar.
    """

    step: str | int | None
    start: int
    value: int
    end: int
    node: Node
    alias: bool = False
    explicit: bool = False


class Tree(msgspec.Struct, frozen=True):
    """
    A document.

    Attributes:
        text: What it was read from.
        json: Whether it is JSON, and has to stay so.
        root: The value of the document.
        scalars: Start and end of every scalar, in order: what looks like a comment there is none.
    """

    text: str
    json: bool
    root: Node
    scalars: tuple[tuple[int, int], ...] = ()

    def way(self, path: FieldPath) -> list[Node]:
        """Give the values on the way to one, the document first; as far as they stand in it."""
        nodes = [self.root]
        for step in path:
            entry = find(nodes[-1], step)
            if entry is None:
                break
            nodes.append(entry.node)
        return nodes


def find(node: Node, step: str | int) -> Entry | None:
    """Find what counts of a member or an item: the last one; None if it is not written there."""
    return next((each for each in reversed(node.entries) if each.step == step), None)


def read_yaml(text: str) -> Tree:
    """
    Read the places of one document.

    Raises:
        yaml.YAMLError: It is no YAML.
    """
    return _Reader(text).tree()


def count_places(root: Node) -> None:
    """Count how often each node is a value of the document; readers have bounded their number."""
    root.places += 1
    for entry in root.entries:
        count_places(entry.node)


class _Reader:
    """Makes one tree."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events = yaml.parse(text, Loader=yaml.CBaseLoader)
        tokens: list[Token] = list(yaml.scan(text, Loader=yaml.CBaseLoader))
        self._dashes = [_start(each) for each in tokens if isinstance(each, BlockEntryToken)]
        self._marks = {_start(each) for each in tokens if _is_question_mark(each)}
        self._contents = [
            _start(each) for each in tokens if not isinstance(each, AnchorToken | TagToken)
        ]
        self._scalars: list[tuple[int, int]] = []
        self._anchors: dict[str, Node] = {}

    def tree(self) -> Tree:
        while not isinstance(next(self._events), DocumentStartEvent):
            pass
        root = self._node(next(self._events))
        count_places(root)
        return Tree(self._text, json=False, root=root, scalars=tuple(self._scalars))

    def _node(self, event: Event) -> Node:
        assert isinstance(event, NodeEvent), "a value starts here"
        node = Node(_start(event), self._content(event), _end(event))
        node.tagged = bool(getattr(event, "tag", None))
        if isinstance(event, ScalarEvent):
            self._end_scalar(node, event)
        else:
            node.collection = True
            node.flow = self._text[node.start] in "{["
            members = isinstance(event, MappingStartEvent)
            node.entries += self._members() if members else self._items(flow=node.flow)
            node.end = self._closed if node.flow else self._last(node)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _content(self, event: NodeEvent) -> int:
        """Find where a value starts, after its anchor and its tag."""
        if not event.anchor and not getattr(event, "tag", None):
            return _start(event)
        if isinstance(event, ScalarEvent) and not event.value and not event.style:
            return _end(event)
        return self._contents[bisect_left(self._contents, _start(event))]

    def _end_scalar(self, node: Node, event: ScalarEvent) -> None:
        node.literal = event.style in ("|", ">")
        if node.literal:
            node.end = node.start + len(self._text[node.start : node.end].rstrip())
        first = self._text.find("\n", node.start, node.end) if node.literal else node.start
        if first >= 0:  # else it is empty, and what stands behind the | may be a comment
            self._scalars.append((first, node.end))

    def _last(self, node: Node) -> int:
        return node.entries[-1].end if node.entries else node.end

    def _until_end(self) -> Iterator[Event]:
        while not isinstance(event := next(self._events), CollectionEndEvent):
            yield event
        self._closed = _end(event)

    def _members(self) -> Iterator[Entry]:
        previous = 0
        for key in self._until_end():
            start = _start(key)
            marked = (
                any(previous <= mark <= start for mark in self._marks) if self._marks else False
            )
            plain = isinstance(key, ScalarEvent)
            merge = is_merge(key)
            if not isinstance(key, AliasEvent):
                self._node(key)
            step = key.value if isinstance(key, ScalarEvent) and not merge else None
            entry = self._entry(step, start, next(self._events))
            entry.explicit = marked or not plain
            entry.end = max(entry.end, _end(key))
            previous = entry.end
            yield entry

    def _items(self, *, flow: bool) -> Iterator[Entry]:
        for index, event in enumerate(self._until_end()):
            start = _start(event)
            if not flow:
                start = self._dashes[bisect_left(self._dashes, start) - 1]
            yield self._entry(index, start, event)

    def _entry(self, step: str | int | None, start: int, event: Event) -> Entry:
        if isinstance(event, AliasEvent):
            node = self._anchors[event.anchor or ""]
            return Entry(
                step, start, _start(event), _end(event), alias=True, explicit=False, node=node
            )
        node = self._node(event)
        return Entry(step, start, node.opening, node.end, alias=False, explicit=False, node=node)


def _is_question_mark(token: Token) -> bool:
    return isinstance(token, KeyToken) and _end(token) > _start(token)


def _start(item: Event | Token) -> int:
    assert item.start_mark is not None, "libyaml marks everything"
    return item.start_mark.index


def _end(item: Event | Token) -> int:
    assert item.end_mark is not None, "libyaml marks everything"
    return item.end_mark.index
