"""
Store of Services, indexed to find those that select a pod.

``ServiceStore.select`` is the entry point. The index has each Service under one label of its
selector: the rarest in its namespace when the Service is added. A selected pod has that label, so
a lookup by the few labels of a pod finds all candidates. Few candidates do not match, since a
label that many Services share is rarely the rarest one of a selector.
"""

from collections import Counter
from collections.abc import Mapping
from operator import attrgetter

from webhook.cluster import wire
from webhook.cluster.quota import NamespaceQuota, selector_size
from webhook.cluster.store import UNLIMITED, Store, share, share_labels
from webhook.policy.facts import ServiceSelector

LabelPair = tuple[str, str]
"""Key and value of a label."""

_by_name = attrgetter("name")


class _NamespaceIndex(dict[str, tuple[ServiceSelector, LabelPair | None]]):
    """
    The Services of one namespace, by name.

    Each is with the label under which the index has it; None for an empty selector.
    """

    __slots__ = ("_frequency", "_indexed")

    def __init__(self) -> None:
        super().__init__()
        self._indexed: dict[LabelPair | None, dict[str, ServiceSelector]] = {}
        self._frequency: Counter[LabelPair] = Counter()  # number of selectors with a label

    def selector(self, name: str) -> dict[str, str] | None:
        service, _ = self.get(name, (None, None))
        return service.selector if service is not None else None

    def add(self, service: ServiceSelector) -> None:
        pairs = service.selector.items()
        self._frequency.update(pairs)
        rarest = min(pairs, key=lambda pair: (self._frequency[pair], pair), default=None)
        self[service.name] = service, rarest
        self._indexed.setdefault(rarest, {})[service.name] = service

    def remove(self, name: str) -> None:
        service, pair = self.pop(name)
        for label in service.selector.items():
            self._frequency[label] -= 1
            if not self._frequency[label]:
                del self._frequency[label]
        del self._indexed[pair][name]
        if not self._indexed[pair]:
            del self._indexed[pair]

    def select(self, labels: Mapping[str, str]) -> list[ServiceSelector]:
        pairs = labels.items()
        found: list[ServiceSelector] = []
        for pair in (None, *pairs):
            candidates = self._indexed.get(pair)
            if candidates is not None:
                found += [item for item in candidates.values() if item.selector.items() <= pairs]
        if len(found) > 1:
            found.sort(key=_by_name)
        return found


_NO_SERVICES = _NamespaceIndex()


class ServiceStore(Store[wire.ServiceObject]):
    """Store of the Services that select pods, without those whose selector is null."""

    def __init__(self, quota: NamespaceQuota = UNLIMITED) -> None:
        self._quota = quota
        self._namespaces: dict[str, _NamespaceIndex] = {}
        super().__init__(self._namespaces)

    def put(self, thing: wire.ServiceObject) -> None:
        """
        Add a Service, or replace the one with the same name.

        Raises:
            NamespaceSizeError: Its namespace exceeds the quota; the Service is then absent.
        """
        namespace, selector = thing.namespace, thing.selector
        if selector is None:
            self.remove(namespace, thing.name)
        elif selector != self._namespaces.get(namespace, _NO_SERVICES).selector(thing.name):
            self.remove(namespace, thing.name)
            self._quota.take(namespace, selector_size(selector))
            index = self._namespaces.setdefault(share(namespace), _NamespaceIndex())
            index.add(ServiceSelector(thing.name, share_labels(selector)))

    def remove(self, namespace: str, name: str) -> None:
        """Remove a Service; do nothing if it is not in the store."""
        index = self._namespaces.get(namespace, _NO_SERVICES)
        selector = index.selector(name)
        if selector is None:
            return
        index.remove(name)
        self._quota.free(namespace, selector_size(selector))
        if not index:
            del self._namespaces[namespace]

    def select(self, namespace: str, labels: Mapping[str, str]) -> list[ServiceSelector]:
        """Return the Services that select a pod with these labels, sorted by name."""
        return self._namespaces.get(namespace, _NO_SERVICES).select(labels)
