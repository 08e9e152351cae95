"""
Pods of a DaemonSet that have no place: each of them is meant for one node.

``find_pending`` is the entry point. The controller gives each pod a node affinity. A constraint
that honors it counts one node, and allows the pod there. One that ignores it counts the pods of all
domains: a domain takes maxSkew pods more than the one with the fewest nodes of the DaemonSet, in
whatever order its pods are placed. With maxSurge, the old pod of a node ends only after the new
one runs there. Beside a domain that counts without a node of the DaemonSet it may never run; beside
others, it depends on the order of the rollout, and is not reported.

Source: kubernetes pkg/controller/daemon/util/daemonset_util.go
``ReplaceDaemonSetPodNodeNameNodeAffinity``; kube-scheduler plugins/podtopologyspread/filtering.go.
"""

from collections.abc import Mapping
from typing import NamedTuple

from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.findings import count_of, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.model import AFFINITY_POLICY, HONOR
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint

WAITING_SURGE = (
    "by maxSurge, the new pod of a node waits there for the old one, which waits for the new one"
)


class PendingDaemonPods(NamedTuple):
    """
    The pods of a DaemonSet that one constraint keeps Pending.

    Attributes:
        spread: The constraint.
        needed: Domain that counts -> pods that the DaemonSet needs there; 0 where it has no node.
        most: Pods that a domain takes.
        surge: Pods that a rollout creates beside the old one of a node: 1 or 0.
        by_taints: Whether all have a place once domains with untolerated taints do not count.
        per_node: Pods that a node may have at a time: 2 with maxSurge.
    """

    spread: SpreadConstraint
    needed: Mapping[str, int]
    most: int
    surge: int
    by_taints: bool = False
    per_node: int = 1

    @property
    def waiting(self) -> int:
        """Number of pods without a place, new ones beside old ones included; 0 if all have one."""
        pods = (number + self.surge for number in self.needed.values() if number)
        return sum(max(0, number - self.most) for number in pods)

    def describe(self) -> str:
        """Describe where pods are needed, and how many stay Pending."""
        fullest = max(self.needed, key=lambda value: self.needed[value])
        stay = "stays" if self.waiting == 1 else "stay"
        end = WAITING_SURGE if self.surge else f"{self.describe_waiting()} {stay} Pending"
        return (
            f"each of its pods can go to one node only, and nodeAffinityPolicy Ignore counts those "
            f"of all domains of {quote_value(self.spread.topology_key)}: {fullest} has "
            f"{self.needed[fullest]} of its nodes and takes {count_of(self.most, 'pod')}, "
            f"{self._describe_minimum()}: {end}"
        )

    def _describe_minimum(self) -> str:
        if len(self.needed) < self.spread.min_domains:
            domains = count_of(len(self.needed), "domain")
            return f"since minDomains is {self.spread.min_domains} and {domains} count"
        emptiest = min(self.needed, key=lambda value: self.needed[value])
        return f"{emptiest} has {self.needed[emptiest]}"

    def suggest(self) -> str:
        """Suggest to honor affinity, and no minDomains if the old and the new pod need a place."""
        honored = member(AFFINITY_POLICY, HONOR)
        # Each node is one domain then.
        if self.spread.max_skew < self.per_node and self.spread.min_domains > 1:
            return f"{honored}\n{member('minDomains', None)}"
        return honored

    def describe_waiting(self) -> str:
        """Describe how many of the pods have no place, as ``1 of 4 pods``."""
        if self.surge:
            return "new pods beside old ones"
        return f"{self.waiting} of {count_of(sum(self.needed.values()), 'pod')}"


def find_pending(
    spread: SpreadConstraint,
    keys: tuple[str, ...],
    demands: Demands,
    cluster: ClusterState | None,
    *,
    surges: bool,
) -> PendingDaemonPods | None:
    """
    Find the pods that a constraint of a DaemonSet keeps Pending.

    Args:
        keys: The topology keys of all its hard constraints.
        demands: Those of its pods, with the tolerations that the controller adds.
        surges: Whether a rollout creates a pod beside the old one that the constraint counts, too.

    Returns:
        None if all have a place, or if no node is known, as at admission.
    """
    if cluster is None or spread.honors_affinity:
        return None

    def count(surge: int, *, taints: bool) -> PendingDaemonPods:
        needed = _count_needed(spread, keys, demands, cluster, taints=taints)
        enough = len(needed) >= spread.min_domains
        most = (min(needed.values(), default=0) if enough else 0) + spread.max_skew
        return PendingDaemonPods(spread, needed, most, surge=surge)

    for surge in range(1 + surges):
        found = count(surge, taints=spread.honors_taints)
        # Above a minimum of 0, a new pod in the emptiest domain may let those of others pass.
        if found.waiting and not (surge and found.most > spread.max_skew):
            by_taints = not count(int(surges), taints=True).waiting
            return found._replace(by_taints=by_taints, per_node=1 + surges)
    return None


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
