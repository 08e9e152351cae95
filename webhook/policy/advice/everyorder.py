"""
Whether all replicas of a workload have a place in whatever order kube-scheduler places them.

``read_orders`` is the entry point. It starts from nodes without pods of the workload: what is
advised must hold for a new object, too. A value is advised only if this is shown. For one
constraint, and for two with nested domains, as zones and nodes, arithmetic decides; other
combinations are searched, up to a limit. Cordoned nodes are closed, and count as for
kube-scheduler. How a rollout proceeds is not considered, but for the additional pods that one
constraint may leave Pending.
"""

import dataclasses
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from msgspec.structs import replace

from webhook.policy.advice.capacity import count_in_rollout, is_single_pod, name_waiting
from webhook.policy.advice.context import (
    AdviceContext,
    ClusterState,
    CountedKey,
    NestedDomains,
)
from webhook.policy.advice.countedgroups import counts_apart, counts_only_itself
from webhook.policy.advice.counting import (
    counts_itself,
    counts_own_revision,
    hard_constraints,
    known_selectors,
    other_workloads,
)
from webhook.policy.advice.feasibility import SkewLimit
from webhook.policy.advice.followednodes import NodeGroups, group_nodes
from webhook.policy.advice.ordersearch import DomainLimit, fit_in_every_order
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.worstorder import find_first_pending
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.topology import Domains

MOST_GROUPS = 100  # of nodes that are looked at; zones are fewer, and hostnames are not

_NESTED = 2  # constraints whose domains may be nested, as zones and nodes


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
        alone = counts_only_itself(constraint, subject)
        selector = selectors[spread.index] or constraint.label_selector
        others = (
            cluster is not None
            and not counts_own_revision(constraint, subject, context.gates)
            and bool(other_workloads(subject, selector, cluster, spread.counting(subject.demands)))
        )
        yield CountedPods(spread, own and not alone, others)


@dataclass(frozen=True)
class ReplicaOrders:
    """
    The hard constraints of replicas, and the nodes that these can go to.

    Attributes:
        spreads: The constraints that count the replicas or pods of other workloads, in order.
        counts_others: Whether one of them counts pods of other workloads.
        keys: The keys that a node must have.
        demands: What a node must satisfy for the replicas to go there; some node does.
        leaves_out_closed: Whether domains that the replicas cannot go to do not count.
        groups: The nodes that replicas which follow each other can go to: all are in one group,
            and there is at least one. None if they can go to any node.
    """

    subject: Subject
    cluster: ClusterState
    spreads: tuple[SpreadConstraint, ...]
    counts_others: bool
    keys: tuple[str, ...]
    demands: Demands
    leaves_out_closed: bool
    groups: NodeGroups | None

    def with_skew(self, index: int, max_skew: int) -> "ReplicaOrders":
        """Return the orders with another maxSkew of the constraint with an index in the list."""
        changed = (
            replace(spread, max_skew=max_skew) if spread.index == index else spread
            for spread in self.spreads
        )
        return dataclasses.replace(self, spreads=tuple(changed))

    def all_fit(self) -> bool | None:
        """Whether all replicas have a place in every order; None if it is not known."""
        if self.groups is None or len(self.groups) == 1:
            return self._fit_together()
        if len(self.groups) > MOST_GROUPS:
            return None
        parts = (dataclasses.replace(self, groups=(group,)) for group in self.groups)
        found = [part.all_fit() for part in parts]
        return False if False in found else None if None in found else True

    def _fit_together(self) -> bool | None:
        """Whether all replicas have a place on the nodes of the only group, or on any node."""
        replicas = 1 if is_single_pod(self.subject) else self.subject.most_replicas
        is_known = replicas is not None and not self.counts_others
        # With a maxSkew of all pods, a constraint keeps none of them from any domain.
        binding = [spread for spread in self.spreads if not is_known or self._binds(spread)]
        if len(binding) <= 1:
            return all(map(self._fit_alone, binding))
        counted = {counts_apart(spread.constraint, self.subject) for spread in binding}
        if not is_known or replicas is None or True in counted:
            return None
        may_nest = len(binding) == _NESTED and not self.groups
        for outer, inner in permutations(binding) if may_nest else ():
            keys = self._count_key(outer), self._count_key(inner)
            nesting = self.cluster.nest_domains(
                *keys, self.keys, self.demands, counts_cordoned=not self.leaves_out_closed
            )
            if nesting is not None:
                limits = limit_nested(outer, inner, nesting)
                return find_first_pending(replicas, nesting.shapes, *limits) is None
        return self._search(binding, replicas)

    def count_placed(self) -> int:
        """Count the replicas that are shown to have a place in every order; 0 if unknown."""

        def leave_pending(replicas: int) -> bool:
            fewer = replace(self.subject, replicas=replicas, scaling=None, recreates=True)
            return not dataclasses.replace(self, subject=fewer).all_fit()

        numbers = range(1, (self.subject.most_replicas or 0) + 1)
        return bisect_left(numbers, 1, key=leave_pending)

    def _binds(self, spread: SpreadConstraint) -> bool:
        return spread.max_skew < (count_in_rollout(spread.constraint, self.subject) or 0)

    def _count_key(self, spread: SpreadConstraint) -> CountedKey:
        if self.leaves_out_closed:
            return CountedKey(spread.topology_key, self.demands)
        return count_key(spread, self.demands)

    def _fit_alone(self, spread: SpreadConstraint) -> bool:
        counted, reached = self._find_domains(spread)
        if len(reached.sizes) == len(counted.sizes) >= spread.min_domains:
            return True  # the least full domain always accepts a pod, whichever pods count
        places = spread.max_skew * len(reached.sizes)
        return not self.counts_others and not name_waiting(self.subject, spread.constraint, places)

    def _search(self, spreads: Sequence[SpreadConstraint], replicas: int) -> bool | None:
        limits: list[DomainLimit] = []
        columns: list[list[int]] = []
        for spread in spreads:
            counted, reached = self._find_domains(spread)
            numbers = {value: number for number, value in enumerate(counted.sizes)}
            limits.append(
                DomainLimit(
                    spread.max_skew, (0,) * len(numbers), len(numbers) >= spread.min_domains
                )
            )
            columns.append([numbers[value] for value in reached.values.values()])
        return fit_in_every_order(limits, zip(*columns, strict=True), replicas)

    def _find_domains(self, spread: SpreadConstraint) -> tuple[Domains, Domains]:
        """Find the domains that count, and those that the replicas can go to."""
        opened, (name, counting) = self.cluster.schedulable(self.demands), self._count_key(spread)
        topology = opened if self.leaves_out_closed else self.cluster.topology
        counted = topology.domains(name, self.keys, counting)
        reached = opened.domains(name, self.keys, self.demands)
        return counted, reached.keep_nodes(self.groups[0]) if self.groups else reached


def count_key(spread: SpreadConstraint, demands: Demands) -> CountedKey:
    """Return the topology key of a constraint with what a node must satisfy to count for it."""
    counting = spread.counting(demands)
    return CountedKey(spread.topology_key, counting)


def limit_nested(
    outer: SpreadConstraint, inner: SpreadConstraint, nesting: NestedDomains
) -> tuple[SkewLimit, SkewLimit]:
    """Return the limits of two constraints with nested domains."""
    # A closed inner domain stays empty, and with it the minimum at 0.
    are_open = nesting.opened == nesting.inner
    return (
        SkewLimit(outer.max_skew, nesting.outer >= outer.min_domains),
        SkewLimit(inner.max_skew, are_open and nesting.inner >= inner.min_domains),
    )


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
            as TSC105 and TSC116 advise; not for a constraint that counts pods of other workloads
            alone, of which they say nothing.
        whatever_state: Whether to suppose that all nodes are ready and not cordoned.

    Returns:
        None if no node is known that the pods can go to.
    """
    cluster = context.cluster
    if cluster is None or subject.is_alone or subject.is_bound:
        return None
    counted = [
        one
        for one in list_counted(subject, context)
        if cluster.is_known(one.spread.topology_key, subject.demands)
    ]
    keys = tuple(one.spread.topology_key for one in counted)
    demands = subject.demands.lasting if whatever_state else subject.demands
    reached = cluster.schedulable(demands).domains("", keys, demands).values
    groups = group_nodes(reached, subject, cluster)
    if not reached or groups == ():
        return None
    deciding = [one for one in counted if one.own or one.others]
    return ReplicaOrders(
        subject,
        cluster,
        tuple(one.spread for one in deciding),
        any(one.others for one in deciding),
        keys,
        demands,
        leaves_out_closed and all(one.own for one in deciding),
        groups,
    )


def read_advised_orders(subject: Subject, context: AdviceContext) -> list[ReplicaOrders]:
    """
    Read the orders in which advice must hold: now, and once all nodes are ready and not cordoned.

    Returns:
        Empty as for ``read_orders``; only those of later if no node is open now.
    """
    states = (read_orders(subject, context, whatever_state=later) for later in (False, True))
    return [orders for orders in states if orders is not None]


def find_skew(orders: Sequence[ReplicaOrders], index: int, skews: Iterable[int]) -> int | None:
    """
    Find the first maxSkew of a constraint with which all replicas fit in every order.

    Args:
        orders: Each must hold.
        index: Of the constraint in the list.
        skews: Increasing values to try.

    Returns:
        None if this can be shown of none of them.
    """
    for skew in skews if orders else ():
        fits = [one.with_skew(index, skew).all_fit() for one in orders]
        if all(fits):
            return skew
        if None in fits:
            return None
    return None
