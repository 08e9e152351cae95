"""
A change of a value as edits of the text that holds it: as few characters as it takes.

Comments stay, also those of what is removed: they then have a line of their own.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webhook.fix.changes import Change, FixObstacle, Put
from webhook.fix.format import (
    FlowStyle,
    format_block,
    format_item,
    format_scalar,
    infer_layout,
    unit_of,
)
from webhook.manifests import is_array, is_object
from webhook.manifests.edits import (
    TextEdit,
    after_break,
    break_near,
    indentation,
    line_end,
    line_start,
)
from webhook.manifests.tree import Tree, TreeEntry, TreeNode
from webhook.policy.paths import format_path

_comment = re.compile(r"(?:(?<=\s)|^)#[^\n\r\x85\u2028\u2029]*", re.MULTILINE)


class Placement(NamedTuple):
    """
    A change in a text.

    Attributes:
        edits: What to write, in the order of the text.
        places: How many values of the document this changes; more than one where an alias stands
            for what is edited.
    """

    edits: tuple[TextEdit, ...]
    places: int


MERGED = FixObstacle("it comes from a merge (<<): change what is merged")
EXPLICIT = FixObstacle("a key beside it is marked by ?: write it without")


def locate_change(tree: Tree, change: Change) -> Placement | FixObstacle:
    """
    Find the edits that make a change.

    Args:
        tree: The document.
        change: Of a part of it.
    """
    *path, step = change.path
    way = tree.nodes_along(tuple(path))
    container = way[-1]
    if len(way) <= len(path) or not container.collection:
        merged = any(each.step is None for node in way for each in node.entries)
        where = format_path(change.path)
        return MERGED if merged else FixObstacle(f"{where} stands in nothing that can be edited")
    if isinstance(change, Put):
        entry = container.find(step)
        if entry is None:
            return _insert(tree, way, step, change.value)
        return _replace(tree, way, entry, change.value)
    return _remove(tree, container, step)


def _replace(
    tree: Tree, way: Sequence[TreeNode], entry: TreeEntry, value: Any
) -> Placement | FixObstacle:
    container, node, text = way[-1], entry.node, tree.text
    start, end = (entry.value, entry.end) if entry.alias else (node.start, node.end)
    if node.tagged and not entry.alias:
        return FixObstacle("a tag says how to read it: write it without")
    if node.collection and not node.flow and not entry.alias:
        return FixObstacle("it is a block that would have to be written anew")
    places = container.places if entry.alias else node.places
    old = text[start:end]
    is_short = not (is_object(value) or is_array(value)) or not value
    if is_short or container.flow or (old.startswith(("{", "[")) and node.entries):
        quoted = container.flow and FlowStyle.of(tree, container).quoted
        blank = "" if old or text[start - 1].isspace() else " "
        written = format_scalar(value, old, quoted=quoted)
        return Placement((TextEdit(start, end, f"{blank}{written}"),), places)
    if not isinstance(entry.step, str) or entry.explicit:
        return FixObstacle("it would have to be written as a block in a place of its own")
    lines = format_block(entry.step, value, infer_layout(tree, way))[1:]
    return Placement(_unfold(text, entry, TextEdit(start, end, ""), lines), places)


def _unfold(
    text: str, entry: TreeEntry, old: TextEdit, lines: Sequence[str]
) -> tuple[TextEdit, ...]:
    """Write a block below a key that has stood on one line with its value."""
    start = old.start
    while text[start - 1] in " \t" and old.end > old.start:
        start -= 1
    margin = " " * (entry.start - line_start(text, entry.start))
    end = line_end(text, old.end)
    written = "".join(f"{break_near(text, end)}{margin}{line}" for line in lines)
    below = TextEdit(end, end, written)
    return (below,) if start == old.end else (TextEdit(start, old.end, ""), below)


def _insert(
    tree: Tree, way: Sequence[TreeNode], step: str | int, value: Any
) -> Placement | FixObstacle:
    container = way[-1]
    if any(each.explicit for each in container.entries):
        return EXPLICIT
    if container.flow:
        edit = _insert_in_brackets(tree, container, step, value)
    elif container.entries:
        edit = _insert_in_block(tree, way, step, value)
    else:
        return FixObstacle("there is nothing beside which it could be written")
    return Placement((edit,), container.places)


def _insert_in_brackets(tree: Tree, container: TreeNode, step: str | int, value: Any) -> TextEdit:
    text, brackets = tree.text, FlowStyle.of(tree, container)
    if not container.entries:
        at = container.start + 1
        return TextEdit(at, at, brackets.entry(step, value, "", ""))
    last = container.entries[-1]
    if not brackets.lines:
        blank = "" if brackets.tight else " "
        return TextEdit(last.end, last.end, f",{blank}{brackets.entry(step, value, '', '')}")
    margin = indentation(text, last.start)
    written = brackets.entry(step, value, margin, unit_of(tree, container))
    between = break_near(text, last.start)
    written = written.replace("\n", between)
    return TextEdit(last.end, last.end, f",{between}{margin}{written}")


def _insert_in_block(tree: Tree, way: Sequence[TreeNode], step: str | int, value: Any) -> TextEdit:
    """Write a new entry after the last one; a block scalar would take it for a part of its own."""
    text, container, layout = tree.text, way[-1], infer_layout(tree, way)
    lines = (
        format_block(step, value, layout) if isinstance(step, str) else format_item(value, layout)
    )
    first = container.entries[0]
    margin = " " * (first.start - line_start(text, first.start))
    after = [each for each in container.entries if each.alias or not each.node.ends_literally]
    if after and (after[-1] is container.entries[-1] or isinstance(step, str)):
        at = line_end(text, after[-1].end)
        between = break_near(text, at)
        return TextEdit(at, at, "".join(f"{between}{margin}{line}" for line in lines))
    between = break_near(text, first.start)
    return TextEdit(first.start, first.start, "".join(f"{line}{between}{margin}" for line in lines))


def _remove(tree: Tree, container: TreeNode, step: str | int) -> Placement | FixObstacle:
    found = [index for index, each in enumerate(container.entries) if each.step == step]
    if not found:
        return MERGED
    if any(each.explicit for each in container.entries):
        return EXPLICIT
    edits: list[TextEdit] = []
    for index in found:
        edit = _removal(tree, container, index)
        if edit is None:
            return FixObstacle("nothing else stands beside it")
        edits.append(edit)
    return Placement(tuple(edits), container.places)


def _removal(tree: Tree, container: TreeNode, index: int) -> TextEdit | None:
    text, entry = tree.text, container.entries[index]
    following = container.entries[index + 1 : index + 2]
    if container.flow:
        if following:
            return _cut(tree, entry.start, following[0].start)
        start = container.entries[index - 1].end if index else entry.start
        return _cut(tree, start, entry.end)
    if len(container.entries) == 1:
        return None
    begin = line_start(text, entry.start)
    if not text[begin : entry.start].strip():
        return _cut_lines(tree, begin, line_end(text, entry.end))
    return _cut(tree, entry.start, following[0].start) if following else None


def _cut(tree: Tree, start: int, end: int) -> TextEdit:
    """Take out a part of a line, or of several that go on after it."""
    begin = line_start(tree.text, start)
    margin = " " * (start - begin)
    between = break_near(tree.text, start)
    kept = [f"{comment}{between}{margin}" for comment in _comments(tree, start, end)]
    blank = " " if kept and not tree.text[start - 1].isspace() else ""
    return TextEdit(start, end, blank + "".join(kept))


def _cut_lines(tree: Tree, start: int, end: int) -> TextEdit:
    """Take out whole lines; the last one of a text that has no break with the break before it."""
    text = tree.text
    margin, between = indentation(text, start), break_near(text, start)
    kept = [f"{margin}{comment}" for comment in _comments(tree, start, end)]
    after = after_break(text, end)
    if after > end:
        return TextEdit(start, after, "".join(f"{each}{between}" for each in kept))
    start -= len(between) if start else 0
    return TextEdit(start, end, "".join(f"{between}{each}" for each in kept))


def _comments(tree: Tree, start: int, end: int) -> Iterator[str]:
    """The comments in a part of a text."""
    for found in () if tree.json else _comment.finditer(tree.text, start, end):
        at = found.start()
        inside = bisect_right(tree.scalars, at, key=lambda span: span[0])
        if not inside or tree.scalars[inside - 1][1] <= at:
            yield found[0]
