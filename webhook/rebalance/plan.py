"""
The plan that restores the spread of workloads: ``plan_rebalance``.

``RebalancePlan`` is a value; nothing here evicts.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.leastskew import LeastSkew
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.tallies import PodTally
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.compilation import CompiledPlan, compile_model
from webhook.rebalance.components import (
    PlanComponent,
    WorkloadName,
    find_components,
    is_contended,
    name_workload,
)
from webhook.rebalance.goals import (
    GoalFailure,
    GoalObstacle,
    SpreadGoal,
    find_excess,
    find_failure,
    find_fixed_goals,
    find_goals,
)
from webhook.rebalance.kinds import NEVER, find_budget, find_families, find_label_keys
from webhook.rebalance.notes import PlanNote, find_notes
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod, renew_claims
from webhook.rebalance.replay import EvictionStep, replay
from webhook.rebalance.search import SearchProblem
from webhook.rebalance.solution import Solution, solve


class GoalResult(msgspec.Struct, frozen=True):
    """
    A constraint before and after a plan.

    Attributes:
        obstacle: Why no plan makes it hold whatever the scheduler chooses; None if this one does.
        obstacle_domains: The domains in which the obstacle is; empty if it is in none.
        least: The least skew that a hard constraint allows, if that is the obstacle.
    """

    goal: SpreadGoal
    before: PodTally
    after: PodTally
    obstacle: GoalObstacle | None = None
    obstacle_domains: tuple[str, ...] = ()
    least: LeastSkew | None = None

    @property
    def holds(self) -> bool:
        """Whether it holds after the steps of the plan, by chance if there is an obstacle."""
        return not find_excess(self.after)


class ImmovablePod(msgspec.Struct, frozen=True):
    """
    A pod in the scope that is not evicted.

    Attributes:
        workload: Empty without a controller.
        budgets: Names of the PodDisruptionBudgets that prevent it; empty for another obstacle.
    """

    namespace: str
    pod: str
    workload: str
    obstacle: EvictionObstacle
    budgets: tuple[str, ...] = ()


class RebalancePlan(msgspec.Struct, frozen=True):
    """
    The evictions after which constraints hold, one after another.

    Attributes:
        goals: Those of pods that may be evicted, and those of other pods that do not hold after it.
        steps: In order; the next pod is evicted when the replacement of the last one is ready.
        least: Number of evictions that any plan for the constraints that hold in the end needs at
            least in the worst case, as far as is proven.
        is_certain: Whether it is proven that these constraints hold after no more evictions than
            these, whatever the scheduler chooses, if the plan is made again after each of them.
        wave: The steps that may be made at the same time: the first one of each set of workloads
            that cannot affect each other. Empty without steps.
        is_complete: Whether all objects of the cluster were read; otherwise nothing is proven.
        notes: What the plan leaves out, or cannot rely on.
    """

    steps: tuple[EvictionStep, ...]
    goals: tuple[GoalResult, ...]
    immovable: tuple[ImmovablePod, ...]
    least: int
    is_certain: bool
    wave: tuple[EvictionStep, ...] = ()
    is_complete: bool = True
    notes: tuple[PlanNote, ...] = ()

    @property
    def restores_all(self) -> bool:
        """Whether all constraints hold after the steps."""
        return all(result.holds for result in self.goals)

    @property
    def is_least(self) -> bool:
        """Whether it is proven that no plan has fewer evictions in the worst case."""
        return self.is_complete and len(self.steps) == self.least

    def without_proof(self) -> "RebalancePlan":
        """Return the plan of a cluster of which some objects could not be read."""
        return replace(self, least=0, is_certain=False, is_complete=False)


class _Part(msgspec.Struct, frozen=True):
    """
    The result for one component.

    Attributes:
        failures: Index of a goal that is not reached -> why.
        least: Proven number of evictions if no other pods move.
        loose_least: The same whatever other pods do.
    """

    steps: tuple[EvictionStep, ...] = ()
    failures: Mapping[int, GoalFailure] = {}
    least: int = 0
    loose_least: int = 0
    is_proven: bool = True


def plan_rebalance(
    cluster: SchedulingCluster,
    pods: Sequence[WorkloadPod],
    budgets: Sequence[PodDisruptionBudget] = (),
) -> RebalancePlan:
    """
    Find the fewest evictions after which the constraints of workloads hold.

    Args:
        cluster: With all pods that have a node, of all workloads.
        pods: The pods in the scope, in any order; their constraints are to hold, and they may be
            evicted. Pods on unknown nodes are left alone.
    """
    before = renew_claims(cluster, pods)
    placed = [one for one in pods if one.pod.node_name in before.nodes]
    keys = find_label_keys(placed, before)
    families = list(find_families(placed, keys))
    goals = find_goals(families, before.topology, before.placed.census)
    movable = [one for one in placed if one.is_spread]
    waiting = _find_waiting(pods)
    components = find_components(movable, families, goals, before, waiting)
    working = dataclasses.replace(before, placed=before.placed.copy())
    parts = [_plan_component(one, working, budgets, waiting) for one in components]
    steps = tuple(step for part in parts for step in part.steps)
    failures = {
        id(goal): part.failures[index]
        for component, part in zip(components, parts, strict=True)
        for index, goal in enumerate(component.goals)
        if index in part.failures
    }
    results = [_compare(goal, before, working, failures.get(id(goal))) for goal in goals]
    for goal in find_fixed_goals(families, before.topology, before.placed.census):
        result = _compare(goal, before, working, GoalFailure(GoalObstacle.NO_EVICTIONS))
        if not result.holds:
            results.append(result)
    # Workloads that are planned one after another may help, or hinder, each other for room.
    is_alone = any(len(component.pods) == len(movable) for component in components)
    is_idle = not any(part.steps or part.failures for part in parts)
    is_apart = is_alone or is_idle or not is_contended(movable, len(steps) + 1, before)
    return RebalancePlan(
        steps,
        tuple(results),
        tuple(_list_immovable(placed, budgets, results)),
        sum(part.least if is_apart else part.loose_least for part in parts),
        is_certain=is_apart and all(part.is_proven for part in parts),
        wave=tuple(part.steps[0] for part in parts if part.steps) if is_apart else steps[:1],
        notes=find_notes(pods, [(one.goal, one.before) for one in results], before, budgets),
    )


def _find_waiting(pods: Iterable[WorkloadPod]) -> dict[WorkloadName, GoalObstacle]:
    """Find the workloads of which pods are still to be placed, and may make them even."""
    spread = [one for one in pods if one.is_spread]
    missing = {name_workload(one): GoalObstacle.MISSING_PODS for one in spread if one.missing > 0}
    pending = {
        name_workload(one): GoalObstacle.PENDING_PODS for one in spread if not one.pod.node_name
    }
    return missing | pending


def _compare(
    goal: SpreadGoal,
    before: SchedulingCluster,
    after: SchedulingCluster,
    failure: GoalFailure | None,
) -> GoalResult:
    first, last = goal.tally_open(before), goal.tally_open(after)
    return GoalResult(goal, first, last, *failure) if failure else GoalResult(goal, first, last)


def _plan_component(
    component: PlanComponent,
    cluster: SchedulingCluster,
    budgets: Sequence[PodDisruptionBudget],
    waiting: Mapping[WorkloadName, GoalObstacle],
) -> _Part:
    """Plan some workloads, and move the pods of the cluster along."""
    pods, goals = component
    excess = [find_excess(goal.tally_open(cluster)) for goal in goals]
    broken = [index for index, number in enumerate(excess) if number]
    if not broken:
        return _Part()
    obstacle = next(filter(None, (waiting.get(name_workload(one)) for one in pods)), None)
    if obstacle is not None:
        return _Part(failures=dict.fromkeys(broken, GoalFailure(obstacle)))
    compiled, solution = _search(component, cluster, budgets, excess)
    attempt, reached, obstacles = solution
    loose = SearchProblem(compiled.model, [compiled.loose_bounds[goal] for goal in reached])
    failures = {
        goal: find_failure(goals[goal], obstacle, compiled.name_obstacle_domains(goal), cluster)
        for goal, obstacle in obstacles.items()
    }
    part = _Part(
        tuple(replay(compiled, attempt.strategy or {}, cluster)),
        failures,
        attempt.bound,
        loose.bound(compiled.model.start),
        attempt.is_proven,
    )
    return _doubt(part, pods)


def _search(
    component: PlanComponent,
    cluster: SchedulingCluster,
    budgets: Sequence[PodDisruptionBudget],
    excess: Sequence[int],
) -> tuple[CompiledPlan, Solution]:
    """Find the strategy for the goals; again if it came to nodes whose room was assumed."""
    pods, goals = component
    hard = [goal.is_hard for goal in goals]
    order = sorted(range(len(goals)), key=lambda index: (not hard[index], excess[index] > 0))
    compiled = compile_model(pods, goals, cluster, budgets, assumes_room=True)
    solution = solve(compiled, hard, order)
    if compiled.model.is_doubtful:
        compiled = compile_model(pods, goals, cluster, budgets, assumes_room=False)
        solution = solve(compiled, hard, order)
    return compiled, solution


def _doubt(part: _Part, pods: Iterable[WorkloadPod]) -> _Part:
    """Withdraw what is proven of a part, as far as its pods may not do what the model assumes."""
    # By a template that differs from its pods, other nodes than foreseen may take the replacements.
    # A controller with more pods than replicas creates none. A constraint fails nevertheless.
    if any(one.differences or one.is_surplus for one in pods):
        least, loose_least = min(1, part.least), min(1, part.loose_least)
        return replace(part, least=least, loose_least=loose_least, is_proven=False)
    if any(one.may_be_ranked_otherwise for one in pods):
        return replace(part, least=part.loose_least, is_proven=False)
    return part


def _list_immovable(
    pods: Iterable[WorkloadPod],
    budgets: Sequence[PodDisruptionBudget],
    results: Sequence[GoalResult],
) -> Iterator[ImmovablePod]:
    """Yield the pods that are not evicted, as far as constraints that do not hold count them."""
    missed = [result.goal for result in results if result.obstacle is not None]
    for one in pods:
        obstacle = one.obstacle or _find_obstacle(one, budgets)
        if obstacle is not None and any(goal.counts(one.pod) for goal in missed):
            names = () if one.obstacle else _name_budgets(one, budgets)
            yield ImmovablePod(one.pod.namespace, one.pod.name, one.workload, obstacle, names)


def _name_budgets(one: WorkloadPod, budgets: Sequence[PodDisruptionBudget]) -> tuple[str, ...]:
    found = (other for other in budgets if other.selects(one.pod.namespace, one.pod.labels))
    return tuple(other.name for other in found)


def _find_obstacle(
    one: WorkloadPod, budgets: Sequence[PodDisruptionBudget]
) -> EvictionObstacle | None:
    index = find_budget(one, budgets)
    if index is None:
        return None
    if index == NEVER:
        return EvictionObstacle.MANY_BUDGETS
    allows = budgets[index].allows(0, is_ready=one.is_ready)
    return None if allows else EvictionObstacle.BUDGET
