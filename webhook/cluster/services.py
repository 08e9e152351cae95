"""
Store of Services, indexed to find those that select a pod.

``ServiceStore.select`` is the entry point. The index has each Service under one label of its
selector: the rarest in its namespace when the Service is added. A selected pod has that label, so
a lookup by the few labels of a pod finds all candidates. Few candidates do not match, since a
label that many Services share is rarely the rarest one of a selector.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from operator import attrgetter
from sys import intern

from webhook.cluster import wire
from webhook.cluster.quota import NamespaceQuota, labels_size
from webhook.cluster.store import UNLIMITED, Key, Store, interned
from webhook.policy.facts import ServiceSelector

Pair = tuple[str, str]

_by_name = attrgetter("name")


class ServiceStore(Store[wire.ServiceObject]):
    """Store of the Services that select pods, without those whose selector is null."""

    def __init__(self, quota: NamespaceQuota = UNLIMITED) -> None:
        self._quota = quota
        self._namespaces: dict[str, _Shelf] = {}

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    def put(self, thing: wire.ServiceObject) -> None:
        """
        Add a Service, or replace the one with the same name.

        Raises:
            NamespaceSizeError: Its namespace exceeds the quota; the Service is then absent.
        """
        selector = thing.selector
        known = self._known(thing.namespace, thing.name)
        if known is not None and selector is not None and known.selector == selector:
            return
        self.remove(thing.namespace, thing.name)
        if selector is None:
            return
        self._quota.take(thing.namespace, labels_size(selector))
        shelf = self._namespaces.get(thing.namespace)
        if shelf is None:
            shelf = self._namespaces[intern(thing.namespace)] = _Shelf()
        shelf.put(ServiceSelector(thing.name, interned(selector)))

    def remove(self, namespace: str, name: str) -> None:
        """Remove a Service; do nothing if it is not in the store."""
        shelf = self._namespaces.get(namespace)
        removed = shelf.remove(name) if shelf is not None else None
        if removed is not None:
            self._quota.free(namespace, labels_size(removed.selector))
        if shelf is not None and not len(shelf):
            del self._namespaces[namespace]

    def _known(self, namespace: str, name: str) -> ServiceSelector | None:
        shelf = self._namespaces.get(namespace)
        return shelf.known(name) if shelf is not None else None

    def walk(self) -> Iterator[Key]:
        """Iterate over the keys of all Services that have a selector."""
        return ((space, name) for space, shelf in self._namespaces.items() for name in shelf.names)

    def select(self, namespace: str, labels: Mapping[str, str]) -> list[ServiceSelector]:
        """Return the Services that select a pod with these labels, sorted by name."""
        shelf = self._namespaces.get(namespace)
        return shelf.select(labels) if shelf is not None else []


class _Shelf:
    """The Services of one namespace."""

    __slots__ = ("_commonness", "_filed", "_for_all", "_services")

    def __init__(self) -> None:
        self._services: dict[
            str, tuple[ServiceSelector, Pair | None]
        ] = {}  # by name, with the index label
        self._filed: dict[Pair, dict[str, ServiceSelector]] = {}
        self._for_all: dict[str, ServiceSelector] = {}  # with an empty selector
        self._commonness: Counter[Pair] = Counter()  # number of selectors with a label

    def __len__(self) -> int:
        return len(self._services)

    @property
    def names(self) -> Mapping[str, object]:
        """The names of all Services."""
        return self._services

    def known(self, name: str) -> ServiceSelector | None:
        service, _ = self._services.get(name, (None, None))
        return service

    def put(self, service: ServiceSelector) -> None:
        """Add a Service with a new name."""
        pairs = service.selector.items()
        self._commonness.update(pairs)
        pair = min(pairs, key=self._rarity, default=None)
        self._services[service.name] = service, pair
        file = self._for_all if pair is None else self._filed.setdefault(pair, {})
        file[service.name] = service

    def _rarity(self, pair: Pair) -> tuple[int, Pair]:
        return self._commonness[pair], pair

    def remove(self, name: str) -> ServiceSelector | None:
        """Remove and return a Service; None if there is none."""
        service, pair = self._services.pop(name, (None, None))
        if service is None:
            return None
        self._forget_pairs(service)
        if pair is None:
            del self._for_all[name]
            return service
        del self._filed[pair][name]
        if not self._filed[pair]:
            del self._filed[pair]
        return service

    def _forget_pairs(self, service: ServiceSelector) -> None:
        for pair in service.selector.items():
            self._commonness[pair] -= 1
            if not self._commonness[pair]:
                del self._commonness[pair]

    def select(self, labels: Mapping[str, str]) -> list[ServiceSelector]:
        found = list(self._for_all.values())
        carried = labels.items()
        for pair in carried:
            file = self._filed.get(pair)
            if file is not None:
                found += [each for each in file.values() if each.selector.items() <= carried]
        if len(found) > 1:
            found.sort(key=_by_name)
        return found
