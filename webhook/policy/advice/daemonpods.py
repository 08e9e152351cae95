"""
Pods of a DaemonSet that have no place: each of them is meant for one node.

``find_pending`` is the entry point. The controller gives each pod a node affinity. A constraint
that honors it counts one node, and allows the pod there. One that ignores it counts the pods of all
domains: a domain takes maxSkew pods more than the one with the fewest nodes of the DaemonSet, in
whatever order its pods are placed.

Source: kubernetes pkg/controller/daemon/util/daemonset_util.go
``ReplaceDaemonSetPodNodeNameNodeAffinity``; kube-scheduler plugins/podtopologyspread/filtering.go.
"""

from collections.abc import Mapping
from typing import NamedTuple

from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.findings import count_of, quote_value
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint


class PendingDaemonPods(NamedTuple):
    """
    The pods of a DaemonSet that one constraint keeps Pending.

    Attributes:
        needed: Domain that counts -> pods that the DaemonSet needs there; 0 where it has no node.
        most: Pods that a domain takes.
        by_taints: Whether all have a place once domains with untolerated taints do not count.
    """

    needed: Mapping[str, int]
    most: int
    by_taints: bool

    @property
    def waiting(self) -> int:
        """Number of pods without a place; at least 1."""
        return sum(max(0, number - self.most) for number in self.needed.values())

    def describe(self, key: str) -> str:
        """Describe where pods are needed, and how many stay Pending."""
        fullest = max(self.needed, key=lambda value: self.needed[value])
        emptiest = min(self.needed, key=lambda value: self.needed[value])
        stay = "stays" if self.waiting == 1 else "stay"
        return (
            f"each of its pods can go to one node only, and nodeAffinityPolicy Ignore counts those "
            f"of all domains of {quote_value(key)}: {fullest} has {self.needed[fullest]} of its "
            f"nodes and takes {count_of(self.most, 'pod')}, {emptiest} has "
            f"{self.needed[emptiest]}: {self.describe_waiting()} {stay} Pending"
        )

    def describe_waiting(self) -> str:
        """Describe how many of the pods have no place, as ``1 of 4 pods``."""
        return f"{self.waiting} of {count_of(sum(self.needed.values()), 'pod')}"


def find_pending(
    spread: SpreadConstraint, keys: tuple[str, ...], demands: Demands, cluster: ClusterState | None
) -> PendingDaemonPods | None:
    """
    Find the pods that a constraint of a DaemonSet keeps Pending.

    Args:
        keys: The topology keys of all its hard constraints.
        demands: Those of its pods, with the tolerations that the controller adds.

    Returns:
        None if all have a place, or if no node is known, as at admission.
    """
    if cluster is None or spread.honors_affinity:
        return None

    def count(*, taints: bool) -> PendingDaemonPods:
        needed = _count_needed(spread, keys, demands, cluster, taints=taints)
        enough = len(needed) >= spread.min_domains
        minimum = min(needed.values(), default=0) if enough else 0
        return PendingDaemonPods(needed, minimum + spread.max_skew, by_taints=False)

    found = count(taints=spread.honors_taints)
    if not found.waiting:
        return None
    return found._replace(by_taints=not count(taints=True).waiting)


def _count_needed(
    spread: SpreadConstraint,
    keys: tuple[str, ...],
    demands: Demands,
    cluster: ClusterState,
    *,
    taints: bool,
) -> dict[str, int]:
    """Count the nodes that need a pod in each domain that counts."""
    topology, honored = (
        cluster.schedulable(demands),
        demands.honoring(affinity=False, taints=taints),
    )
    counted = topology.domains(spread.topology_key, keys, honored.lasting)
    reached = topology.domains(spread.topology_key, keys, demands.lasting)
    return {value: reached.sizes.get(value, 0) for value in counted.sizes}
