"""
Edits of merged mappings (``<<``), which change all mappings into which they are merged.

``locate_in_merged`` is the entry point. ``locate`` and ``move`` find the edits of other values,
``overrides`` the changes of a single mapping.
"""

from webhook.fix.changes import Change, FixObstacle, Move, Put, Remove, Wrap
from webhook.fix.locate import Placement, insert_entry, remove_entry, replace_entry
from webhook.fix.move import rename_entry, wrap_entry
from webhook.manifests.tree import Tree, TreeEntry, TreeNode


def locate_in_merged(tree: Tree, change: Change) -> Placement | None:
    """
    Find the edits of a merged mapping that make a change of all mappings into which it is merged.

    Returns:
        None if no mapping is merged there, or if the change cannot be made in it.
    """
    *path, step = change.path
    way = [tree.root]
    is_merged = False
    for inner in path:
        node, entry = _find_through_merges(way[-1], inner)
        if entry is None:
            return None
        is_merged |= node is not way[-1]
        way += [entry.node] if node is way[-1] else [node, entry.node]
    node, entry = _find_through_merges(way[-1], step)
    if node is not way[-1]:
        way.append(node)
    elif not is_merged:
        return None
    found = _locate(tree, way, entry, change)
    return found if isinstance(found, Placement) else None


def _find_through_merges(node: TreeNode, step: str | int) -> tuple[TreeNode, TreeEntry | None]:
    """Find a member and the mapping that has it; if it is absent, the mapping merged last."""
    while (entry := node.find(step)) is None and (merged := node.merged) is not None:
        node = merged
    return node, entry


def _locate(
    tree: Tree, way: list[TreeNode], entry: TreeEntry | None, change: Change
) -> Placement | FixObstacle | None:
    """Find the edits of the last mapping on a way, which has the member or gets it."""
    container, step = way[-1], change.path[-1]
    if entry is None:
        if not isinstance(change, Put) or not container.collection:
            return None
        return insert_entry(tree, way, step, change.value)
    if sum(one.step == step for one in container.entries) > 1:
        return None
    if isinstance(change, Put):
        return replace_entry(tree, way, entry, change.value)
    if isinstance(change, Wrap):
        return wrap_entry(tree, way, entry, change.name)
    return _locate_member(tree, container, entry, change)


def _locate_member(
    tree: Tree, container: TreeNode, entry: TreeEntry, change: Remove | Move
) -> Placement | FixObstacle | None:
    if isinstance(change, Remove):
        return remove_entry(tree, container, change.path[-1])
    if change.renames:
        return rename_entry(tree, container, entry, str(change.target[-1]))
    return None
