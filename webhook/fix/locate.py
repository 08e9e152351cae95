"""
The smallest edits of a document's text that implement a change of its value.

``locate_change`` is the entry point. It keeps all comments: those of a removed entry get a line of
their own. A change without a safe edit is an obstacle; this module must not reformat other text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.fix.changes import FixObstacle, Put, Remove
from webhook.fix.format import (
    FlowStyle,
    format_block,
    format_item,
    format_scalar,
    infer_indent,
    infer_layout,
)
from webhook.manifests.edits import (
    TextEdit,
    after_break,
    break_near,
    indentation,
    line_end,
    line_start,
)
from webhook.manifests.tree import Tree, TreeEntry, TreeNode
from webhook.policy.paths import format_path, is_array, is_object

_comment = re.compile(r"(?:(?<=\s)|^)#[^\n\r\x85\u2028\u2029]*", re.MULTILINE)


@dataclass(frozen=True)
class Placement:
    """
    The edits that make a change.

    Attributes:
        edits: In the order of the text.
        places: Number of values that they change; more than one if the text has aliases.
    """

    edits: tuple[TextEdit, ...]
    places: int


MERGED = FixObstacle(
    "it comes from a merge (<<): write a member beside the <<, which overrides the merged one"
)
MERGED_MEMBER = FixObstacle(
    "it comes from a merge (<<), which leaves out no member: write the other members instead"
)
EXPLICIT = FixObstacle("a key beside it has a question mark: write it without")


def locate_change(tree: Tree, change: Put | Remove) -> Placement | FixObstacle:
    """Find the edits that make a change of a part of the document."""
    *path, step = change.path
    way = [tree.root, *(entry.node for entry in tree.entries_along(tuple(path)))]
    container = way[-1]
    if len(way) <= len(path) or not container.collection:
        merged = any(entry.step is None for node in way for entry in node.entries)
        where = format_path(change.path)
        return MERGED if merged else FixObstacle(f"{where} has no parent that can be edited")
    if isinstance(change, Put):
        entry = container.find(step)
        if entry is None:
            return insert_entry(tree, way, step, change.value)
        return replace_entry(tree, way, entry, change.value)
    return remove_entry(tree, container, step)


def replace_entry(
    tree: Tree, way: Sequence[TreeNode], entry: TreeEntry, value: Any
) -> Placement | FixObstacle:
    """Find the edits that replace the value of an entry; the last node on the way has it."""
    container, node, text = way[-1], entry.node, tree.text
    start, end = (entry.value, entry.end) if entry.alias else (node.start, node.end)
    if node.tagged and not entry.alias:
        return FixObstacle("it has a tag: write it without")
    if node.collection and not node.flow and not entry.alias:
        return FixObstacle("it is a block, which would have to be replaced as a whole")
    places = container.places if entry.alias else node.places
    old = text[start:end]
    is_short = not (is_object(value) or is_array(value)) or not value
    if is_short or container.flow or (old.startswith(("{", "[")) and node.entries):
        quoted = container.flow and FlowStyle.infer(tree, container).quoted
        blank = "" if old or text[start - 1].isspace() else " "
        written = format_scalar(value, old, quoted=quoted)
        return Placement((TextEdit(start, end, f"{blank}{written}"),), places)
    if not isinstance(entry.step, str) or entry.explicit:
        return FixObstacle("the new value needs a block of its own, for which there is no place")
    lines = format_block(entry.step, value, infer_layout(tree, way))[1:]
    return Placement(_unfold(text, entry, TextEdit(start, end, ""), lines), places)


def _unfold(
    text: str, entry: TreeEntry, old: TextEdit, lines: Sequence[str]
) -> tuple[TextEdit, ...]:
    """Replace a value on the line of its key by a block below the key."""
    start = old.start
    while text[start - 1] in " \t" and old.end > old.start:
        start -= 1
    margin = " " * (entry.start - line_start(text, entry.start))
    end = line_end(text, old.end)
    written = "".join(f"{break_near(text, end)}{margin}{line}" for line in lines)
    below = TextEdit(end, end, written)
    return (below,) if start == old.end else (TextEdit(start, old.end, ""), below)


def insert_entry(
    tree: Tree, way: Sequence[TreeNode], step: str | int, value: Any
) -> Placement | FixObstacle:
    """Find the edit that adds an entry to the last node on the way."""
    container = way[-1]
    if any(one.explicit for one in container.entries):
        return EXPLICIT
    insert = _insert_in_brackets if container.flow else _insert_in_block
    return Placement((insert(tree, way, step, value),), container.places)


def _insert_in_brackets(
    tree: Tree, way: Sequence[TreeNode], step: str | int, value: Any
) -> TextEdit:
    text, container = tree.text, way[-1]
    brackets = FlowStyle.infer(tree, container)
    if not container.entries:
        at = container.start + 1
        return TextEdit(at, at, brackets.format_entry(step, value, "", ""))
    last = container.entries[-1]
    if not brackets.lines:
        blank = "" if brackets.tight else " "
        return TextEdit(last.end, last.end, f",{blank}{brackets.format_entry(step, value, '', '')}")
    margin = indentation(text, last.start)
    written = brackets.format_entry(step, value, margin, infer_indent(tree, container))
    between = break_near(text, last.start)
    written = written.replace("\n", between)
    return TextEdit(last.end, last.end, f",{between}{margin}{written}")


def _insert_in_block(tree: Tree, way: Sequence[TreeNode], step: str | int, value: Any) -> TextEdit:
    """Insert a new entry after the last one that is not a block scalar."""
    text, container, layout = tree.text, way[-1], infer_layout(tree, way)
    lines = (
        format_block(step, value, layout) if isinstance(step, str) else format_item(value, layout)
    )
    first = container.entries[0]
    margin = " " * (first.start - line_start(text, first.start))
    # After a block scalar the new entry would become a part of it, as its blank lines may be.
    after = [one for one in container.entries if one.alias or not one.node.ends_literally]
    if after and (after[-1] is container.entries[-1] or isinstance(step, str)):
        at = line_end(text, after[-1].end)
        between = break_near(text, at)
        return TextEdit(at, at, "".join(f"{between}{margin}{line}" for line in lines))
    between = break_near(text, first.start)
    return TextEdit(first.start, first.start, "".join(f"{line}{between}{margin}" for line in lines))


def remove_entry(tree: Tree, container: TreeNode, step: str | int) -> Placement | FixObstacle:
    """Find the edits that remove an entry from a collection."""
    # All equal keys: without the last one, the one before would count.
    found = [index for index, one in enumerate(container.entries) if one.step == step]
    if not found:
        return MERGED_MEMBER
    if any(one.explicit for one in container.entries):
        return EXPLICIT
    edits = [_remove_entry(tree, container, index) for index in found]
    return Placement(tuple(edits), container.places)


def _remove_entry(tree: Tree, container: TreeNode, index: int) -> TextEdit:
    text, entry = tree.text, container.entries[index]
    following = container.entries[index + 1 : index + 2]
    if container.flow:
        if following:
            return _cut(tree, entry.start, following[0].start)
        start = container.entries[index - 1].end if index else entry.start
        return _cut(tree, start, entry.end)
    if len(container.entries) == 1:
        return empty_block(tree, container, _comments(tree, entry.start, line_end(text, entry.end)))
    begin = line_start(text, entry.start)
    if not text[begin : entry.start].strip():
        return _cut_lines(tree, begin, line_end(text, entry.end))
    return _cut(tree, entry.start, following[0].start)  # only a first entry follows other text


def empty_block(tree: Tree, container: TreeNode, comments: Iterable[str]) -> TextEdit:
    """
    Replace the only entry of a block by empty brackets, and by comments below them.

    The brackets follow the key of the block, unless a comment or an anchor is between them.
    """
    text, (entry,) = tree.text, container.entries
    start, begin = len(text[: entry.start].rstrip()), line_start(text, entry.start)
    brackets = "[]" if isinstance(entry.step, int) else "{}"
    between, margin = break_near(text, entry.start), indentation(text, entry.start)
    is_key = text[start - 1 : start] == ":" and container.opening == container.start
    if is_key and not any(_comments(tree, line_start(text, start), start)):
        brackets = f" {brackets}"
    else:
        start = entry.start
        if not text[begin:start].strip():  # brackets must be indented more than a dash
            brackets = f"{'  ' * isinstance(entry.step, int)}{brackets}"
    written = "".join(f"{between}{margin}{comment}" for comment in comments)
    return TextEdit(start, line_end(text, entry.end), f"{brackets}{written}")


def _cut(tree: Tree, start: int, end: int) -> TextEdit:
    """Remove characters from a line, or to a position in a later line; keep the comments."""
    begin = line_start(tree.text, start)
    margin = " " * (start - begin)
    between = break_near(tree.text, start)
    kept = [f"{comment}{between}{margin}" for comment in _comments(tree, start, end)]
    blank = " " if kept and not tree.text[start - 1].isspace() else ""
    return TextEdit(start, end, blank + "".join(kept))


def _cut_lines(tree: Tree, start: int, end: int) -> TextEdit:
    """Remove whole lines; a last line without a break together with the break before it."""
    text = tree.text
    margin, between = indentation(text, start), break_near(text, start)
    kept = [f"{margin}{comment}" for comment in _comments(tree, start, end)]
    after = after_break(text, end)
    if after > end:
        return TextEdit(start, after, "".join(f"{comment}{between}" for comment in kept))
    start -= len(between) if start else 0
    return TextEdit(start, end, "".join(f"{between}{comment}" for comment in kept))


def _comments(tree: Tree, start: int, end: int) -> Iterator[str]:
    """Yield the comments between two positions; a ``#`` within a scalar starts none."""
    while not tree.json and (found := _comment.search(tree.text, start, end)):
        before = bisect_right(tree.scalars, found.start(), key=lambda span: span[0])
        scalar_end = tree.scalars[before - 1][1] if before else 0
        if scalar_end > found.start():
            start = scalar_end
        else:
            yield found[0]
            start = found.end()
