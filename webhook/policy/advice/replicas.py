"""
Rules about the number of replicas: TSC109 (too many for two constraints) and TSC112 (too few).

The arithmetic of TSC109 is in ``feasibility``. It reports what no order of placement avoids, while
both rules suggest only what holds in every order, by ``everyorder``.
"""

from collections.abc import Iterator
from functools import partial
from itertools import permutations
from typing import NamedTuple

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.countedgroups import counts_apart
from webhook.policy.advice.counting import (
    hard_constraints,
)
from webhook.policy.advice.everyorder import (
    count_key,
    find_skew,
    limit_nested,
    list_counted,
    read_advised_orders,
)
from webhook.policy.advice.feasibility import FEASIBILITY_REPLICAS, first_unplaceable
from webhook.policy.advice.findings import RuleViolation, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.repeats import suggest_soft
from webhook.policy.advice.subject import Subject
from webhook.policy.placement.spreads import SpreadConstraint


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
            f"maxSkew {spread.max_skew} allows all {number} in one domain: the constraint keeps a "
            "pod from no domain",
            _suggest_skew(subject, spread, range(1, replicas), context),
            f"maxSkew {spread.max_skew} allows all {replicas} replicas in one domain",
        )


def constraints_agree(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC109: with zones of different sizes, even zones and even nodes may exclude each other."""
    replicas = subject.most_replicas or 0
    if subject.is_alone:
        return
    for conflict in find_conflicts(subject, context, replicas):
        outer, inner = conflict.outer, conflict.inner
        wider = range(inner.max_skew + 1, replicas)
        number = f"{conflict.first - 1} of {replicas} replicas"
        yield RuleViolation(
            subject.field(inner.index),
            f"there is no way to place more than {number}{_name_most(subject)} so that "
            f"{conflict.describe()}, though each alone can be kept",
            _suggest_skew(subject, inner, wider, context),
            f"no more than {number} can keep both {outer.topology_key} and {inner.topology_key}",
        )


class ConstraintConflict(NamedTuple):
    """
    Two hard constraints that cannot be kept together, though each alone can be.

    Attributes:
        first: The first replica without a place, from 1.
    """

    outer: SpreadConstraint
    inner: SpreadConstraint
    first: int

    def describe(self) -> str:
        """Describe the constraints, as ``"zone" keeps maxSkew 1 and "rack" keeps maxSkew 2``."""
        return " and ".join(
            f"{quote_value(spread.topology_key)} keeps maxSkew {spread.max_skew}"
            for spread in (self.outer, self.inner)
        )


def find_conflicts(
    subject: Subject, context: AdviceContext, replicas: int
) -> Iterator[ConstraintConflict]:
    """Find the pairs of hard constraints that exclude each other for a number of replicas."""
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
    demands = subject.demands
    keys = tuple(spread.topology_key for spread in constraints)
    keys = tuple(key for key in keys if cluster.is_known(key, demands))  # TSC103 reports others
    for outer, inner in permutations(hard, 2):
        if outer.topology_key == inner.topology_key:
            continue
        counted = count_key(outer, demands), count_key(inner, demands)
        nesting = cluster.nest_domains(*counted, keys, demands)
        if nesting is None:
            continue
        zones, nodes = limit_nested(outer, inner, nesting)
        find_first = partial(first_unplaceable, replicas, nesting.shapes)
        first = find_first(zones, nodes)
        if first is None or find_first(zones, None) or find_first(None, nodes):
            continue
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
