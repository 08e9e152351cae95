"""
The filter InterPodAffinity: required affinity of the pod, and anti-affinity of both sides.

``prepare_pod_affinity`` counts once, and returns the check of one node.

Source: kube-scheduler plugins/interpodaffinity/filtering.go.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from webhook.policy.api.versions import Version
from webhook.policy.model import LabelSelector, Node
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import AffinityTerm, FilterPod
from webhook.policy.placement.filters.rejections import Check, FilterRejection
from webhook.policy.selectors import matches

POD_AFFINITY = FilterRejection(
    "InterPodAffinity", ("node(s) didn't match pod affinity rules",), is_resolvable=False
)
ANTI_AFFINITY = FilterRejection(
    "InterPodAffinity", ("node(s) didn't match pod anti-affinity rules",)
)
EXISTING_PODS = FilterRejection(
    "InterPodAffinity", ("node(s) didn't satisfy existing pods anti-affinity rules",)
)

DROPS_SELECTOR = Version(1, 37)
"""
The first version in which the namespaceSelector of a pod to place selects Namespaces only.

Before, it is also matched with no labels for every placed pod, whatever its namespace.
"""

Values = dict[str, set[str]]
"""Topology key -> its values on nodes with such pods."""


class AffinityCounts(msgspec.Struct, frozen=True):
    """
    Where there are pods that a pod looks for or avoids.

    Attributes:
        affinity: Those that match all terms of the pod's affinity.
        anti_affinity: Those that match a term of its anti-affinity.
        existing: Those with a term of anti-affinity that matches the pod.
        is_first: Whether no pod matches the affinity but the pod itself.
    """

    terms: tuple[AffinityTerm, ...]
    affinity: Values
    anti_affinity: Values
    existing: Values
    is_first: bool

    def reject(self, node: Node) -> FilterRejection | None:
        """
        Return why the node is rejected; None if it is not.

        Source: filtering.go ``Filter``.
        """
        labels = node.labels
        if not self._satisfies_affinity(labels):
            return POD_AFFINITY
        if _is_in(labels, self.anti_affinity):
            return ANTI_AFFINITY
        return EXISTING_PODS if _is_in(labels, self.existing) else None

    def _satisfies_affinity(self, labels: Mapping[str, str]) -> bool:
        if any(term.topology_key not in labels for term in self.terms):
            return False
        keys = (term.topology_key for term in self.terms)
        # A pod with affinity to itself would wait forever for the first of its kind.
        return self.is_first or all(labels[key] in self.affinity.get(key, ()) for key in keys)


def _is_in(labels: Mapping[str, str], values: Values) -> bool:
    return any(labels.get(key) in found for key, found in values.items())


def prepare_pod_affinity(pod: FilterPod, cluster: SchedulingCluster) -> Check | None:
    """
    Count the pods that affinity is about; None if the filter has nothing to check.

    Takes O(g + n) for g groups of pods with the rarest label of a term, which are on n nodes, and
    for the terms of anti-affinity in the pod's namespace.
    """
    counts = count_affinity(pod, cluster)
    return counts.reject if counts.terms or counts.anti_affinity or counts.existing else None


def count_affinity(pod: FilterPod, cluster: SchedulingCluster) -> AffinityCounts:
    """
    Find the topology values that affinity requires and forbids.

    Source: filtering.go ``PreFilter``.
    """
    affinity = tuple(_find_namespaces(pod.affinity, cluster))
    anti_affinity, own = Values(), cluster.namespaces.get(pod.namespace, {})
    keys = tuple(term.topology_key for term in affinity)
    matched = _collect_values(keys, _find_pods(affinity, cluster), cluster) if affinity else {}
    for term in _find_namespaces(pod.anti_affinity, cluster):
        nodes = _find_pods((term,), cluster)
        _merge(anti_affinity, _collect_values((term.topology_key,), nodes, cluster))
    existing = Values()
    for placed in cluster.placed.anti_affinity(pod.namespace):
        term = placed.term
        if term.selects(pod.namespace, pod.labels, own):
            _merge(existing, _collect_values((term.topology_key,), (placed.nodes,), cluster))
    is_own = all(term.selects(pod.namespace, pod.labels, {}) for term in affinity)
    return AffinityCounts(affinity, matched, anti_affinity, existing, not matched and is_own)


def _find_namespaces(
    terms: Iterable[AffinityTerm], cluster: SchedulingCluster
) -> Iterator[AffinityTerm]:
    """
    Replace the namespace selector of each term by the names of the Namespaces.

    Source: interpodaffinity/plugin.go ``mergeAffinityTermNamespacesIfNotEmpty``.
    """
    for term in terms:
        selector = term.namespace_selector
        if selector is None or selector == LabelSelector():
            yield term
            continue
        found = (name for name, labels in cluster.namespaces.items() if matches(selector, labels))
        names = tuple(sorted({*term.namespaces, *found}))
        kept = selector if cluster.version < DROPS_SELECTOR else None
        yield replace(term, namespaces=names, namespace_selector=kept)


def _find_pods(
    terms: tuple[AffinityTerm, ...], cluster: SchedulingCluster
) -> Iterator[Mapping[str, int]]:
    """Yield, for pods with the same labels that all terms select, their nodes."""
    first, *others = terms
    placed = cluster.placed
    for census in (placed.census, placed.terminating):
        everywhere = matches(first.namespace_selector, {})
        for namespace in census.namespaces if everywhere else first.namespaces:
            for labels, nodes in census.select(namespace, first.selector):
                if all(term.selects(namespace, labels, {}) for term in others):
                    yield nodes


def _collect_values(
    keys: Iterable[str], groups: Iterable[Mapping[str, int]], cluster: SchedulingCluster
) -> Values:
    """Collect the values that the topology keys have on nodes; unknown nodes have none."""
    nodes = [cluster.nodes[name] for names in groups for name in names if name in cluster.nodes]
    values = {key: {node.labels[key] for node in nodes if key in node.labels} for key in keys}
    return {key: found for key, found in values.items() if found}


def _merge(values: Values, added: Values) -> None:
    for key, found in added.items():
        values.setdefault(key, set()).update(found)
