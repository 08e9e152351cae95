"""
Indexed in-memory stores, one for each kind of object; synchronous, without I/O.

``Store`` is the base class. Lookup time must not grow with the number of objects. The stores of
Services and Nodes, whose indexes are more complex, are in ``services`` and ``nodes``.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

from webhook.cluster import wire
from webhook.cluster.quota import NamespaceQuota, selector_size
from webhook.policy.model import LabelSelector, LabelSelectorRequirement

Key = tuple[str, str]
"""Namespace and name; the namespace is empty for cluster-scoped kinds."""

UNLIMITED = NamespaceQuota(None)

SHARED_STRINGS = 4096
"""Strings that objects share at a time, about 1 MB: in a list, similar objects are neighbours."""

MAX_SHARED_LENGTH = 317  # characters of the longest label key

T_contra = TypeVar("T_contra", contravariant=True)


class Store(ABC, Generic[T_contra]):
    """Store of the objects of one kind; ``len`` counts them."""

    def __init__(self, names: Mapping[str, Collection[str]]) -> None:
        """Start with the names by namespace that ``put`` and ``remove`` keep current."""
        self._names = names

    @abstractmethod
    def put(self, thing: T_contra) -> None:
        """Add an object, or replace the one with the same name."""

    @abstractmethod
    def remove(self, namespace: str, name: str) -> None:
        """Remove an object; do nothing if it is not in the store."""

    def __len__(self) -> int:
        return sum(map(len, self._names.values()))

    def iterate_keys(self) -> Iterator[Key]:
        """Iterate over the keys; the store must not change during the iteration."""
        return ((space, name) for space, names in self._names.items() for name in names)


class NamespaceStore(Store[wire.NamespaceObject]):
    """Store of the labels of Namespaces."""

    def __init__(self) -> None:
        self._labels: dict[str, dict[str, str]] = {}
        super().__init__({"": self._labels})

    def put(self, thing: wire.NamespaceObject) -> None:
        """Add a Namespace, or replace the one with the same name."""
        self._labels[thing.name] = share_labels(thing.labels)

    def remove(self, namespace: str, name: str) -> None:  # noqa: ARG002 - it is in none
        """Remove a Namespace; do nothing if it is not in the store."""
        self._labels.pop(name, None)

    def labels(self, name: str) -> Mapping[str, str] | None:
        """Return the labels of a Namespace; None if it is not known."""
        return self._labels.get(name)

    def copy(self) -> Mapping[str, Mapping[str, str]]:
        """Return the labels of all Namespaces, by name; later changes do not change the result."""
        return self._labels.copy()


PodOwner: TypeAlias = (
    wire.ControllerObject | wire.ReplicationControllerObject | wire.CustomControllerObject
)


class OwnerStore(Store[PodOwner]):
    """
    Store of the selectors of one kind of owner, without owners that have no selector.

    It keeps nothing of a removed owner: the quota of the namespace counts only those that exist.
    """

    def __init__(self, quota: NamespaceQuota = UNLIMITED) -> None:
        self._quota = quota
        self._selectors: dict[str, dict[str, LabelSelector]] = {}
        super().__init__(self._selectors)

    def put(self, thing: PodOwner) -> None:
        """
        Add an owner, or replace the one with the same name.

        Raises:
            NamespaceSizeError: Its namespace exceeds the quota; the owner is then absent.
        """
        self.remove(thing.namespace, thing.name)
        if thing.selector is None:
            return
        self._quota.take(thing.namespace, selector_size(thing.selector))
        selectors = self._selectors.setdefault(share(thing.namespace), {})
        selectors[thing.name] = _share_selector(thing.selector)

    def remove(self, namespace: str, name: str) -> None:
        """Remove an owner; do nothing if it is not in the store."""
        selectors = self._selectors.get(namespace, {})
        known = selectors.pop(name, None)
        if known is None:
            return
        self._quota.free(namespace, selector_size(known))
        if not selectors:
            del self._selectors[namespace]

    def selector(self, namespace: str, name: str) -> LabelSelector | None:
        """Return the selector of an owner; None if it is not known or has none."""
        return self._selectors.get(namespace, {}).get(name)


_UNIQUE_LABEL = "pod-template-hash"
"""A label whose values differ in nearly all ReplicaSets, so that interning them wastes memory."""


_shared = lru_cache(SHARED_STRINGS)(str)  # equal strings -> the first of them


def share(text: str) -> str:
    """
    Return an equal string of a recent object, so that objects that are alike share memory.

    ``sys.intern`` would keep every string for good in Python 3.12: a leak that any user can feed.
    """
    return _shared(text) if len(text) <= MAX_SHARED_LENGTH else text


def share_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Copy labels with shared strings."""
    return {
        share(key): value if key == _UNIQUE_LABEL else share(value) for key, value in labels.items()
    }


def _share_selector(selector: LabelSelector) -> LabelSelector:
    requirements = (
        LabelSelectorRequirement(
            share(requirement.key),
            share(requirement.operator),
            tuple(map(share, requirement.values)),
        )
        for requirement in selector.match_expressions
    )
    return LabelSelector(share_labels(selector.match_labels), tuple(requirements))
