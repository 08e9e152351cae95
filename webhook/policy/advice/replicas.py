"""
Rules about the number of replicas: TSC109 (too many for two constraints) and TSC112 (too few).

The arithmetic of TSC109 is in ``feasibility``.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import NamedTuple

from webhook.policy.advice.context import AdviceContext, CountedKey, NestedDomains
from webhook.policy.advice.counting import (
    counts_itself,
    hard_constraints,
    known_selectors,
    other_workloads,
)
from webhook.policy.advice.feasibility import FEASIBILITY_REPLICAS, SkewLimit, first_unplaceable
from webhook.policy.advice.findings import RuleViolation, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.model import LabelSelector
from webhook.policy.placement.nodes import Demands
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
    number = subject.scaling or f"{replicas} replicas"
    loose = [hard for hard in hard_constraints(subject, context) if hard.max_skew >= replicas]
    selectors = known_selectors(subject, context.gates) if loose else []
    for spread in loose:
        if not counts_itself(spread.constraint, subject, context.gates):
            continue
        if context.cluster and other_workloads(subject, selectors[spread.index], context.cluster):
            continue
        yield RuleViolation(
            subject.field(spread.index, "maxSkew"),
            f"maxSkew {spread.max_skew} allows all {number} in one domain: the constraint keeps a "
            "pod from no domain",
            member("maxSkew", 1),
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
        enough = (skew for skew in wider if conflict.is_solved_by(skew))
        number = f"{conflict.first - 1} of {replicas} replicas"
        yield RuleViolation(
            subject.field(inner.index),
            f"there is no way to place more than {number}{_name_most(subject)} so that "
            f"{conflict.describe()}, though each alone can be kept",
            member("maxSkew", next(enough, replicas)),
            f"no more than {number} can keep this and topologySpreadConstraints[{outer.index}]",
        )


class ConstraintConflict(NamedTuple):
    """
    Two hard constraints that cannot be kept together, though each alone can be.

    Attributes:
        first: The first replica without a place, from 1.
        is_solved_by: Whether there is none with another maxSkew of the inner constraint.
    """

    outer: SpreadConstraint
    inner: SpreadConstraint
    first: int
    is_solved_by: Callable[[int], bool]

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
    selectors = known_selectors(subject, context.gates)
    hard = [
        spread
        for spread in constraints
        if (selector := selectors[spread.index] or _select_all_revisions(spread, subject, context))
        and not other_workloads(subject, selector, cluster)
    ]
    demands = subject.demands
    keys = tuple(spread.topology_key for spread in constraints)
    keys = tuple(key for key in keys if cluster.is_known(key, demands))  # TSC103 reports others
    for outer, inner in permutations(hard, 2):
        if outer.topology_key == inner.topology_key:
            continue
        counted = _count_key(outer, demands), _count_key(inner, demands)
        nesting = cluster.nest_domains(*counted, keys, demands)
        if nesting is None:
            continue
        zones, nodes = _limits(outer, inner, nesting)
        find_first = partial(first_unplaceable, replicas, nesting.shapes)
        first = find_first(zones, nodes)
        if first is None or find_first(zones, None) or find_first(None, nodes):
            continue
        yield ConstraintConflict(outer, inner, first, partial(_is_solved, find_first, zones, nodes))


def _is_solved(
    find_first: Callable[[SkewLimit, SkewLimit], int | None],
    zones: SkewLimit,
    nodes: SkewLimit,
    max_skew: int,
) -> bool:
    return find_first(zones, replace(nodes, max_skew=max_skew)) is None


def _select_all_revisions(
    spread: SpreadConstraint, subject: Subject, context: AdviceContext
) -> LabelSelector | None:
    """Return the selector without matchLabelKeys, whose values a controller has yet to add."""
    constraint = subject.constraints[spread.index]
    is_counted = counts_itself(constraint, subject, context.gates)
    return constraint.label_selector if is_counted else None


def _name_most(subject: Subject) -> str:
    return f", the most of {subject.scaling.source}," if subject.scaling else ""


def _count_key(spread: SpreadConstraint, demands: Demands) -> CountedKey:
    counting = demands.honoring(affinity=spread.honors_affinity, taints=spread.honors_taints)
    return CountedKey(spread.topology_key, counting)


def _limits(
    outer: SpreadConstraint, inner: SpreadConstraint, nesting: NestedDomains
) -> tuple[SkewLimit, SkewLimit]:
    # A closed inner domain stays empty, and with it the minimum at 0.
    are_open = nesting.opened == nesting.inner
    return (
        SkewLimit(outer.max_skew, nesting.outer >= outer.min_domains),
        SkewLimit(inner.max_skew, are_open and nesting.inner >= inner.min_domains),
    )
