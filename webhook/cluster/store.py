"""
Indexed objects of one kind, and the changes that reach them; synchronous, without I/O.

Every question is answered in a time that does not grow with the number of objects. Services and
Nodes, whose indexes are subjects of their own, have modules of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from sys import intern
from typing import Generic, Protocol, TypeVar

from msgspec.structs import replace

from webhook.cluster import wire
from webhook.cluster.quota import NamespaceQuota, selector_size
from webhook.policy.model import LabelSelector, LabelSelectorRequirement

Key = tuple[str, str]
"""Namespace and name; the namespace is empty for kinds that have none."""

UNLIMITED = NamespaceQuota(None)

T_contra = TypeVar("T_contra", bound="StoredObject", contravariant=True)


class WatchEventType(StrEnum):
    """
    What happened to an object.

    Source: apimachinery pkg/watch ``EventType``.
    """

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class StoredObject(Protocol):
    """What has a name and a namespace."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def namespace(self) -> str:
        """Its namespace; empty if its kind has none."""
        ...


class Store(ABC, Generic[T_contra]):
    """The objects of one kind."""

    @abstractmethod
    def put(self, thing: T_contra) -> None:
        """Add an object, or replace the one of its name."""

    @abstractmethod
    def remove(self, namespace: str, name: str) -> None:
        """Forget an object; do nothing if it is not known."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def walk(self) -> Iterator[Key]:
        """Name one object after the other; the store must not be changed meanwhile."""

    def keys(self) -> set[Key]:
        """Name all objects."""
        return set(self.walk())

    def apply(self, event: WatchEventType, thing: T_contra) -> None:
        """Follow one change."""
        if event is WatchEventType.DELETED:
            self.remove(thing.namespace, thing.name)
        else:
            self.put(thing)

    def replace(self, things: Iterable[T_contra]) -> None:
        """
        Hold these objects and no others.

        Each is put in turn, and what is gone goes last: nothing that exists before and after is
        missed in between, and there are never two copies of all.
        """
        seen: set[Key] = set()
        for thing in things:
            self.put(thing)
            seen.add((thing.namespace, thing.name))
        self.retain(seen)

    def retain(self, keys: set[Key]) -> None:
        """Forget all objects but these."""
        for namespace, name in self.keys() - keys:
            self.remove(namespace, name)


class NamespaceStore(Store[wire.NamespaceObject]):
    """The labels of Namespaces."""

    def __init__(self) -> None:
        self._labels: dict[str, dict[str, str]] = {}

    def __len__(self) -> int:
        return len(self._labels)

    def put(self, thing: wire.NamespaceObject) -> None:
        """Add a Namespace, or replace the one of its name."""
        self._labels[thing.name] = interned(thing.labels)

    def remove(self, namespace: str, name: str) -> None:  # noqa: ARG002 - it is in none
        """Forget a Namespace; do nothing if it is not known."""
        self._labels.pop(name, None)

    def walk(self) -> Iterator[Key]:
        """Name one Namespace after the other."""
        return (("", name) for name in self._labels)

    def labels(self, name: str) -> Mapping[str, str] | None:
        """Give the labels of a Namespace; None if it is not known."""
        return self._labels.get(name)


class PodOwner(StoredObject, Protocol):
    """What owns pods and selects them."""

    @property
    def selector(self) -> LabelSelector | None:
        """Its selector; None if it has none."""
        ...


class OwnerStore(Store[PodOwner]):
    """
    The selectors of one kind of owners. Owners without a selector are not kept.

    Selectors that are equal are mostly kept once: the pool in which an equal one is looked for is
    emptied whenever it is full, since the ReplicaSets of a cluster nearly all differ by their hash.
    """

    POOLED = 8192
    """Most selectors in the pool, a few MB; copies of one application rarely have more."""

    def __init__(self, quota: NamespaceQuota = UNLIMITED) -> None:
        self._quota = quota
        self._selectors: dict[str, dict[str, LabelSelector]] = {}
        self._pool: dict[object, LabelSelector] = {}

    def __len__(self) -> int:
        return sum(map(len, self._selectors.values()))

    def put(self, thing: PodOwner) -> None:
        """
        Add an owner, or replace the one of its name.

        Raises:
            NamespaceSizeError: There are too many in its namespace; then it is absent.
        """
        self.remove(thing.namespace, thing.name)
        if thing.selector is None:
            return
        self._quota.take(thing.namespace, selector_size(thing.selector))
        selectors = self._selectors.get(thing.namespace)
        if selectors is None:
            selectors = self._selectors[intern(thing.namespace)] = {}
        selectors[thing.name] = self._pooled(thing.selector)

    def remove(self, namespace: str, name: str) -> None:
        """Forget an owner; do nothing if it is not known."""
        selectors = self._selectors.get(namespace)
        known = selectors.pop(name, None) if selectors else None
        if known is not None:
            self._quota.free(namespace, selector_size(known))
        if selectors is not None and not selectors:
            del self._selectors[namespace]

    def walk(self) -> Iterator[Key]:
        """Name one owner that has a selector after the other."""
        return ((space, name) for space, names in self._selectors.items() for name in names)

    def selector(self, namespace: str, name: str) -> LabelSelector | None:
        """Give the selector of an owner; None if it is not known or has none."""
        selectors = self._selectors.get(namespace)
        return selectors.get(name) if selectors else None

    def _pooled(self, selector: LabelSelector) -> LabelSelector:
        key = (tuple(selector.match_labels.items()), selector.match_expressions)
        pooled = self._pool.get(key)
        if pooled is None:
            if len(self._pool) >= self.POOLED:
                self._pool.clear()
            pooled = self._pool[key] = _interned_selector(selector)
        return pooled


_UNLIKE = "pod-template-hash"
"""The label whose values differ in nearly all ReplicaSets: to look for equal ones costs memory."""


def interned(labels: Mapping[str, str]) -> dict[str, str]:
    """Copy pairs, so that equal strings of a whole cluster are kept once."""
    return {
        intern(key): value if key == _UNLIKE else intern(value) for key, value in labels.items()
    }


def _interned_selector(selector: LabelSelector) -> LabelSelector:
    return LabelSelector(
        match_labels=interned(selector.match_labels),
        match_expressions=tuple(map(_interned_requirement, selector.match_expressions)),
    )


def _interned_requirement(requirement: LabelSelectorRequirement) -> LabelSelectorRequirement:
    return replace(
        requirement,
        key=intern(requirement.key),
        operator=intern(requirement.operator),
        values=tuple(map(intern, requirement.values)),
    )
