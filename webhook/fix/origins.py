"""
Where the parts of moved values were before a move, so that reports can name their old lines.

Entry points: ``pair_moved`` compares the trees before and after a move, ``find_origin`` looks up a
position. Positions of all other text follow from the edits; see ``manifests.edits``.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from webhook.fix.changes import Change, Move, Wrap
from webhook.manifests.tree import Tree, TreeEntry, TreeNode


class MovedPart(NamedTuple):
    """
    A member or an item of a moved value; characters of the whole texts.

    Attributes:
        start: Its first character in the new text.
        end: The character after its last one in the new text.
        origin: Its first character in the old text.
    """

    start: int
    end: int
    origin: int

    def shift(self, before: int, after: int) -> "MovedPart":
        """Convert positions in a document to those in the old and the new file."""
        return MovedPart(self.start + after, self.end + after, self.origin + before)


def pair_moved(before: Tree, after: Tree, changes: Iterable[Change]) -> Iterator[MovedPart]:
    """Pair the parts of all values that changes have moved; outer parts come first."""
    for change in changes:
        if isinstance(change, Move | Wrap):
            old, new = before.entries_along(change.path), after.entries_along(change.target)
            if len(old) == len(change.path) and len(new) == len(change.target):
                yield from _pair_entries(old[-1], new[-1])


def _pair_entries(old: TreeEntry, new: TreeEntry) -> Iterator[MovedPart]:
    yield MovedPart(new.start, new.end, old.start)
    if not (old.alias or new.alias):
        yield from _pair_members(old.node, new.node)


def _pair_members(old: TreeNode, new: TreeNode) -> Iterator[MovedPart]:
    for one, other in zip(old.entries, new.entries, strict=False):
        if one.step != other.step:
            return  # a merge (<<) is written out
        yield from _pair_entries(one, other)


def find_origin(moved: Sequence[MovedPart], position: int) -> int | None:
    """Find where the smallest moved part at a character of the new text was; None for others."""
    found = (one.origin for one in reversed(moved) if one.start <= position < one.end)
    return next(found, None)
