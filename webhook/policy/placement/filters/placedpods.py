"""
The pods of a cluster that have a node, and what they take there: ``PlacedPods``.

Pods that are being deleted still take resources, ports and volumes, and their affinity holds; only
topology spread constraints do not count them. Pods that have ended take nothing.

Source: pkg/scheduler/framework/types.go ``NodeInfo``, backend/cache/cache.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

import msgspec

from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.filterpods import (
    CLAIM,
    AffinityTerm,
    FilterPod,
    HostPort,
    PodVolume,
)
from webhook.policy.placement.filters.resources import NO_RESOURCES, Resources
from webhook.policy.placement.sharedvalues import SharedValues

T = TypeVar("T")


class NodeUsage(msgspec.Struct, frozen=True, gc=False):
    """
    What the pods of a node take.

    Attributes:
        ports: Host port -> number of pods, at least 1; never changed.
        volumes: Volume -> number of pods, at least 1; never changed.
    """

    pods: int = 0
    requests: Resources = NO_RESOURCES
    ports: Mapping[HostPort, int] = msgspec.field(default_factory=dict[HostPort, int])
    volumes: Mapping[PodVolume, int] = msgspec.field(default_factory=dict[PodVolume, int])

    def plus(self, pod: FilterPod, times: int) -> "NodeUsage":
        """Add a pod, or with -1 remove it."""
        return NodeUsage(
            self.pods + times,
            self.requests.plus(pod.requests, times),
            _count(self.ports, pod.ports, times) if pod.ports else self.ports,
            _count(self.volumes, pod.volumes, times) if pod.volumes else self.volumes,
        )


EMPTY_NODE = NodeUsage()


def _count(counts: Mapping[T, int], items: Iterable[T], times: int) -> dict[T, int]:
    changed = dict(counts)
    for item in items:
        _change(changed, item, times)
    return changed


def _change(counts: dict[T, int], item: T, times: int) -> None:
    """Count an item; it is removed when its number reaches 0."""
    number = counts.pop(item, 0) + times
    if number > 0:
        counts[item] = number


class PlacedTerm(msgspec.Struct, frozen=True):
    """A term of anti-affinity; ``nodes``: node name -> pods there that have it, at least 1."""

    term: AffinityTerm
    nodes: dict[str, int]


_Terms: TypeAlias = dict[bytes, PlacedTerm]
"""Identity of a term -> the term with its nodes."""


def _copy_terms(terms: _Terms) -> _Terms:
    return {key: PlacedTerm(placed.term, dict(placed.nodes)) for key, placed in terms.items()}


class PlacedPods:
    """
    The pods that have a node.

    ``add`` and ``remove`` are the only changes. To try a placement, change a ``copy``.

    Attributes:
        census: The pods that topology spread constraints count.
        terminating: Those that are being deleted.
    """

    def __init__(self, pods: Iterable[FilterPod] = ()) -> None:
        self.census, self.terminating = Census(), Census()
        self._usage: dict[str, NodeUsage] = {}
        self._claims = SharedValues[tuple[str, str], dict[str, int]](dict, dict[str, int].copy)
        self._terms = SharedValues[str | None, _Terms](dict, _copy_terms)  # None: by their labels
        for pod in pods:
            self.add(pod, pod.node_name)

    def add(self, pod: FilterPod, node: str) -> None:
        """Add a pod on a node; O(labels + volumes + pods of the node with host ports)."""
        census = self.terminating if pod.is_terminating else self.census
        census.add(pod.namespace, pod.labels, node)
        self._change(pod, node, 1)

    def remove(self, pod: FilterPod, node: str) -> None:
        """Remove a pod that was added on a node."""
        census = self.terminating if pod.is_terminating else self.census
        census.remove(pod.namespace, pod.labels, node)
        self._change(pod, node, -1)

    def _change(self, pod: FilterPod, node: str, times: int) -> None:
        self._usage[node] = self.usage(node).plus(pod, times)
        for volume in pod.volumes:
            if volume.kind == CLAIM:
                _change(self._claims.change((volume.namespace, volume.name)), node, times)
        for term in pod.anti_affinity:
            for namespace in term.namespaces if term.namespace_selector is None else (None,):
                terms = self._terms.change(namespace)
                if term.identity not in terms:
                    terms[term.identity] = PlacedTerm(term, {})
                _change(terms[term.identity].nodes, node, times)

    def usage(self, node: str) -> NodeUsage:
        """Return what the pods of a node take."""
        return self._usage.get(node, EMPTY_NODE)

    def nodes_with_claim(self, namespace: str, claim: str) -> Mapping[str, int]:
        """Return the nodes of the pods that use a claim: node name -> pods, at least 1."""
        return self._claims.known.get((namespace, claim), {})

    def anti_affinity(self, namespace: str) -> Iterator[PlacedTerm]:
        """Yield the different terms that may select pods of a namespace."""
        yield from self._terms.known.get(namespace, {}).values()
        yield from self._terms.known.get(None, {}).values()

    def copy(self) -> "PlacedPods":
        """
        Copy the pods, to change either.

        Takes O(nodes + namespaces + claims), and later O(pods) of the namespaces that are changed.
        """
        twin = PlacedPods()
        twin.census, twin.terminating = self.census.copy(), self.terminating.copy()
        twin._usage = dict(self._usage)
        twin._claims, twin._terms = self._claims.copy(), self._terms.copy()
        return twin
