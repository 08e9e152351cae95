"""
How much memory the selectors of a cluster take, and how much of it one tenant may.

A user of one namespace can create Services of 1.5 MB, each of which would take 20 MB here, or tens
of thousands of small ones. What is beyond the bounds counts as absent, and is reported.
"""

import msgspec

from webhook.policy.model import LabelSelector

MAX_SELECTOR_BYTES = 8 * 1024
"""Bytes of one selector that is kept, as ``selector_size`` counts them; usual ones have 600."""

NAMESPACE_BYTES = 64 * 1024 * 1024
"""Bytes of all objects of a namespace that are kept, in all caches: 80 000 ReplicaSets."""

OBJECT_BYTES = 256  # of an object besides its selector: its name and its places in the indexes
_PART_BYTES = 64  # of a string, and its place in a dict or tuple, besides its characters


class SelectorSizeError(msgspec.ValidationError):
    """A selector is too large to be kept."""


class NamespaceSizeError(msgspec.ValidationError):
    """A namespace has more objects than are kept."""


def selector_size(selector: LabelSelector) -> int:
    """Estimate how many bytes of memory a selector takes."""
    size = labels_size(selector.match_labels)
    for expression in selector.match_expressions:
        size += len(expression.key) + len(expression.operator) + 2 * _PART_BYTES
        size += sum(map(len, expression.values)) + _PART_BYTES * len(expression.values)
    return size


def labels_size(pairs: dict[str, str]) -> int:
    """Estimate how many bytes of memory the pairs of a selector take."""
    return sum(map(len, pairs)) + sum(map(len, pairs.values())) + 2 * _PART_BYTES * len(pairs)


class NamespaceQuota:
    """The bytes that the objects of each namespace take, in all caches together."""

    def __init__(self, most: int | None = NAMESPACE_BYTES) -> None:
        """
        Start with nothing taken.

        Args:
            most: Bytes that a namespace may take; None: any number, as in files of one's own.
        """
        self._most = most
        self._taken: dict[str, int] = {}

    def take(self, namespace: str, selector_bytes: int) -> None:
        """
        Count an object that is put into a cache.

        Raises:
            NamespaceSizeError: It is one too many, and not counted.
        """
        if self._most is None:
            return
        taken = self._taken.get(namespace, 0) + OBJECT_BYTES + selector_bytes
        if taken > self._most:
            raise NamespaceSizeError(f"its namespace takes more than {self._most >> 20} MiB")
        self._taken[namespace] = taken

    def free(self, namespace: str, selector_bytes: int) -> None:
        """Count an object no more that was taken out of a cache."""
        if self._most is None:
            return
        taken = self._taken[namespace] - OBJECT_BYTES - selector_bytes
        if taken:
            self._taken[namespace] = taken
        else:
            del self._taken[namespace]
