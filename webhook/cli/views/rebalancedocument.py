"""A plan of evictions as a document for programs: ``describe_plan``."""

from collections.abc import Mapping

import msgspec

from webhook.policy.placement.tallies import PodTally
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.notes import PlanNote
from webhook.rebalance.plan import GoalResult, ImmovablePod, RebalancePlan
from webhook.rebalance.replay import EvictionStep


class _ConstraintCount(msgspec.Struct, frozen=True):
    """The counted pods of each domain, and the skew."""

    pods: Mapping[str, int]
    skew: int


class _ConstraintResult(msgspec.Struct, frozen=True, rename="camel"):
    """
    A constraint before and after the plan.

    Attributes:
        obstacle: Null if the plan makes it hold.
        obstacle_domains: The domains in which the obstacle is.
    """

    namespace: str
    workloads: tuple[str, ...]
    topology_key: str
    max_skew: int
    min_domains: int
    when_unsatisfiable: str | None
    before: _ConstraintCount
    after: _ConstraintCount
    holds: bool
    obstacle: GoalObstacle | None
    obstacle_domains: tuple[str, ...]


class _PlanDocument(msgspec.Struct, frozen=True, rename="camel"):
    """
    A plan.

    Attributes:
        least: Number of evictions that any plan needs at least.
        certain: Whether no more evictions can be necessary.
        unknown: What the plan does not consider.
        notes: What the plan leaves out, or cannot rely on.
    """

    evictions: tuple[EvictionStep, ...]
    constraints: tuple[_ConstraintResult, ...]
    not_evicted: tuple[ImmovablePod, ...]
    least: int
    certain: bool
    unknown: tuple[str, ...]
    notes: tuple[PlanNote, ...]


def describe_plan(plan: RebalancePlan, unknown: tuple[str, ...] = ()) -> dict[str, object]:
    """Describe a plan as JSON's types."""
    document = _PlanDocument(
        plan.steps,
        tuple(map(_describe_goal, plan.goals)),
        plan.immovable,
        plan.least,
        plan.is_certain,
        unknown,
        plan.notes,
    )
    described: dict[str, object] = msgspec.json.decode(msgspec.json.encode(document))
    return described


def _describe_goal(result: GoalResult) -> _ConstraintResult:
    goal, spread = result.goal, result.goal.spread
    return _ConstraintResult(
        goal.pod.namespace,
        goal.workloads,
        spread.topology_key,
        spread.max_skew,
        spread.min_domains,
        spread.constraint.when_unsatisfiable,
        _count(result.before),
        _count(result.after),
        result.holds,
        result.obstacle,
        result.obstacle_domains,
    )


def _count(tally: PodTally) -> _ConstraintCount:
    pods = {value: tally.pods.get(value, 0) for value in sorted(tally.domains.sizes)}
    return _ConstraintCount(pods, tally.largest_skew)
