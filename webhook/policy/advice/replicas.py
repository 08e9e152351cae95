"""
Rules about the number of replicas: TSC109 (too many for two constraints) and TSC112 (too few).

The arithmetic of TSC109 is in ``feasibility`` and ``crossing``. It reports what no order of
placement avoids, while both rules suggest only what holds in every order, by ``everyorder``.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from itertools import combinations, permutations
from typing import Any, NamedTuple

from webhook.policy.advice.context import AdviceContext, CountedKey, NestedDomains
from webhook.policy.advice.countedgroups import counts_apart
from webhook.policy.advice.counting import (
    hard_constraints,
)
from webhook.policy.advice.crossing import (
    CrossingDomains,
    first_unplaceable_across,
    limit_crossing,
)
from webhook.policy.advice.everyorder import (
    count_key,
    find_skew,
    limit_nested,
    list_counted,
    read_advised_orders,
)
from webhook.policy.advice.feasibility import FEASIBILITY_REPLICAS, SkewLimit, first_unplaceable
from webhook.policy.advice.fields import counts_revisions_together
from webhook.policy.advice.findings import WAIT_FOR_NODES, RuleViolation, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.repeats import suggest_soft
from webhook.policy.advice.restarts import describe_moving, is_evicted
from webhook.policy.advice.subject import Subject
from webhook.policy.model import ZONE
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint

_OPENED = "once no node is cordoned, not ready or tainted any more"


class ConflictPeriod(StrEnum):
    """When two constraints exclude each other, as the beginning of a sentence."""

    ALWAYS = ""
    WHILE_CLOSED = "while nodes are cordoned, not ready or tainted, "
    ONCE_OPEN = f"{_OPENED}, "


def skew_can_bind(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC112: the skew can never exceed the number of replicas, the most of its autoscaler.

    Soft constraints are skipped, since they prefer the emptier domain whatever their maxSkew, and
    so are selectors that count other workloads, since then there are more pods than replicas.
    """
    replicas = subject.most_replicas or 0
    if subject.is_alone or replicas <= 1:
        return
    if all(hard.max_skew < replicas for hard in hard_constraints(subject, context)):
        return  # most workloads
    number = subject.scaling or f"{replicas} replicas"
    for spread, own, others in list_counted(subject, context):
        if spread.max_skew < replicas or not own or others:
            continue
        yield RuleViolation(
            subject.field(spread.index, "maxSkew"),
            f"maxSkew {spread.max_skew} allows all {number} in one domain: the constraint keeps "
            f"{_name_kept(subject, spread)}",
            _suggest_skew(subject, spread, range(1, replicas), context),
            f"maxSkew {spread.max_skew} allows all {replicas} replicas in one domain",
        )


def _name_kept(subject: Subject, spread: SpreadConstraint) -> str:
    """Name the pods that a constraint keeps from a domain although it allows all replicas there."""
    replicas = subject.most_replicas or 0
    surge = subject.limits.resolve(replicas).surge if subject.limits else replicas
    is_kept = subject.surges and spread.max_skew < replicas + surge
    if is_kept and counts_revisions_together(spread.constraint, subject):
        return "only additional pods of a rollout from a domain"
    return "a pod from no domain"


def constraints_agree(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC109: even zones may exclude even nodes, or even capacity types, in some clusters.

    While nodes are closed for now, constraints are judged with these nodes as well. Two may exclude
    each other only now, or only then, if one of them alone leaves pods Pending now.
    """
    if subject.is_alone or len(subject.constraints) <= 1:
        return  # most workloads
    replicas, is_changing = subject.most_replicas or 0, nodes_may_return(subject, context)
    found = {one.pair: one for one in find_conflicts(subject, context, replicas)}
    later = dict(found)
    if is_changing:
        found |= _find_closer(found, subject, context)
        opened = find_conflicts(subject, context, replicas, once_open=True)
        later = {one.pair: one for one in opened}
    for pair, conflict in found.items():
        period = ConflictPeriod.ALWAYS if pair in later else ConflictPeriod.WHILE_CLOSED
        yield _report_conflict(conflict, subject, context, period, later.get(pair, conflict))
    for pair, conflict in later.items():
        if pair not in found:
            yield _report_conflict(conflict, subject, context, ConflictPeriod.ONCE_OPEN, conflict)


def _find_closer(
    found: "Mapping[frozenset[int], ConstraintConflict]", subject: Subject, context: AdviceContext
) -> "dict[frozenset[int], ConstraintConflict]":
    """
    Find the conflicts that allow fewer replicas while cordoned nodes count.

    Of running pods, some may be on these nodes.
    """
    if any(group.placed for group in subject.running):
        return {}
    replicas = subject.most_replicas or 0
    counted = find_conflicts(subject, context, replicas, counts_cordoned=True)
    return {
        one.pair: one
        for one in counted
        if one.pair not in found or one.first < found[one.pair].first
    }


def nodes_may_return(subject: Subject, context: AdviceContext) -> bool:
    """Whether some nodes keep a subject's pods away by their state alone, as cordoned ones."""
    if context.cluster is None:
        return False
    now, later = (
        context.cluster.topology.reachable("", (), demands).values
        for demands in (subject.demands, subject.demands.lasting)
    )
    return len(now) != len(later)


def _report_conflict(
    conflict: "ConstraintConflict",
    subject: Subject,
    context: AdviceContext,
    period: ConflictPeriod,
    later: "ConstraintConflict",
) -> RuleViolation:
    """
    Report a conflict; one that ends with the state of some nodes is no reason to relax any.

    Args:
        later: What is left of it once no node is closed.
    """
    outer, inner, replicas = conflict.outer, conflict.inner, subject.most_replicas or 0
    wider = range(inner.max_skew + 1, replicas)
    number = f"{conflict.first - 1} of {replicas} replicas"
    alone = "" if nodes_may_return(subject, context) else ", though each alone can be kept"
    is_passing = period is ConflictPeriod.WHILE_CLOSED
    more = f" ({later.first - 1} {_OPENED})" if later.first != conflict.first else ""
    return RuleViolation(
        subject.field(inner.index),
        f"{period}there is no way to place more than {number}{_name_most(subject)}{more} one after "
        f"the other so that {conflict.describe()}{alone}",
        WAIT_FOR_NODES if is_passing else _suggest_skew(subject, inner, wider, context),
        f"no more than {number} can keep both {outer.topology_key} and {inner.topology_key}",
    )


class ConstraintConflict(NamedTuple):
    """
    Two hard constraints that cannot be kept together, though each alone can be.

    Attributes:
        outer: The one with larger domains, or the one on zones if the domains cross.
        inner: The other one, which is to be relaxed.
        first: The first replica without a place, from 1.
    """

    outer: SpreadConstraint
    inner: SpreadConstraint
    first: int

    @property
    def pair(self) -> frozenset[int]:
        """The indexes of both."""
        return frozenset((self.outer.index, self.inner.index))

    def describe(self) -> str:
        """Describe the constraints, as ``"zone" keeps maxSkew 1 and "rack" keeps maxSkew 2``."""
        return " and ".join(
            f"{quote_value(spread.topology_key)} keeps maxSkew {spread.max_skew}"
            for spread in (self.outer, self.inner)
        )


def find_conflicts(
    subject: Subject,
    context: AdviceContext,
    replicas: int,
    *,
    once_open: bool = False,
    counts_cordoned: bool = False,
) -> Iterator[ConstraintConflict]:
    """
    Find the pairs of hard constraints that exclude each other for a number of replicas.

    Args:
        once_open: Whether to judge the nodes as if none were cordoned, not ready or tainted for
            now.
        counts_cordoned: Whether cordoned nodes count, as for kube-scheduler.
    """
    cluster = context.cluster
    if cluster is None or not 1 < replicas <= FEASIBILITY_REPLICAS:
        return
    constraints = hard_constraints(subject, context)
    if len(constraints) < 2:  # noqa: PLR2004 - most workloads
        return
    hard = [
        spread
        for spread, own, others in list_counted(subject, context)
        if own and not others and not counts_apart(spread.constraint, subject)
    ]
    demands = subject.demands.lasting if once_open else subject.demands
    keys = tuple(spread.topology_key for spread in constraints)
    keys = tuple(key for key in keys if cluster.is_known(key, demands))  # TSC103 reports others
    nodes: Mapping[str, Any] = {
        "keys": keys, "demands": demands, "counts_cordoned": counts_cordoned
    }  # fmt: skip
    nest, cross = partial(cluster.nest_domains, **nodes), partial(cluster.cross_domains, **nodes)
    for pair in combinations(hard, 2):
        if pair[0].topology_key != pair[1].topology_key:
            yield from _find_conflict(pair, demands, replicas, nest, cross)


def suggest_relaxing(subject: Subject, context: AdviceContext) -> str:
    """
    Suggest to relax one of two hard constraints that exclude each other.

    Returns:
        A YAML comment; empty if all replicas that there are now may keep them.
    """
    replicas = subject.replicas or 0
    conflict = next(find_conflicts(subject, context, replicas), None)
    if conflict is None:
        return ""
    cause = (
        "no restart can make its pods even, since there is no way to place more than "
        f"{conflict.first - 1} of {replicas} replicas one after the other so that "
        f"{conflict.describe()}"
    )
    relaxed = f"relax the one on {conflict.inner.topology_key}"
    if not is_evicted(subject):
        return f"# {cause}: {relaxed} first"
    # A pod that is evicted while all others stay may have a place where the last replica has none.
    return f"# {describe_moving(subject)} to see if evictions can; {cause}: otherwise {relaxed}"


def _find_conflict(
    pair: tuple[SpreadConstraint, SpreadConstraint],
    demands: Demands,
    replicas: int,
    nest: Callable[[CountedKey, CountedKey], NestedDomains | None],
    cross: Callable[[CountedKey, CountedKey], CrossingDomains | None],
) -> Iterator[ConstraintConflict]:
    """
    Find whether two hard constraints exclude each other.

    Args:
        nest: Finds how the domains of one key lie within those of another.
        cross: Finds how the domains of two keys share nodes.
    """
    for outer, inner in permutations(pair):
        nesting = nest(count_key(outer, demands), count_key(inner, demands))
        if nesting is not None:
            limits = limit_nested(outer, inner, nesting)
            find_first = partial(first_unplaceable, replicas, nesting.shapes)
            yield from _judge_limits(outer, inner, limits, find_first)
            return
    # The constraint on zones is kept: the failure of a zone stops most.
    outer, inner = sorted(pair, key=lambda spread: spread.topology_key != ZONE)
    crossing = cross(count_key(outer, demands), count_key(inner, demands))
    if crossing is not None:
        limits = limit_crossing(outer, inner, crossing)
        find_first = partial(first_unplaceable_across, replicas, crossing)
        yield from _judge_limits(outer, inner, limits, find_first)


def _judge_limits(
    outer: SpreadConstraint,
    inner: SpreadConstraint,
    limits: tuple[SkewLimit, SkewLimit],
    find_first: Callable[[SkewLimit | None, SkewLimit | None], int | None],
) -> Iterator[ConstraintConflict]:
    """Yield the conflict of two constraints if each alone can be kept, and both cannot."""
    first = find_first(*limits)
    if first is not None and not find_first(limits[0], None) and not find_first(None, limits[1]):
        yield ConstraintConflict(outer, inner, first)


def _suggest_skew(
    subject: Subject, spread: SpreadConstraint, skews: range, context: AdviceContext
) -> str:
    """
    Suggest the first maxSkew with which all replicas are shown to have a place in every order.

    That must hold while nodes are cordoned, not ready or tainted for now, and once they return.

    Returns:
        YAML: what makes the constraint soft if there is no such maxSkew, and the first maxSkew if
        no node is known.
    """
    known = context.cluster is not None and context.cluster.topology.nodes
    orders = read_advised_orders(subject, context) if known else []
    skew = find_skew(orders, spread.index, skews) if known else skews[0]
    return suggest_soft(spread.constraint, subject) if skew is None else member("maxSkew", skew)


def _name_most(subject: Subject) -> str:
    return f", the most of {subject.scaling.source}," if subject.scaling else ""
