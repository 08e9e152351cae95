"""
The context of advice: the policy in force, and what is known of the cluster.

``AdviceContext`` is what every rule gets. At admission it has ``Facts``, queries that cost the same
in a cluster of any size. An audit adds a ``ClusterState``: every node, every pod that counts, and
the workloads that the pods belong to.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.crossing import CrossingDomains, cross_domains
from webhook.policy.advice.sharednodes import EVERYWHERE, SharedNodes
from webhook.policy.advice.storage import StorageClass
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint, LabelSelector, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.place import ConstraintTallies, tally_constraints
from webhook.policy.placement.spreads import (
    SpreadConstraint,
    SpreadConstraints,
    resolve_constraints,
)
from webhook.policy.placement.tallies import IncomingPod, PodTally
from webhook.policy.placement.topology import CACHED_DOMAINS, Domains, Topology


class CountedKey(NamedTuple):
    """A topology key of a constraint, and what a node must satisfy to count for it."""

    name: str
    counting: Demands


class NestedDomains(NamedTuple):
    """
    How inner domains, such as nodes, lie within outer ones, such as zones.

    Attributes:
        outer: Number of outer domains that count; at least 1.
        inner: Number of inner domains that count; at least 1.
        opened: Number of those inner domains that a pod can go to; at least 1.
        shapes: Open inner domains of an outer domain -> how many outer domains have as many.
    """

    outer: int
    inner: int
    opened: int
    shapes: Mapping[int, int]


CACHED_SELECTORS = 16  # those that workloads share; each may count all workloads of a namespace

CACHED_TALLIES = 2  # of a subject: those of its next pod, and those of a running one

_Query: TypeAlias = tuple[Census, IncomingPod, tuple[Constraint, ...], Gates]


class ClusterState:
    """
    The nodes and pods of a whole cluster at one moment, for an audit.

    Attributes:
        topology: Every node.
        census: Every pod that counts, by its node.
        members: The same pods, or those that manifests would create, by their workload instead of
            their node; a workload is named like ``str(Subject)``, as ``Deployment/web``, and has 0
            pods if it is known and runs none.
        storage_classes: Every StorageClass that is known, by name.
        shared: The nodes that pods of the workloads can go to.
        surges: Namespace and name of a workload, as for ``SharedNodes`` -> the most pods beyond
            its replicas; absent if that is not known.
        members_of: The cached counts of ``count_members``, by namespace, selector in JSON, and
            what a node must satisfy to count.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        census: Census,
        members: Census,
        storage_classes: Iterable[StorageClass] = (),
        demands: Mapping[tuple[str, str], Demands] | None = None,
    ) -> None:
        """
        Take the nodes, whose names are unique, the two counts of the pods, and classes.

        ``demands`` are those of ``SharedNodes``.
        """
        self.topology = Topology(nodes)
        self.census = census
        self.members = members
        self.storage_classes = {item.name: item for item in storage_classes}
        self.nest_domains = lru_cache(maxsize=CACHED_DOMAINS)(self._nest_domains)
        self.cross_domains = lru_cache(maxsize=CACHED_DOMAINS)(self._cross_domains)
        self._recent: deque[tuple[_Query, ConstraintTallies]] = deque(maxlen=CACHED_TALLIES)
        self.shared = SharedNodes(self.topology, demands)
        self.surges: Mapping[tuple[str, str], int] = {}
        self.members_of = _cache_members(members, self.shared)

    def with_pods(
        self,
        census: Census,
        members: Census,
        demands: Mapping[tuple[str, str], Demands] | None = None,
    ) -> "ClusterState":
        """Return the state with other pods on the same nodes; it shares the caches of the nodes."""
        twin = copy(self)
        if members is not self.members:
            twin.shared = SharedNodes(self.topology, demands)
            twin.members_of = _cache_members(members, twin.shared)
        twin.census, twin.members = census, members
        return twin

    def count_members(
        self, namespace: str, selector: LabelSelector | None, counting: Demands = EVERYWHERE
    ) -> Mapping[str, int]:
        """
        Count the pods of a namespace that a selector selects, by their workload.

        The result is cached: many workloads may have the same selector.

        Args:
            counting: What a node must satisfy to count; workloads that can go to no such node are
                left out.

        Returns:
            Workload -> pods, at least 1, sorted by workload.
        """
        return self.members_of(namespace, msgspec.json.encode(selector), counting)

    def list_members(self, namespace: str, selector: LabelSelector | None) -> list[str]:
        """List the workloads whose pods a selector selects, also if they have none; sorted."""
        return sorted(self.members.count(namespace, selector))

    def schedulable(self, demands: Demands) -> Topology:
        """Return the nodes that are not cordoned; all nodes for a pod that tolerates cordons."""
        return self.topology.schedulable(demands)

    def lasting_domains(self, key: str, keys: tuple[str, ...], demands: Demands) -> Domains:
        """
        Find the domains that a pod can go to unless the state of their nodes prevents it for now.

        A cordon, or a node that is not ready, is no reason to change a manifest; kube-scheduler
        counts these nodes, too. ``keys`` are those that a node must have.
        """
        return self.topology.domains(key, keys, demands.lasting)

    def tally(
        self, pod: IncomingPod, constraints: tuple[Constraint, ...], gates: Gates
    ) -> ConstraintTallies:
        """
        Count the pods of a pod's constraints.

        The last results are cached: most rules need the same tallies of a subject.
        """
        if not constraints:
            return _NOTHING_COUNTED  # as for many workloads
        query = (self.census, pod, constraints, gates)
        for known, tallies in self._recent:
            if known == query:
                return tallies
        spreads = resolve_valid(constraints, pod.labels, gates)
        tallies = tally_constraints(pod, spreads, self.topology, self.census)
        self._recent.append((query, tallies))
        return tallies

    def tally_known(
        self, pod: IncomingPod, constraints: tuple[Constraint, ...], gates: Gates
    ) -> ConstraintTallies:
        """
        Count the pods of those constraints whose key is on a node that the pod can go to.

        A hard constraint on any other key rejects every node, and no node counts for the others.
        TSC103 reports it; the advice on the others does not wait for its correction.
        """
        tallies = self.tally(pod, constraints, gates)
        hard, soft = (
            tuple(spread for spread in kind if self.is_known(spread.topology_key, pod.demands))
            for kind in (tallies.spreads.hard, tallies.spreads.soft)
        )
        if (hard, soft) == (tallies.spreads.hard, tallies.spreads.soft):
            return tallies
        known = replace(tallies.spreads, hard=hard, soft=soft)
        return tally_constraints(pod, known, self.topology, self.census)

    def is_known(self, key: str, demands: Demands) -> bool:
        """Whether a node that a pod can go to has a topology key."""
        return bool(self.lasting_domains(key, (key,), demands).sizes)

    def list_unknown_keys(self, constraints: Iterable[Constraint], demands: Demands) -> list[str]:
        """List the keys of hard constraints that no node has which a pod can go to: none passes."""
        return [
            one.topology_key
            for one in constraints
            if one.when_unsatisfiable == DO_NOT_SCHEDULE
            and not self.is_known(one.topology_key, demands)
        ]

    def tallies(
        self, pod: IncomingPod, constraints: tuple[Constraint, ...], gates: Gates
    ) -> list[PodTally]:
        """Count the pods of a pod's constraints, of soft ones in reachable domains only."""
        tallies = self.tally(pod, constraints, gates)
        return tallies.reachable(self.topology, pod.demands).by_index

    def _nest_domains(
        self,
        outer: CountedKey,
        inner: CountedKey,
        keys: tuple[str, ...],
        demands: Demands,
        *,
        counts_cordoned: bool = False,
    ) -> NestedDomains | None:
        """
        Find how the domains of one topology key lie within those of another.

        Different nodes may count for the two. The pods go to nodes that count for both. Takes
        O(nodes) at first, O(1) while the result is cached.

        Args:
            keys: The keys that a node must have, including both.
            demands: What a node must satisfy for the pod to go there.
            counts_cordoned: Whether cordoned nodes count, as for kube-scheduler.

        Returns:
            None if an inner domain is open in two outer ones, or the pod cannot go to any.
        """
        opened_nodes = self.schedulable(demands)
        topology = self.topology if counts_cordoned else opened_nodes
        outers, inners = (topology.domains(key.name, keys, key.counting) for key in (outer, inner))
        reached = opened_nodes.domains(inner.name, keys, demands)
        within = {(value, outers.values[name]) for name, value in reached.values.items()}
        if not within or len(within) > len(reached.sizes):
            return None
        opened = Counter(value for _, value in within)
        shapes = Counter(opened[value] for value in outers.sizes)
        return NestedDomains(len(outers.sizes), len(inners.sizes), len(reached.sizes), shapes)

    def _cross_domains(
        self,
        first: CountedKey,
        second: CountedKey,
        keys: tuple[str, ...],
        demands: Demands,
        *,
        counts_cordoned: bool = False,
    ) -> CrossingDomains | None:
        """
        Find how domains of two topology keys share the nodes that a pod can go to.

        Takes O(nodes) at first, O(1) while the result is cached. The arguments are those of
        ``nest_domains``.

        Returns:
            None if the pod cannot go to any node, or if there are too many domains.
        """
        opened = self.schedulable(demands)
        topology, both = self.topology if counts_cordoned else opened, (first, second)
        ones, others = (opened.domains(key.name, keys, demands).values for key in both)
        counted = (len(topology.domains(key.name, keys, key.counting).sizes) for key in both)
        return cross_domains(((ones[name], others[name]) for name in ones), *counted)


_NOTHING_COUNTED = ConstraintTallies(
    SpreadConstraints((), (), defaulted=True, requires_keys=True), (), ()
)


def _cache_members(
    members: Census, shared: SharedNodes
) -> Callable[[str, bytes, Demands], Mapping[str, int]]:
    """Cache the counts of selectors, which are given as JSON since they cannot be hashed."""

    @lru_cache(CACHED_SELECTORS)
    def count(namespace: str, selector: bytes, counting: Demands) -> Mapping[str, int]:
        decoded = msgspec.json.decode(selector, type=LabelSelector | None)
        counted = members.count(namespace, decoded)
        return {
            workload: pods
            for workload, pods in sorted(counted.items())
            if pods and shared.may_count(namespace, workload, counting)
        }

    return count


@dataclass(frozen=True)
class AdviceContext:
    """
    Policy and cluster facts for judging a subject.

    Attributes:
        facts: Facts about the cluster, from indexes.
        cluster: The whole cluster, for an audit; None at admission.
    """

    policy: Policy
    facts: Facts
    cluster: ClusterState | None = None

    @property
    def knows_nodes(self) -> bool:
        """Whether nodes may be known: in an audit, if it has any; at admission, always."""
        return self.cluster is None or bool(self.cluster.topology.nodes)

    @property
    def gates(self) -> Gates:
        """The gates in force."""
        return self.policy.gates


def resolve_valid(
    constraints: tuple[Constraint, ...], labels: Mapping[str, str], gates: Gates
) -> SpreadConstraints:
    """Resolve constraints like kube-scheduler, without those that no API server accepts."""
    spreads = resolve_constraints(constraints, labels, gates)
    if all(map(_is_possible, (*spreads.hard, *spreads.soft))):
        return spreads
    hard, soft = (tuple(filter(_is_possible, kind)) for kind in (spreads.hard, spreads.soft))
    return replace(spreads, hard=hard, soft=soft)


def _is_possible(spread: SpreadConstraint) -> bool:
    return spread.max_skew > 0 and spread.min_domains > 0
