"""
Overrides of merged members (``<<``): a new member beside the merge, for one mapping only.

``override_merged`` is the entry point. A change inside a merged member cannot be made at its anchor
while other mappings merge the same text and must not change.
"""

from collections.abc import Sequence
from typing import Any

from webhook.fix.changes import Change, Move, Put, Wrap, apply_changes, shift
from webhook.manifests.tree import Tree, TreeNode
from webhook.policy.paths import FieldPath, find_value, is_array, is_object

MOST_COPIED = 40  # values in a new member; in more, the one that differs is hard to find


def override_merged(
    tree: Tree, changes: Sequence[Change], at: FieldPath, value: Any
) -> tuple[Change, ...] | None:
    """
    Replace changes inside merged members by changes that override these members as a whole.

    Args:
        changes: Changes of an object, with paths from the object.
        at: The path of the object in the document.
        value: The object.

    Returns:
        None if no change is inside a merged member, or if one cannot be made by an override.
    """
    found = {_find_merged_member(tree, shift(change, at).path) for change in changes}
    members = [path[len(at) :] for path in found if len(path) > len(at)]
    if not members or any(_crosses(change, path) for change in changes for path in members):
        return None
    after = apply_changes(changes, value)
    written = [Put(path, find_value(after, path)) for path in sorted(members, key=str)]
    if any(_count_values(one.value) > MOST_COPIED for one in written):
        return None
    kept = (one for one in changes if not any(_is_inside(one.path, path) for path in members))
    return (*kept, *written)


def _find_merged_member(tree: Tree, path: FieldPath) -> FieldPath:
    """Find the first member along the way to a change that is merged; empty if there is none."""
    node: TreeNode = tree.root
    for length, step in enumerate(path[:-1], start=1):
        entry = node.find(step)
        if entry is None:
            merges = any(one.step is None for one in node.entries)
            return path[:length] if merges and node.collection else ()
        node = entry.node
    return ()


def _crosses(change: Change, member: FieldPath) -> bool:
    """Whether a change moves something into a member, or out of it."""
    if not isinstance(change, Move | Wrap):
        return False
    return _is_inside(change.path, member) != _is_inside(change.target, member)


def _is_inside(path: FieldPath, member: FieldPath) -> bool:
    return len(path) > len(member) and path[: len(member)] == member


def _count_values(value: Any) -> int:
    if is_object(value):
        return sum(map(_count_values, value.values()))
    return sum(map(_count_values, value)) if is_array(value) else 1
