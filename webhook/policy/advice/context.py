"""
What a subject is judged on: the policy in force, and what is known of the cluster.

An admission knows ``Facts``, questions that cost the same in a cluster of any size. An audit has a
``ClusterState`` besides: every node, every pod that counts, and the workloads that these belong to.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from webhook.policy.advice.feasibility import OuterDomain
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.model import Constraint, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.place import ConstraintTallies, tally_constraints
from webhook.policy.placement.spreads import (
    SpreadConstraint,
    SpreadConstraints,
    resolve_constraints,
)
from webhook.policy.placement.taints import UNSCHEDULABLE, find_untolerated
from webhook.policy.placement.tallies import IncomingPod, PodTally
from webhook.policy.placement.topology import CACHED_DOMAINS, Topology


class NestedDomains(NamedTuple):
    """
    Domains that lie within larger ones, as nodes within zones.

    Attributes:
        outer: Number of the larger domains; at least 1.
        inner: Number of the smaller ones; at least 1.
        shapes: What the larger ones are made of -> how many there are of each shape.
    """

    outer: int
    inner: int
    shapes: Mapping[OuterDomain, int]


_Asked: TypeAlias = tuple[Census, IncomingPod, tuple[Constraint, ...], Gates]


class ClusterState:
    """
    A whole cluster at one moment, shared by the judgements of an audit.

    Attributes:
        topology: Every node.
        census: Every pod that counts, by the node it is on.
        members: The same pods, or those that manifests would make, by the workload they belong to
            instead: named as a ``Subject`` names itself, as ``Deployment/web``.
    """

    def __init__(self, nodes: Iterable[Node], census: Census, members: Census) -> None:
        """Take the nodes, whose names are unique, and the pods."""
        self.topology = Topology(nodes)
        self.census = census
        self.members = members
        self._schedulable = Topology(node for node in self.topology.nodes if not node.unschedulable)
        self._nested = lru_cache(maxsize=CACHED_DOMAINS)(self._nest)
        self._measured: tuple[_Asked, ConstraintTallies] | None = None

    def with_pods(self, census: Census, members: Census) -> "ClusterState":
        """Look at other pods on the same nodes; what is remembered of these is shared."""
        twin = copy(self)
        twin.census, twin.members = census, members
        return twin

    def schedulable(self, demands: Demands) -> Topology:
        """The nodes that are not cordoned; all of them for a pod that tolerates that."""
        return self.topology if tolerates_cordons(demands) else self._schedulable

    def tally(
        self, pod: IncomingPod, constraints: tuple[Constraint, ...], gates: Gates
    ) -> ConstraintTallies:
        """
        Count what the constraints of a pod count.

        The last answer is remembered: most rules ask the same about a subject.

        Args:
            pod: The pod that is asked about.
            constraints: Its own; those that no API server would take are left out.
            gates: The gates in force.
        """
        asked = (self.census, pod, constraints, gates)
        if self._measured is None or self._measured[0] != asked:
            spreads = resolve_valid(constraints, pod.labels, gates)
            self._measured = asked, tally_constraints(pod, spreads, self.topology, self.census)
        return self._measured[1]

    def tallies(
        self, pod: IncomingPod, constraints: tuple[Constraint, ...], gates: Gates
    ) -> list[PodTally]:
        """
        Count what the constraints of a pod count, in their order, by the domains that matter.

        The domains of a soft constraint are those that the pod can go to: kube-scheduler ranks no
        other, so that one which stays empty makes nothing uneven.

        Args:
            pod: The pod that is asked about.
            constraints: Its own; those that no API server would take are left out.
            gates: The gates in force.

        Source: kube-scheduler plugins/podtopologyspread/scoring.go ``PreScore``.
        """
        measured = self.tally(pod, constraints, gates)
        nodes = self.schedulable(pod.demands)
        keys = tuple(tally.spread.topology_key for tally in measured.soft)
        soft = (
            tally.within(nodes.domains(tally.spread.topology_key, keys, pod.demands))
            for tally in measured.soft
        )
        return sorted((*measured.hard, *soft), key=lambda tally: tally.spread.index)

    def nest_domains(
        self, outer: str, inner: str, demands: Demands, counting: Demands
    ) -> NestedDomains | None:
        """
        How the domains of one topology key lie within those of another.

        Takes O(nodes) when it is asked for the first time, O(1) while the answer is remembered.

        Args:
            outer: The key of the larger domains.
            inner: The key of the smaller ones.
            demands: What a node must meet for the pod to go there.
            counting: What a node must meet to count.

        Returns:
            None if an inner domain lies in two outer ones, or the pod may go to none.
        """
        return self._nested(outer, inner, demands, counting)

    def _nest(
        self, outer: str, inner: str, demands: Demands, counting: Demands
    ) -> NestedDomains | None:
        topology, keys = self.schedulable(demands), (outer, inner)
        outers = topology.domains(outer, keys, counting)
        inners = topology.domains(inner, keys, counting)
        within = {(value, outers.values[name]) for name, value in inners.values.items()}
        reached = topology.domains(inner, keys, demands).sizes
        if len(within) > len(inners.sizes) or not reached:
            return None
        opened = Counter(value for name, value in within if name in reached)
        number = Counter(value for _, value in within)
        shapes = Counter(
            OuterDomain(opened[value], number[value] - opened[value]) for value in number
        )
        return NestedDomains(len(outers.sizes), len(inners.sizes), shapes)


class AdviceContext(NamedTuple):
    """
    What a subject is judged on.

    Attributes:
        policy: Gates and profiles.
        facts: The cluster as an admission knows it.
        cluster: The whole cluster, for an audit; None at admission.
    """

    policy: Policy
    facts: Facts
    cluster: ClusterState | None = None

    @property
    def gates(self) -> Gates:
        """The gates in force."""
        return self.policy.gates


def resolve_valid(
    constraints: tuple[Constraint, ...], labels: Mapping[str, str], gates: Gates
) -> SpreadConstraints:
    """What kube-scheduler makes of constraints, without those that no API server would take."""
    spreads = resolve_constraints(constraints, labels, gates)
    if all(map(_is_possible, (*spreads.hard, *spreads.soft))):
        return spreads
    hard, soft = (tuple(filter(_is_possible, each)) for each in (spreads.hard, spreads.soft))
    return replace(spreads, hard=hard, soft=soft)


def _is_possible(spread: SpreadConstraint) -> bool:
    return spread.max_skew > 0 and spread.min_domains > 0


def tolerates_cordons(demands: Demands) -> bool:
    """Whether a pod may go to nodes that are marked unschedulable."""
    return find_untolerated((UNSCHEDULABLE,), demands.tolerations or ()) is None
