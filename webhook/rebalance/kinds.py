"""
Pods that a plan need not tell apart: ``sort_pods``.

Pods of one kind have replacements that pass the same filters, that the same constraints count, and
whose evictions the same budget allows. Names, volumes and labels differ only as far as no filter
and no selector can see.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.filters.run import prepare_filters
from webhook.policy.placement.filters.storage import Storage
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.selectors import selected_keys
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.pods import WorkloadPod

NEVER = -1  # index of the budget of pods that are under several


class PodKind(msgspec.Struct, frozen=True):
    """
    Pods that are alike.

    Attributes:
        example: One of them.
        placed: The pod on its node, which may take other resources than its replacement.
        nodes: Whether its replacement passes the filters on each node beside pods that stay.
        budget: Index of its budget; None without one.
        successor: Index of the kind of its replacement, which is ready.
    """

    example: WorkloadPod
    placed: FilterPod
    nodes: tuple[bool, ...]
    budget: int | None
    is_ready: bool
    successor: int

    @property
    def requests(self) -> Resources:
        """What each takes of its node."""
        return self.placed.requests

    @property
    def replacement(self) -> FilterPod:
        """The pod that replaces one of them."""
        return self.example.replacement

    @property
    def spreads(self) -> SpreadConstraints:
        """Their constraints."""
        return self.example.spreads


class SortedPods(msgspec.Struct, frozen=True):
    """
    The pods of a plan by their kinds.

    Attributes:
        members: Kind and node name -> pods, sorted by name.
        is_simple: Whether besides constraints only resources depend on pods that move.
    """

    kinds: tuple[PodKind, ...]
    members: dict[tuple[int, str], list[WorkloadPod]]
    is_simple: bool


def sort_pods(
    pods: Sequence[WorkloadPod], cluster: SchedulingCluster, budgets: Sequence[PodDisruptionBudget]
) -> SortedPods:
    """
    Sort pods by kind; O(pods + families of pods x nodes).

    Args:
        pods: Those that may move, or whose constraints matter.
        cluster: The cluster with all other pods.
    """
    keys = find_label_keys(pods, cluster)
    is_simple = not any(is_entangled(one.replacement, cluster.storage) for one in pods)
    passed: dict[bytes, tuple[bool, ...]] = {}
    indexes: dict[object, int] = {}
    kinds: list[PodKind] = []
    members: dict[tuple[int, str], list[WorkloadPod]] = {}

    def add(one: WorkloadPod, placed: FilterPod, *, is_ready: bool) -> int:
        family = identify_family(one, keys)
        if family not in passed:
            passed[family] = _pass_nodes(one.replacement, cluster, is_simple=is_simple)
        nodes, budget = passed[family], find_budget(one, budgets)
        traits = identify_family(one, keys, keeps_volumes=not is_simple)
        identity = (traits, nodes, budget, is_ready, msgspec.json.encode(placed.requests))
        if identity not in indexes:
            index = indexes[identity] = len(kinds)
            kind = PodKind(one, placed, nodes, budget, is_ready, index)
            kinds.append(kind)
            final = one.replacement
            if not is_ready or placed.requests != final.requests:
                kinds[index] = replace(kind, successor=add(one, final, is_ready=True))
        return indexes[identity]

    for one in sorted(pods, key=lambda one: one.pod.name):
        kind = add(one, one.pod, is_ready=one.is_ready)
        members.setdefault((kind, one.pod.node_name), []).append(one)
    return SortedPods(tuple(kinds), members, is_simple)


def _pass_nodes(pod: FilterPod, cluster: SchedulingCluster, *, is_simple: bool) -> tuple[bool, ...]:
    """Filter the nodes without the pods that may move: if these matter, they are asked later."""
    nodes = cluster.topology.nodes
    if not is_simple:
        return (True,) * len(nodes)
    filters = prepare_filters(pod, (), cluster)
    return tuple(filters.reject(node) is None for node in nodes)


def is_entangled(pod: FilterPod, storage: Storage) -> bool:
    """Whether filters for a pod, besides that of resources, look at pods that may move."""
    if pod.ports or pod.affinity or pod.anti_affinity:
        return True
    if any(not volume.namespace for volume in pod.volumes):
        return True
    if pod.volumes and any(node.limits for node in storage.csi_nodes.values()):
        return True
    claims = (storage.claims.get((volume.namespace, volume.name)) for volume in pod.volumes)
    return any(claim and "ReadWriteOncePod" in claim.traits.access_modes for claim in claims)


def find_label_keys(pods: Iterable[WorkloadPod], cluster: SchedulingCluster) -> frozenset[str]:
    """Find the label keys by which selectors tell pods apart."""
    namespaces = dict[str, None]()
    found = set[str]()
    for one in pods:
        pod, spreads = one.replacement, one.spreads
        namespaces[pod.namespace] = None
        for spread in (*spreads.hard, *spreads.soft):
            found |= selected_keys(spread.selector)
        for term in (*pod.affinity, *pod.anti_affinity):
            found |= selected_keys(term.selector)
    for namespace in namespaces:
        for placed in cluster.placed.anti_affinity(namespace):
            found |= selected_keys(placed.term.selector)
    return frozenset(found)


def identify_family(one: WorkloadPod, keys: frozenset[str], *, keeps_volumes: bool = True) -> bytes:
    """Encode what distinguishes the replacement of a pod from those of others."""
    pod = one.replacement
    labels = {key: value for key, value in sorted(pod.labels.items()) if key in keys}
    volumes = pod.volumes if keeps_volumes else ()
    seen = replace(pod, name="", uid="", labels=labels, required_names=None, volumes=volumes)
    return msgspec.json.encode((one.workload, one.obstacle, seen, one.spreads))


def find_families(pods: Iterable[WorkloadPod], keys: frozenset[str]) -> Iterator[WorkloadPod]:
    """Yield one pod of each family."""
    seen = set[bytes]()
    for one in pods:
        family = identify_family(one, keys)
        if family not in seen:
            seen.add(family)
            yield one


def find_budget(one: WorkloadPod, budgets: Sequence[PodDisruptionBudget]) -> int | None:
    """Find the index of the budget of a pod; None without one, ``NEVER`` if there are several."""
    pod = one.pod
    found = [i for i, budget in enumerate(budgets) if budget.selects(pod.namespace, pod.labels)]
    if len(found) > 1:
        return NEVER
    return found[0] if found else None
