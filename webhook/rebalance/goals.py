"""
The constraints that a plan makes hold: ``find_goals``, and ``find_fixed_goals`` of other pods.

A constraint holds as the audit's rule TSC114 sees it: the domain with most counted pods has at most
maxSkew more than the global minimum, over the domains with eligible nodes; for a soft constraint,
over those of them that pods can go to.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from webhook.policy.advice.leastskew import LeastSkew, find_least_skew
from webhook.policy.model import DO_NOT_SCHEDULE
from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.place import tally_constraints
from webhook.policy.placement.spreads import SpreadConstraint, SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod, PodTally
from webhook.policy.placement.topology import Topology
from webhook.rebalance.opendomains import find_open, tally_reachable
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod


class GoalObstacle(StrEnum):
    """Why a constraint does not hold at the end of a plan."""

    PENDING_PODS = "pods of its workloads have no node"
    MISSING_PODS = "its workloads have fewer pods than replicas"
    TOO_FEW_DOMAINS = "there are fewer domains than minDomains"
    FIXED_PODS = "pods that cannot be evicted are too many in a domain"
    BUDGETS = "PodDisruptionBudgets allow no eviction"
    NO_NODES = "the nodes of a domain take too few pods"
    NO_SEQUENCE = "after some eviction a pod stays Pending, or may return to its node"
    HARD_CONSTRAINT = "a hard constraint of its pods requires a larger skew"
    SCORES = "kube-scheduler may prefer nodes in other domains"
    CONFLICT = "another constraint prevents it"
    UNKNOWN = "the search was given up"
    NO_EVICTIONS = "no pod that has it is evicted"


class SpreadGoal(msgspec.Struct, frozen=True):
    """
    A constraint of some workloads.

    Attributes:
        workloads: KIND/NAME of each workload that has it, all in the namespace of ``pod``; none if
            only pods without a controller have it.
        pod: One of their pods, to count by.
        pods: One of each family that has it.
    """

    workloads: tuple[str, ...]
    pod: IncomingPod
    spreads: SpreadConstraints
    spread: SpreadConstraint
    pods: tuple[FilterPod, ...] = ()

    @property
    def is_hard(self) -> bool:
        """Whether kube-scheduler enforces the constraint."""
        return self.spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE

    def counts(self, pod: IncomingPod) -> bool:
        """Whether the constraint counts a pod."""
        return pod.namespace == self.pod.namespace and self.spread.counts(pod.labels)

    def tally(self, topology: Topology, census: Census) -> PodTally:
        """
        Count the pods of each domain; for a soft constraint, of those that the pods can go to.

        Room, and what else depends on other pods, is left out of account.
        """
        tallies = tally_reachable(self.pod, self.spreads, topology, census)
        return next(tally for tally in tallies if tally.spread.index == self.spread.index)

    def tally_open(self, cluster: SchedulingCluster) -> PodTally:
        """
        Count the pods of each domain that counts with all pods of a cluster.

        kube-scheduler scores a soft constraint by the domains of nodes that pass all filters only.
        A domain with counted pods counts as well, since an eviction makes room there.

        Source: kube-scheduler plugins/podtopologyspread/scoring.go ``PreScore``.
        """
        tally = self.tally(cluster.topology, cluster.placed.census)
        empty = () if self.is_hard else tally.domains.sizes.keys() - tally.pods.keys()
        if not empty:
            return tally
        closed = empty - find_open(self.pods, tally, empty, cluster)
        kept = tally.domains.sizes.keys() - closed
        return tally.within(tally.domains.keep(kept)) if closed else tally

    def find_least(self, cluster: SchedulingCluster) -> LeastSkew | None:
        """Find the least skew of a soft constraint that a hard one allows, if it is too large."""
        if self.is_hard:
            return None
        tallies = tally_constraints(self.pod, self.spreads, cluster.topology, cluster.placed.census)
        soft = self.tally_open(cluster)
        return find_least_skew(soft, tallies.hard, cluster.topology, self.pod.demands)


class GoalFailure(NamedTuple):
    """Why a goal is not reached, the domains in which the obstacle is, and the least skew."""

    obstacle: GoalObstacle
    domains: tuple[str, ...] = ()
    least: LeastSkew | None = None


def find_failure(
    goal: SpreadGoal, obstacle: GoalObstacle, domains: tuple[str, ...], cluster: SchedulingCluster
) -> GoalFailure:
    """
    Find why a goal is not reached; by a hard constraint, if the search found no certain cause.

    Args:
        obstacle: What the search found, in some domains.
    """
    is_uncertain = obstacle in {GoalObstacle.SCORES, GoalObstacle.UNKNOWN}
    least = goal.find_least(cluster) if is_uncertain else None
    if least is None:
        return GoalFailure(obstacle, domains)
    return GoalFailure(GoalObstacle.HARD_CONSTRAINT, least=least)


def find_excess(tally: PodTally) -> int:
    """Find how far the skew exceeds maxSkew; 0 if the constraint holds."""
    return max(0, tally.largest_skew - tally.spread.max_skew)


def find_goals(
    pods: Iterable[WorkloadPod], topology: Topology, census: Census
) -> tuple[SpreadGoal, ...]:
    """
    Find the constraints of workloads, each once, in the order of the pods.

    Constraints that do not count their own pods are left out, since these pods cannot change the
    skew, and so are the System defaults of kube-scheduler, which only rank nodes.

    Args:
        pods: One of each family suffices.
    """
    spread = (one for one in pods if one.is_spread)
    return tuple(_collect(spread, topology, census).values())


def shares_goal(one: WorkloadPod, goal: SpreadGoal, topology: Topology, census: Census) -> bool:
    """Whether a pod has the constraint of a goal."""
    identity = _identify(goal, goal.tally(topology, census))
    return identity in _collect((one,), topology, census)


def find_fixed_goals(
    pods: Sequence[WorkloadPod], topology: Topology, census: Census
) -> tuple[SpreadGoal, ...]:
    """
    Find the hard constraints that only pods have which kube-scheduler places and no plan evicts.

    Args:
        pods: One of each family suffices.
    """
    planned = _collect((one for one in pods if one.is_spread), topology, census)
    obstacles = {*_FIXED, EvictionObstacle.REVISION}
    fixed = _collect((one for one in pods if one.obstacle in obstacles), topology, census)
    return tuple(goal for key, goal in fixed.items() if goal.is_hard and key not in planned)


_FIXED = (
    EvictionObstacle.NO_CONTROLLER,
    EvictionObstacle.DAEMON_SET,
    EvictionObstacle.JOB,
    EvictionObstacle.GROUP,
)


def find_foreign(
    pods: Iterable[WorkloadPod], topology: Topology, census: Census
) -> tuple[str, ...]:
    """Find workloads and pods with an uneven hard constraint that counts only other pods."""
    return tuple(
        dict.fromkeys(
            f"{one.workload or one.pod.name} in {one.pod.namespace}"
            for one in pods
            if one.is_spread or one.obstacle in _FIXED
            for tally in tally_constraints(one.replacement, one.spreads, topology, census).hard
            if not tally.matches_pod and find_excess(tally)
        )
    )


def _collect(
    pods: Iterable[WorkloadPod], topology: Topology, census: Census
) -> dict[object, SpreadGoal]:
    found: dict[object, SpreadGoal] = {}
    for one in pods:
        names = (one.workload,) if one.workload else ()
        for tally in tally_reachable(one.replacement, one.spreads, topology, census):
            if not tally.matches_pod or not _is_wanted(tally.spread, one.spreads):
                continue
            goal = SpreadGoal(names, one.replacement, one.spreads, tally.spread)
            identity = _identify(goal, tally)
            known = found.get(identity, goal)
            merged = tuple(dict.fromkeys((*known.workloads, *names)))
            alike = (*known.pods, one.replacement)
            found[identity] = msgspec.structs.replace(known, workloads=merged, pods=alike)
    return found


def _is_wanted(spread: SpreadConstraint, spreads: SpreadConstraints) -> bool:
    is_hard = spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE
    return is_hard or spreads.requires_keys


def _identify(goal: SpreadGoal, tally: PodTally) -> object:
    spread = goal.spread
    return (
        goal.pod.namespace,
        goal.is_hard,
        msgspec.json.encode(spread.selector),
        spread.topology_key,
        spread.max_skew,
        spread.min_domains,
        tuple(tally.domains.values.items()),
    )
