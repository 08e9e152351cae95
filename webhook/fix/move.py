"""
Edits of a document's text that rename a member, or move it into another object or a new one.

``locate_move`` is the entry point. The text of a block is moved as it is, with its comments; only
its indentation changes. ``locate`` finds the edits of other changes.
"""

from collections.abc import Iterator, Sequence

from webhook.fix.changes import FixObstacle, Move, Put, Remove, Wrap
from webhook.fix.format import infer_layout
from webhook.fix.locate import (
    EXPLICIT,
    MERGED,
    MERGED_MEMBER,
    Placement,
    empty_block,
    locate_change,
    remove_entry,
)
from webhook.manifests.edits import (
    TextEdit,
    after_break,
    break_near,
    has_rare_breaks,
    line_end,
    line_start,
    overlap,
)
from webhook.manifests.tree import Tree, TreeEntry, TreeNode
from webhook.policy.advice import flow

REPEATED = FixObstacle("its key is written twice: remove one of the two first")
ANCHORED = FixObstacle("a part of it has an anchor, an alias or a tag: write it without")
ESCAPED = FixObstacle("its key is written with escapes: write it without")
RARE_BREAKS = FixObstacle("one of its lines ends neither at LF nor at CR LF: write one of these")


def locate_move(tree: Tree, change: Move | Wrap) -> Placement | FixObstacle:
    """Find the edits that move or wrap a member of the document."""
    *path, step = change.path
    way = tree.entries_along(tuple(path))
    container = way[-1].node if way else tree.root
    entry = container.find(step)
    if len(way) < len(path) or entry is None:
        return MERGED if len(way) < len(path) else MERGED_MEMBER
    if sum(one.step == step for one in container.entries) > 1:
        return REPEATED
    if isinstance(change, Wrap):
        return _wrap(tree, [tree.root, *(one.node for one in way)], entry, change.name)
    if change.renames:
        return rename_entry(tree, container, entry, str(change.target[-1]))
    return _move(tree, container, entry, change)


def _move(
    tree: Tree, container: TreeNode, entry: TreeEntry, change: Move
) -> Placement | FixObstacle:
    if _is_anchored(entry) or any(map(_is_anchored, _list_entries(entry.node))):
        return ANCHORED
    targets = [tree.root, *(way.node for way in tree.entries_along(change.target[:-1]))]
    is_there = len(targets) == len(change.target)
    if is_there and targets[-1].entries and not targets[-1].flow and _is_block(tree, entry):
        return _move_block(tree, container, targets[-1], change)
    return _move_value(tree, change)


def rename_entry(
    tree: Tree, container: TreeNode, entry: TreeEntry, name: str
) -> Placement | FixObstacle:
    """Find the edit that renames a member of a mapping."""
    if entry.explicit:
        return EXPLICIT
    old = str(entry.step)
    start = entry.start + (tree.text[entry.start] in "\"'")
    end = start + len(old)
    if tree.text[start:end] != old:
        return ESCAPED
    return Placement((TextEdit(start, end, name),), container.places)


def _wrap(
    tree: Tree, way: Sequence[TreeNode], entry: TreeEntry, name: str
) -> Placement | FixObstacle:
    """Wrap a member, and remove the null that is written where the new object belongs."""
    wrapped = wrap_entry(tree, way, entry, name)
    written = [one for one in way[-1].entries if one.step == name]
    if not written or isinstance(wrapped, FixObstacle):
        return wrapped
    if len(written) > 1:
        return REPEATED
    if _is_anchored(written[0]):
        return ANCHORED
    removed = remove_entry(tree, way[-1], name)
    if isinstance(removed, FixObstacle):
        return removed
    return Placement(tuple(sorted((*wrapped.edits, *removed.edits))), wrapped.places)


def wrap_entry(
    tree: Tree, way: Sequence[TreeNode], entry: TreeEntry, name: str
) -> Placement | FixObstacle:
    """Put a member in brackets after a key, or below the key and indented by one more step."""
    text, container = tree.text, way[-1]
    written = text[entry.start : entry.end]
    if entry.explicit:
        return EXPLICIT
    if container.flow:
        key = f'"{name}"' if written.startswith('"') else name
        wrapped = f"{key}: {{{written}}}"
    elif has_rare_breaks(written):
        return RARE_BREAKS
    else:
        step = " " * infer_layout(tree, way).step
        margin = " " * (entry.start - line_start(text, entry.start))
        lines = "\n".join(_indent(line, "", step) for line in written.split("\n"))
        wrapped = f"{name}:{break_near(text, entry.start)}{margin}{lines}"
    return Placement((TextEdit(entry.start, entry.end, wrapped),), container.places)


def _list_entries(node: TreeNode) -> Iterator[TreeEntry]:
    """Yield all entries of a value, at any depth."""
    for entry in node.entries:
        yield entry
        yield from _list_entries(entry.node)


def _is_anchored(entry: TreeEntry) -> bool:
    """Whether an entry is an alias or a merge, or its value has an anchor or a tag."""
    return entry.alias or entry.step is None or entry.node.opening != entry.node.start


def _is_block(tree: Tree, entry: TreeEntry) -> bool:
    """Whether a member occupies whole lines, so that its text can be moved as it is."""
    text, begin = tree.text, line_start(tree.text, entry.start)
    whole = text[begin : line_end(text, entry.end)]
    margin, lines = text[begin : entry.start], whole.split("\n")
    return (
        bool(entry.node.entries)
        and not entry.node.flow
        and not margin.strip(" ")
        and not entry.explicit
        and not has_rare_breaks(whole)
        and all(line.startswith(margin) or not line.strip() for line in lines)
    )


def _move_block(
    tree: Tree, container: TreeNode, target: TreeNode, change: Move
) -> Placement | FixObstacle:
    """Move the lines of a member, as they are, to the end of another mapping."""
    text, name = tree.text, str(change.target[-1])
    entry = next(one for one in container.entries if one.step == change.path[-1])
    placed = locate_change(tree, Put(change.target, None))
    if isinstance(placed, FixObstacle):
        return placed
    (insertion,) = placed.edits
    begin, end = line_start(text, entry.start), line_end(text, entry.end)
    key = text[entry.start : entry.value].partition(":")[0]
    first, *others = text[entry.start + len(key) : end].split("\n")
    first_of_target = target.entries[0].start
    margin = " " * (first_of_target - line_start(text, first_of_target))
    old_margin = text[begin : entry.start]
    lines = [f"{name}{first}", *(_indent(line, old_margin, margin) for line in others)]
    written = insertion.text.replace(flow.member(name, None), "\n".join(lines), 1)
    removal = _remove_lines(tree, container, begin, end)
    return _join(tree, removal, insertion._replace(text=written), placed.places)


def _remove_lines(tree: Tree, container: TreeNode, start: int, end: int) -> TextEdit:
    """Remove the lines of a member with their comments; leave brackets if it is the only one."""
    text = tree.text
    if len(container.entries) == 1:
        return empty_block(tree, container, ())
    if (after := after_break(text, end)) > end:
        return TextEdit(start, after, "")
    return TextEdit(start - len(break_near(text, start)), end, "")  # the last line has no break


def _indent(line: str, old: str, new: str) -> str:
    return f"{new}{line.removeprefix(old)}" if line.strip() else line


def _move_value(tree: Tree, change: Move) -> Placement | FixObstacle:
    """Write the value anew in its new place; its comments stay."""
    removed = locate_change(tree, Remove(change.path))
    written = locate_change(tree, Put(change.target, change.value))
    for placed in (removed, written):
        if isinstance(placed, FixObstacle):
            return placed
    assert isinstance(removed, Placement), "an obstacle was returned"
    assert isinstance(written, Placement), "an obstacle was returned"
    places = max(removed.places, written.places)
    return _join(tree, removed.edits[0], written.edits[0], places)


def _join(tree: Tree, removal: TextEdit, insertion: TextEdit, places: int) -> Placement:
    """Combine a removal and an insertion, which may be at either end of what is removed."""
    if not overlap(removal, insertion):
        return Placement(tuple(sorted((removal, insertion))), places)
    between = break_near(tree.text, removal.start)
    if insertion.start == removal.start:
        text = f"{insertion.text}{removal.text}"
    else:  # it follows the last line that is removed, so it begins with a line break
        text = f"{removal.text}{insertion.text.removeprefix(between)}{between}"
    return Placement((removal._replace(text=text),), places)
