"""
Positions of a YAML document's values in its text, to the character.

This project edits YAML as text, with these positions, because no library writes back what it read:
ruamel.yaml, loading and dumping without any change, altered 24 of the 57 files of this repository
(indentation, quotes, line folding, comments). A diff must contain only intended changes.

``read_yaml`` is the entry point. libyaml's events yield the values, its tokens the punctuation
that events omit: dashes, question marks, and where a value starts after its anchor and tag.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import msgspec
import yaml
from yaml.events import AliasEvent, Event, NodeEvent, ScalarEvent
from yaml.tokens import AnchorToken, BlockEntryToken, KeyToken, TagToken, Token

from webhook.manifests.events import EventWalker, is_merge
from webhook.policy.paths import FieldPath


class TreeNode(msgspec.Struct, gc=False):
    """
    A value in a text.

    Attributes:
        opening: The first character, that of an anchor or a tag if it has one.
        start: The first character of the value itself.
        end: The character after the last one; before the line's end, also in a block scalar.
        collection: Whether it is a mapping or a sequence.
        flow: Whether it is a collection in brackets.
        literal: Whether it is a block scalar.
        tagged: Whether it has a tag.
        places: How often the document contains the value: once, and once more for each alias.
        entries: Its members or items, in order.
    """

    opening: int
    start: int
    end: int
    collection: bool = False
    flow: bool = False
    literal: bool = False
    tagged: bool = False
    places: int = 0
    entries: "Sequence[TreeEntry]" = ()

    @property
    def ends_literally(self) -> bool:
        """Whether its last characters are those of a block scalar."""
        if self.flow or not self.entries:
            return self.literal
        last = self.entries[-1]
        return not last.alias and last.node.ends_literally

    def find(self, step: str | int) -> "TreeEntry | None":
        """Find a member or an item; the last one of equal keys, since that one counts."""
        if isinstance(step, int):  # a List may have 100 000 items: no search
            found = self.entries[step] if step < len(self.entries) else None
            return found if found and found.step == step else None
        return next((entry for entry in reversed(self.entries) if entry.step == step), None)

    @property
    def merged(self) -> "TreeNode | None":
        """The only mapping that is merged into it; None if there are none or several."""
        found = [entry.node for entry in self.entries if entry.step is None]
        is_mapping = len(found) == 1 and not any(
            isinstance(entry.step, int) for entry in found[0].entries
        )
        return found[0] if is_mapping else None


class TreeEntry(msgspec.Struct, gc=False):
    """
    A member of a mapping, or an item of a sequence.

    Attributes:
        step: The key as it is written, or the index; None for a merge (``<<``).
        start: The first character: of the key, of the dash, or of the item.
        value: The first character of the value, of its anchor, tag or alias.
        end: The character after the last one of the value.
        node: The value; that of the anchor if it is an alias.
        alias: Whether the value is written as an alias.
        explicit: Whether a question mark precedes the key, or the key is no scalar.
    """

    step: str | int | None
    start: int
    value: int
    end: int
    node: TreeNode
    alias: bool = False
    explicit: bool = False


class Tree(msgspec.Struct, frozen=True):
    """
    A document.

    Attributes:
        text: The text that was read.
        json: Whether it is JSON, and must stay JSON.
        root: The value of the document.
        scalars: Start and end of every scalar, in order; a ``#`` in one starts no comment.
    """

    text: str
    json: bool
    root: TreeNode
    scalars: tuple[tuple[int, int], ...] = ()

    def entries_along(self, path: FieldPath) -> list[TreeEntry]:
        """Return the members and items along a path, as far as they are written."""
        entries: list[TreeEntry] = []
        node = self.root
        for step in path:
            entry = node.find(step)
            if entry is None:
                break
            entries.append(entry)
            node = entry.node
        return entries

    def find_position(self, path: FieldPath) -> int:
        """Find the start of a member's key or of an item; if it is absent, of its container."""
        entries = self.entries_along(path)
        if not entries:
            return self.root.opening
        return entries[-1].start if isinstance(entries[-1].step, str) else entries[-1].value


def read_yaml(text: str) -> Tree:
    """
    Read the positions of one document.

    Raises:
        yaml.YAMLError: The text is not YAML, or is empty.
    """
    builder = _TreeBuilder(text)
    root = builder.build()
    if root is None:
        raise yaml.YAMLError("there is no document")
    count_places(root)
    return Tree(text, json=False, root=root, scalars=tuple(builder.scalars))


def count_places(root: TreeNode) -> None:
    """
    Count how often the document contains each node; ``EventWalker`` bounds their number.

    A member that is merged into a mapping is not contained where another member overrides it.
    """
    root.places += 1
    own = {entry.step for entry in root.entries}
    for entry in root.entries:
        if entry.step is None:
            _count_merged(entry.node, own)
        else:
            count_places(entry.node)


def _count_merged(node: TreeNode, hidden: set[str | int | None]) -> None:
    """Count the members of a merged mapping, or of a sequence of them, that are not ``hidden``."""
    node.places += 1
    for entry in node.entries:
        if isinstance(entry.step, int):
            _count_merged(entry.node, hidden)
            hidden = hidden | {one.step for one in entry.node.entries}
        elif entry.step is None:
            _count_merged(entry.node, hidden | {one.step for one in node.entries})
        elif entry.step not in hidden:
            count_places(entry.node)


class _Punctuation:
    """
    The characters that tokens mark and events do not.

    Tokens are scanned only as far as the events have been read. Scanned ahead, text nested too
    deeply would cost quadratic time before ``EventWalker`` refuses it.
    """

    def __init__(self, text: str) -> None:
        self._tokens = yaml.scan(text, Loader=yaml.CBaseLoader)
        self._scanned = -1
        self._dashes: list[int] = []
        self._question_marks: list[int] = []
        self._contents: list[int] = []  # the first tokens after anchors and tags
        self._after_property = False

    def dash_before(self, item: int) -> int:
        """Find the dash of the item that starts at a character."""
        self._scan_to(item)
        return self._dashes[bisect_left(self._dashes, item) - 1]

    def content_after(self, opening: int) -> int:
        """Find where a value starts whose anchor or tag starts at a character."""
        while not self._contents or self._contents[-1] <= opening:
            self._scan_to(self._scanned + 1)
        return self._contents[bisect_right(self._contents, opening)]

    def has_question_mark(self, start: int, end: int) -> bool:
        """Whether a question mark marks a key between two characters, both included."""
        self._scan_to(end)
        index = bisect_left(self._question_marks, start)
        return index < len(self._question_marks) and self._question_marks[index] <= end

    def _scan_to(self, position: int) -> None:
        while self._scanned < position and (token := next(self._tokens, None)) is not None:
            self._scanned = start = _start(token)
            is_property = isinstance(token, AnchorToken | TagToken)
            if isinstance(token, BlockEntryToken):
                self._dashes.append(start)
            elif isinstance(token, KeyToken) and _end(token) > start:  # else the key is implicit
                self._question_marks.append(start)
            if self._after_property and not is_property:
                self._contents.append(start)
            self._after_property = is_property


class _TreeBuilder(EventWalker[TreeNode]):
    """Builds one tree."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text
        self._punctuation = _Punctuation(text)
        self.scalars: list[tuple[int, int]] = []

    def scalar(self, event: ScalarEvent) -> TreeNode:
        node = self._open(event)
        node.literal = event.style in ("|", ">")
        first = node.start
        if node.literal:
            # libyaml ends a block scalar after its last line break, and blank lines are its own:
            # text inserted there would become a part of it.
            node.end = node.start + len(self._text[node.start : node.end].rstrip())
            first = self._text.find("\n", node.start, node.end)
        if first >= 0:  # otherwise it is empty, and a comment may follow its indicator
            self.scalars.append((first, node.end))
        return node

    def sequence(self, start: NodeEvent, depth: int) -> TreeNode:
        node = self._open_collection(start)
        entries: list[TreeEntry] = []
        for index, event in enumerate(self.children()):
            first = _start(event)
            if not node.flow:  # the event starts after the dash
                first = self._punctuation.dash_before(first)
            entries.append(self._entry(index, first, event, depth))
        return self._close(node, entries)

    def mapping(self, start: NodeEvent, depth: int) -> TreeNode:
        node = self._open_collection(start)
        entries: list[TreeEntry] = []
        previous = node.start
        for key in self.children():
            first = _start(key)
            marked = self._punctuation.has_question_mark(previous, first)
            self.node(key, depth)  # it may have an anchor
            step = key.value if isinstance(key, ScalarEvent) and not is_merge(key) else None
            entry = self._entry(step, first, next(self.events), depth)
            entry.explicit = marked or not isinstance(key, ScalarEvent)
            # The event of an omitted value has the position of the next token.
            entry.end = max(entry.end, _end(key))
            previous = entry.end
            entries.append(entry)
        return self._close(node, entries)

    def _entry(self, step: str | int | None, start: int, event: Event, depth: int) -> TreeEntry:
        node = self.node(event, depth)
        if isinstance(event, AliasEvent):
            return TreeEntry(step, start, _start(event), _end(event), node, alias=True)
        return TreeEntry(step, start, node.opening, node.end, node)

    def _open(self, event: NodeEvent) -> TreeNode:
        opening = start = _start(event)
        tagged = bool(getattr(event, "tag", None))
        if event.anchor or tagged:
            empty = isinstance(event, ScalarEvent) and not event.value and not event.style
            start = _end(event) if empty else self._punctuation.content_after(opening)
        return TreeNode(opening, start, _end(event), tagged=tagged)

    def _open_collection(self, event: NodeEvent) -> TreeNode:
        node = self._open(event)
        node.collection = True
        node.flow = self._text[node.start] in "{["
        return node

    def _close(self, node: TreeNode, entries: list[TreeEntry]) -> TreeNode:
        node.entries = entries
        if node.flow:
            node.end = _end(self.closed)
        else:  # the end event of a block has the position of the next token
            node.end = entries[-1].end
        return node


def _start(item: Event | Token) -> int:
    assert item.start_mark is not None, "libyaml marks everything"
    return item.start_mark.index


def _end(item: Event | Token) -> int:
    assert item.end_mark is not None, "libyaml marks everything"
    return item.end_mark.index
