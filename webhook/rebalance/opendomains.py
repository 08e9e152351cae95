"""
The domains that count for constraints with ScheduleAnyway: ``tally_reachable`` and ``find_open``.

kube-scheduler scores such constraints only by the domains of nodes that pass all filters. What a
pod demands of nodes, and cordons, decide for the whole plan; room, and what else depends on other
pods, may change with each eviction.
"""

from collections.abc import Container, Iterable
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod, PodVolume
from webhook.policy.placement.filters.run import prepare_filters
from webhook.policy.placement.filters.storage import Storage
from webhook.policy.placement.place import tally_constraints
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod, PodTally
from webhook.policy.placement.topology import Topology


def tally_reachable(
    pod: IncomingPod, spreads: SpreadConstraints, topology: Topology, census: Census
) -> list[PodTally]:
    """
    Count the pods of a pod's constraints in list order, soft ones by reachable domains only.

    A node that the pod cannot go to may still be eligible for its constraints.

    Source: kube-scheduler plugins/podtopologyspread/scoring.go ``PreScore``.
    """
    tallies = tally_constraints(pod, spreads, topology, census)
    keys = tallies.require_keys(topology, pod.demands) if tallies.soft else ()
    soft: list[PodTally] = []
    for tally in tallies.soft:
        reached = topology.reachable(tally.spread.topology_key, keys, pod.demands).sizes
        is_all = reached.keys() >= tally.domains.sizes.keys()
        soft.append(tally if is_all else tally.within(tally.domains.keep(reached)))
    return replace(tallies, soft=tuple(soft)).by_index


def find_open(
    pods: Iterable[FilterPod],
    tally: PodTally,
    values: Container[str],
    cluster: SchedulingCluster,
) -> AbstractSet[str]:
    """
    Find the domains with a node that passes all filters but PodTopologySpread for one of some pods.

    Args:
        tally: Of the constraint, whose domains are looked at.
        values: The domains that are looked at.
    """
    found = set[str]()
    nodes = cluster.nodes
    for pod in pods:
        filters = prepare_filters(_leave_volumes(pod, cluster.storage), (), cluster)
        for name, value in tally.domains.values.items():
            if value in values and value not in found and filters.reject(nodes[name]) is None:
                found.add(value)
    return found


def _leave_volumes(pod: FilterPod, storage: Storage) -> FilterPod:
    """Leave out the volumes that only one pod may use: the pod itself has them until it leaves."""
    return replace(pod, volumes=tuple(one for one in pod.volumes if _is_shared(one, storage)))


def _is_shared(volume: PodVolume, storage: Storage) -> bool:
    claim = storage.claims.get((volume.namespace, volume.name))
    is_claimed = bool(volume.namespace)
    return is_claimed and not (claim and "ReadWriteOncePod" in claim.traits.access_modes)
