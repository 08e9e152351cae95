"""
Memory limits for the cached selectors of one object and of one namespace.

``NamespaceQuota`` is the entry point. A user of one namespace can create Services of 1.5 MB, each
of which would take 20 MB here, or tens of thousands of small ones. The caches treat objects beyond
the limits as absent, and report them.
"""

import msgspec

from webhook.policy.model import LabelSelector

MAX_SELECTOR_BYTES = 8 * 1024
"""Maximum size of a cached selector, as ``selector_size`` estimates it; 600 bytes are usual."""

MAX_SELECTOR_TEXT = 8 * MAX_SELECTOR_BYTES
"""
Maximum bytes of a selector's JSON: each byte of a string may be written as six.

A longer one is not decoded: 460 000 empty expressions took 200 ms of the event loop.
"""

NAMESPACE_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a namespace's objects in all caches together: 80 000 ReplicaSets."""

OBJECT_BYTES = 256  # per object, without its selector: its name and its index entries
_PART_BYTES = 64  # per string, without its characters: the object and its reference


class SelectorSizeError(msgspec.ValidationError):
    """A selector is too large for the caches."""


class ObjectSizeError(msgspec.ValidationError):
    """An object is larger than an answer of the API server may be."""


class NamespaceSizeError(msgspec.ValidationError):
    """A namespace exceeds its quota in the caches."""


def selector_size(selector: LabelSelector | dict[str, str]) -> int:
    """Estimate the memory of a label selector, or of the labels that a Service selects."""
    labels = selector if isinstance(selector, dict) else selector.match_labels
    size = sum(map(len, labels)) + sum(map(len, labels.values())) + 2 * _PART_BYTES * len(labels)
    for expression in () if isinstance(selector, dict) else selector.match_expressions:
        size += len(expression.key) + len(expression.operator) + 2 * _PART_BYTES
        size += sum(map(len, expression.values)) + _PART_BYTES * len(expression.values)
    return size


def check_selector_size(selector: LabelSelector | dict[str, str]) -> None:
    """
    Check the size of a selector.

    Raises:
        SelectorSizeError: It takes more than ``MAX_SELECTOR_BYTES``.
    """
    size = selector_size(selector)
    if size > MAX_SELECTOR_BYTES:
        problem = f"its selector takes {size} bytes, at most {MAX_SELECTOR_BYTES} are kept"
        raise SelectorSizeError(problem)


def check_selector_text(selector: msgspec.Raw | None) -> None:
    """
    Check the size of a selector's JSON; None stands for no selector.

    Raises:
        SelectorSizeError: It has more than ``MAX_SELECTOR_TEXT`` bytes.
    """
    size = 0 if selector is None else len(selector)
    if size > MAX_SELECTOR_TEXT:
        problem = f"its selector has {size} bytes of JSON, at most {MAX_SELECTOR_TEXT} are decoded"
        raise SelectorSizeError(problem)


class NamespaceQuota:
    """Limit on the bytes that the objects of one namespace take in all caches together."""

    def __init__(self, max_bytes: int | None = NAMESPACE_BYTES) -> None:
        """Start with no bytes in use; None sets no limit, as for the user's own files."""
        self._max_bytes = max_bytes
        self._taken: dict[str, int] = {}

    def take(self, namespace: str, selector_bytes: int) -> None:
        """
        Count an object that enters a cache.

        Raises:
            NamespaceSizeError: It exceeds the limit; it is not counted.
        """
        if self._max_bytes is None:
            return
        taken = self._taken.get(namespace, 0) + OBJECT_BYTES + selector_bytes
        if taken > self._max_bytes:
            raise NamespaceSizeError(f"its namespace takes more than {self._max_bytes >> 20} MiB")
        self._taken[namespace] = taken

    def free(self, namespace: str, selector_bytes: int) -> None:
        """Stop counting an object that leaves a cache."""
        if self._max_bytes is None:
            return
        taken = self._taken[namespace] - OBJECT_BYTES - selector_bytes
        if taken:
            self._taken[namespace] = taken
        else:
            del self._taken[namespace]
