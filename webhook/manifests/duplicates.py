"""
Keys that an object contains more than once; the last one counts, as for kubectl.

``repeats_key`` checks quickly whether a JSON text has any, ``list_duplicate_keys`` finds their
places. The reader of YAML notices them itself.
"""

from collections.abc import Iterator
from typing import NamedTuple

from webhook.manifests.tree import TreeEntry, TreeNode
from webhook.policy.paths import FieldPath

_ESCAPED_COLONS = ("\\u003a", "\\u003A")


class DuplicateKey(NamedTuple):
    """
    A key that an object contains more than once.

    Attributes:
        path: From the value that was searched to the member.
        places: Its lines, from 1, or its characters, from 0, in order; at least two.
    """

    path: FieldPath
    places: tuple[int, ...]


def repeats_key(text: str, encoded: bytes | None, start: int = 0, end: int | None = None) -> bool:
    """
    Whether an object in a JSON text may have two equal keys; never False if one has.

    A value contains one member of each key, and is encoded with as many colons as its keys and
    strings have: fewer than in the text, if a key was dropped.

    Args:
        encoded: What was decoded from the text, as JSON; None if it cannot be encoded.
        start: The character at which its text starts.
        end: The character at which it ends; None for the end of the text.
    """
    escape = text.find("\\", start, end)
    if escape >= 0 and any(text.find(colon, escape, end) >= 0 for colon in _ESCAPED_COLONS):
        return True
    return encoded is None or encoded.count(b":") != text.count(":", start, end)


def list_duplicate_keys(node: TreeNode, path: FieldPath = ()) -> Iterator[DuplicateKey]:
    """
    List the duplicate keys in a value, at any depth, with their characters.

    A strict decoder also reads, and reports, what is in a value that a later one replaces.

    Source: sigs.k8s.io/yaml goyaml.v2 decode.go ``mapping``, sigs.k8s.io/json decode.go ``object``.
    """
    found: dict[str | int, list[TreeEntry]] = {}
    for entry in node.entries:
        if entry.step is not None:  # a merge (<<) may be repeated
            found.setdefault(entry.step, []).append(entry)
    for step, entries in found.items():
        if len(entries) > 1:
            yield DuplicateKey((*path, step), tuple(entry.start for entry in entries))
        for entry in entries:
            if not entry.alias:  # otherwise the keys are repeated at the anchor
                yield from list_duplicate_keys(entry.node, (*path, step))
