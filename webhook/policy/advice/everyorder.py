"""
Whether all replicas of a workload have a place in whatever order kube-scheduler places them.

``read_orders`` is the entry point. It starts from nodes without pods of the workload: what is
advised must hold for a new object, too. A value is advised only if this is shown. For one
constraint, and for two with nested domains, as zones and nodes, arithmetic decides; other
combinations are searched, up to a limit. How a rollout proceeds is not considered, but for the
additional pods that one constraint may leave Pending.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from webhook.policy.advice.capacity import name_waiting
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import (
    counts_itself,
    counts_own_revision,
    hard_constraints,
    known_selectors,
    other_workloads,
)
from webhook.policy.advice.feasibility import SkewLimit
from webhook.policy.advice.fields import is_unique
from webhook.policy.advice.ordersearch import Cell, DomainLimit, fit_in_every_order
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.worstorder import first_stranded
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.topology import Topology


class CountedPods(NamedTuple):
    """
    Whose pods a hard constraint counts.

    Attributes:
        own: Whether it counts the pods of the subject, or those of one of its revisions.
        others: Whether it counts pods of other workloads; False if these are not known.
    """

    spread: SpreadConstraint
    own: bool
    others: bool


def list_counted(subject: Subject, context: AdviceContext) -> Iterator[CountedPods]:
    """Find for each hard constraint of a subject whose pods it counts."""
    cluster = context.cluster
    constraints = hard_constraints(subject, context)
    selectors = known_selectors(subject, context.gates) if constraints else []
    for spread in constraints:
        constraint = spread.constraint
        own = counts_itself(constraint, subject, context.gates)
        alone = any(is_unique(key, subject) for key in constraint.match_label_keys)
        selector = selectors[spread.index] or constraint.label_selector
        others = (
            cluster is not None
            and not counts_own_revision(constraint, subject, context.gates)
            and bool(other_workloads(subject, selector, cluster))
        )
        yield CountedPods(spread, own and not alone, others)


@dataclass(frozen=True)
class ReplicaOrders:
    """
    The hard constraints of replicas, and the nodes that these can go to.

    Attributes:
        spreads: The constraints that count the replicas.
        limits: Their limits, in the same order.
        cells: The domains of each node, in the same order; at least one node.
        counts_others: Whether one of them counts pods of other workloads.
    """

    subject: Subject
    spreads: tuple[SpreadConstraint, ...]
    limits: tuple[DomainLimit, ...]
    cells: frozenset[Cell]
    counts_others: bool

    def with_skew(self, index: int, max_skew: int) -> "ReplicaOrders":
        """Return the orders with another maxSkew of the constraint with an index in the list."""
        limits = (
            dataclasses.replace(limit, max_skew=max_skew) if spread.index == index else limit
            for spread, limit in zip(self.spreads, self.limits, strict=True)
        )
        return dataclasses.replace(self, limits=tuple(limits))

    def all_fit(self) -> bool | None:
        """Whether all replicas have a place in every order; None if it is not known."""
        replicas = self.subject.most_replicas
        are_counted = not self.counts_others and replicas is not None
        # With a maxSkew of all replicas, a constraint keeps none of them from any domain.
        binding = [
            i
            for i, limit in enumerate(self.limits)
            if not are_counted or limit.max_skew < (replicas or 0)
        ]
        if len(binding) <= 1:
            return all(self._fit_alone(i) for i in binding)
        if not are_counted or replicas is None:
            return None
        for outer, inner in permutations(binding, 2) if len(binding) == 2 else ():  # noqa: PLR2004
            shapes = self._nest(outer, inner)
            if shapes is not None:
                limits = self._limit(outer), self._limit(inner, are_nested=True)
                return first_stranded(replicas, shapes, *limits) is None
        cells = {tuple(cell[i] for i in binding) for cell in self.cells}
        return fit_in_every_order([self.limits[i] for i in binding], cells, replicas)

    def _fit_alone(self, i: int) -> bool:
        limit, opened = self.limits[i], {cell[i] for cell in self.cells}
        if limit.has_minimum and len(opened) == len(limit.pods):
            return True  # the least full domain always accepts a pod
        places = limit.max_skew * len(opened)
        constraint = self.spreads[i].constraint
        return not self.counts_others and not name_waiting(self.subject, constraint, places)

    def _nest(self, outer: int, inner: int) -> Counter[int] | None:
        """Count outer domains by their open inner ones; None if an inner one lies in several."""
        within = {(cell[outer], cell[inner]) for cell in self.cells}
        if len(within) > len({cell[inner] for cell in self.cells}):
            return None
        opened = Counter(domain for domain, _ in within)
        return Counter(opened[domain] for domain in range(len(self.limits[outer].pods)))

    def _limit(self, i: int, *, are_nested: bool = False) -> SkewLimit:
        limit, opened = self.limits[i], {cell[i] for cell in self.cells}
        # A closed inner domain stays empty, and with it the minimum at 0.
        has_closed = are_nested and len(opened) < len(limit.pods)
        return SkewLimit(limit.max_skew, limit.has_minimum and not has_closed)


def read_orders(
    subject: Subject,
    context: AdviceContext,
    *,
    leaves_out_closed: bool = False,
    whatever_state: bool = False,
) -> ReplicaOrders | None:
    """
    Read what decides on the orders in which a subject can be placed.

    Constraints on keys of no node are left out: TSC103 reports them.

    Args:
        leaves_out_closed: Whether to suppose that domains which the pods cannot go to do not count,
            as TSC105 and TSC116 advise.
        whatever_state: Whether to suppose that all nodes are ready and not cordoned.

    Returns:
        None if no node is known that the pods can go to, or if pods of other workloads alone decide
        where they go.
    """
    cluster = context.cluster
    if cluster is None or subject.is_alone or subject.is_bound:
        return None
    demands = subject.demands
    counted = [
        one
        for one in list_counted(subject, context)
        if cluster.is_known(one.spread.topology_key, demands)
    ]
    if any(one.others and not one.own for one in counted):
        return None
    spreads = tuple(one.spread for one in counted if one.own)
    counts_others = any(one.others for one in counted)
    keys = tuple(one.spread.topology_key for one in counted)
    topology = cluster.topology if whatever_state else cluster.schedulable(demands)
    demands = demands.lasting if whatever_state else demands
    domains = [
        _read_domains(spread, keys, demands, topology, leaves_out_closed=leaves_out_closed)
        for spread in spreads
    ]
    limits = tuple(
        DomainLimit(spread.max_skew, (0,) * number, number >= spread.min_domains)
        for spread, (number, _) in zip(spreads, domains, strict=True)
    )
    nodes = topology.domains("", keys, demands).values
    cells = frozenset(tuple(inside[name] for _, inside in domains) for name in nodes)
    return ReplicaOrders(subject, spreads, limits, cells, counts_others) if cells else None


def _read_domains(
    spread: SpreadConstraint,
    keys: tuple[str, ...],
    demands: Demands,
    topology: Topology,
    *,
    leaves_out_closed: bool,
) -> tuple[int, Mapping[str, int]]:
    """Number the domains of a constraint; return how many there are, and that of each open node."""
    key = spread.topology_key
    honored = demands.honoring(affinity=spread.honors_affinity, taints=spread.honors_taints)
    reached = topology.domains(key, keys, demands)
    counted = reached if leaves_out_closed else topology.domains(key, keys, honored)
    numbers = {value: number for number, value in enumerate(counted.sizes)}
    return len(numbers), {name: numbers[value] for name, value in reached.values.items()}


def find_skew(orders: ReplicaOrders | None, index: int, skews: Iterable[int]) -> int | None:
    """
    Find the first maxSkew of a constraint with which all replicas fit in every order.

    Args:
        index: Of the constraint in the list.
        skews: Increasing values to try.

    Returns:
        None if this can be shown of none of them.
    """
    if orders is None:
        return None
    for skew in skews:
        fit = orders.with_skew(index, skew).all_fit()
        if fit or fit is None:
            return skew if fit else None
    return None
