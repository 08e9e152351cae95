"""
Keys that an object contains more than once; the last one counts, as for kubectl.

``repeats_key`` checks quickly whether a JSON text has any, ``list_duplicate_keys`` finds their
places. The reader of YAML notices them itself.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from webhook.manifests.tree import TreeEntry, TreeNode
from webhook.policy.paths import FieldPath

_AFTER_KEY = b'":'
_written_otherwise = re.compile(rb'"[ \t\r\n]+:|\\u00(?:22|3[aA])').search
"""A key with blanks before its colon; a quote or a colon that is escaped by its number."""


class DuplicateKey(NamedTuple):
    """
    A key that an object contains more than once.

    Attributes:
        path: From the value that was searched to the member.
        places: Its lines, from 1, or its characters, from 0, in order; at least two.
    """

    path: FieldPath
    places: tuple[int, ...]


def repeats_key(text: str) -> bool:
    """
    Whether an object in a JSON text may have two equal keys; never False if one has.

    Decoding keeps one member of each key, and encoding writes as many colons after quotes as
    there are keys and such strings: fewer than in the text, if a key was dropped.
    """
    data = text.encode()
    if _written_otherwise(data):
        return True
    try:
        kept = msgspec.json.encode(msgspec.json.decode(data))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return True
    return kept.count(_AFTER_KEY) != data.count(_AFTER_KEY)


def list_duplicate_keys(node: TreeNode, path: FieldPath = ()) -> Iterator[DuplicateKey]:
    """List the duplicate keys in a value, at any depth, with their characters."""
    found: dict[str | int, list[TreeEntry]] = {}
    for entry in node.entries:
        if entry.step is not None:  # a merge (<<) may be repeated
            found.setdefault(entry.step, []).append(entry)
    for step, entries in found.items():
        if len(entries) > 1:
            yield DuplicateKey((*path, step), tuple(entry.start for entry in entries))
        if not entries[-1].alias:  # otherwise the keys are repeated at the anchor
            yield from list_duplicate_keys(entries[-1].node, (*path, step))
