"""
What distinguishes nodes for the pods of a rolling update: ``sign_nodes``.

The filters have rejected nodes for the cluster without the pods of the workload. Such a rejection
stays, except for affinity, whatever pods of the workload are placed. Otherwise, pods of the
workload decide; then nodes differ in how many pods they have room for.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import gcd

from webhook.explain.rollingupdate.state import ReplicaKind
from webhook.policy.model import Node
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.podaffinity import AffinityCounts, count_affinity
from webhook.policy.placement.filters.run import LAST, FilterResult
from webhook.policy.placement.nodes import Demands, find_mismatch
from webhook.policy.placement.spreads import SpreadConstraint


def sign_nodes(
    cluster: SchedulingCluster,
    kinds: Sequence[ReplicaKind],
    spreads: Sequence[tuple[str, SpreadConstraint]],
    results: Sequence[FilterResult],
    most: int,
) -> dict[str, Hashable]:
    """
    Return node name -> what distinguishes the node for all kinds besides its topology values.

    Nodes with equal signatures are interchangeable if their values are.

    Args:
        cluster: Without the pods of the workload.
        spreads: The constraints of its pods, with their namespace.
        results: Of the filters other than PodTopologySpread, for the pods that may be placed.
        most: Number of pods that the workload never exceeds.
    """
    pods = [kind.new.pod for kind in kinds if kind.new is not None]
    demands = list(dict.fromkeys(_list_counting(pods, spreads)))
    counts = [cluster.placed.census.count(namespace, one.selector) for namespace, one in spreads]
    affinities = [count_affinity(pod, cluster) for pod in pods if pod.affinity or pod.anti_affinity]
    units = _find_units(kinds)
    return {
        node.name: (
            tuple(find_mismatch(node, one) for one in demands),
            tuple(count.get(node.name, 0) for count in counts),
            tuple(_find_rejection(node, result) for result in results),
            tuple(mark for one in affinities for mark in _mark_values(node, one)),
            tuple(_measure_room(node, cluster, units, most)),
            _find_volumes(node, cluster, pods),
            node.name if node.name in cluster.nominated else "",
        )
        for node in cluster.topology.nodes
    }


def _list_counting(
    pods: Sequence[FilterPod], spreads: Sequence[tuple[str, SpreadConstraint]]
) -> Iterator[Demands]:
    """Yield what decides which nodes count for constraints."""
    for pod in pods:
        for _, spread in spreads:
            yield spread.counting(pod.demands)


def _find_rejection(node: Node, result: FilterResult) -> str | None:
    """Find the filter that rejects a node: the last one, whose result may change, or another."""
    rejection = result.rejections.get(node.name)
    if rejection is None:
        return None
    return LAST if rejection.plugin == LAST else ""


def _mark_values(node: Node, counts: AffinityCounts) -> Iterator[bool]:
    """Yield whether a node has the topology values that affinity is about."""
    labels = node.labels
    for values in (counts.affinity, counts.anti_affinity, counts.existing):
        for key, found in sorted(values.items()):
            yield labels.get(key) in found
    for term in counts.terms:
        yield term.topology_key in labels


def _find_units(kinds: Sequence[ReplicaKind]) -> dict[str, tuple[int, int]]:
    """Find, for each requested resource, what divides all requests, and the largest request."""
    amounts = [pod.requests.amounts for kind in kinds for pod in kind.pods]
    found: dict[str, tuple[int, int]] = {}
    for name in sorted({name for one in amounts for name in one}):
        requests = [one.get(name, 0) for one in amounts]
        if any(requests):
            found[name] = gcd(*requests), max(requests)
    return found


def _measure_room(
    node: Node, cluster: SchedulingCluster, units: Mapping[str, tuple[int, int]], most: int
) -> Iterator[int]:
    """
    Measure what is free on a node, in units that divide all requests.

    More than what all pods request is no difference. A node that allows any pod has no measure.
    """
    room, usage = cluster.allocatable.get(node.name), cluster.usage(node.name)
    if room is None:
        return
    yield min(max(0, room.pods - usage.pods), most)
    free = room.plus(usage.requests, -1).amounts
    for name, (unit, largest) in units.items():
        yield min(max(0, free.get(name, 0)) // unit, most * largest // unit)


def _find_volumes(node: Node, cluster: SchedulingCluster, pods: Sequence[FilterPod]) -> str:
    """Return the name of a node that may limit the number of volumes of pods; empty for others."""
    is_limited = node.name in cluster.storage.csi_nodes
    return node.name if is_limited and any(pod.volumes for pod in pods) else ""
