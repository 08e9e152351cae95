"""
The constraints that a plan makes hold: ``find_goals``.

A constraint holds as the audit's rule TSC114 sees it: the domain with most counted pods has at most
maxSkew more than the global minimum, over the domains with eligible nodes.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from webhook.policy.model import DO_NOT_SCHEDULE
from webhook.policy.placement.census import Census
from webhook.policy.placement.place import tally_constraints
from webhook.policy.placement.spreads import SpreadConstraint, SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod, PodTally
from webhook.policy.placement.topology import Topology
from webhook.rebalance.pods import WorkloadPod


class GoalObstacle(StrEnum):
    """Why a constraint does not hold at the end of a plan."""

    PENDING_PODS = "pods of its workloads have no node"
    TOO_FEW_DOMAINS = "there are fewer domains than minDomains"
    FIXED_PODS = "pods that cannot be evicted are too many in a domain"
    NO_NODES = "the nodes of a domain take too few pods"
    NO_SEQUENCE = "after some eviction a pod stays Pending, or may return to its node"
    SCORES = "kube-scheduler may prefer nodes in other domains"
    CONFLICT = "another constraint prevents it"
    UNKNOWN = "the search was given up"


class SpreadGoal(msgspec.Struct, frozen=True):
    """
    A constraint of some workloads.

    Attributes:
        workloads: KIND/NAME of each workload that has it, all in the namespace of ``pod``.
        pod: One of their pods, to count by.
    """

    workloads: tuple[str, ...]
    pod: IncomingPod
    spreads: SpreadConstraints
    spread: SpreadConstraint

    @property
    def is_hard(self) -> bool:
        """Whether kube-scheduler enforces the constraint."""
        return self.spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE

    def counts(self, pod: IncomingPod) -> bool:
        """Whether the constraint counts a pod."""
        return pod.namespace == self.pod.namespace and self.spread.counts(pod.labels)

    def tally(self, topology: Topology, census: Census) -> PodTally:
        """Count the pods of each domain."""
        tallies = tally_constraints(self.pod, self.spreads, topology, census).by_index
        return next(tally for tally in tallies if tally.spread.index == self.spread.index)


def find_excess(tally: PodTally) -> int:
    """Find how far the skew exceeds maxSkew; 0 if the constraint holds."""
    most = max(tally.pods.values(), default=0)
    return max(0, most - tally.minimum - tally.spread.max_skew)


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
    found: dict[object, SpreadGoal] = {}
    for one in pods:
        if not one.is_spread:
            continue
        for tally in tally_constraints(one.replacement, one.spreads, topology, census).by_index:
            if not tally.matches_pod or not _is_wanted(tally.spread, one.spreads):
                continue
            goal = SpreadGoal((one.workload,), one.replacement, one.spreads, tally.spread)
            identity = _identify(goal, tally)
            known = found.get(identity, goal)
            names = dict.fromkeys((*known.workloads, one.workload))
            found[identity] = msgspec.structs.replace(known, workloads=tuple(names))
    return tuple(found.values())


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
