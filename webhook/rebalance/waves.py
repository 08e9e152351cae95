"""
The evictions of a plan that are made at the same time: ``choose_wave``.

``find_rolling`` finds what should keep a plan from being carried out.
"""

from collections.abc import Iterable, Sequence

from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.plan import RebalancePlan
from webhook.rebalance.pods import WorkloadPod
from webhook.rebalance.replay import EvictionStep


def choose_wave(
    plan: RebalancePlan,
    pods: Iterable[WorkloadPod],
    budgets: Sequence[PodDisruptionBudget],
    most: int,
) -> tuple[WorkloadPod, ...]:
    """
    Choose pods that may be evicted at the same time, in the order of the plan.

    They are of workloads that cannot affect each other, and no two have a PodDisruptionBudget in
    common, which may allow one disruption only.

    Args:
        pods: Those that were planned, with unique names in a namespace.
        most: Number of pods at most, at least 1.

    Returns:
        At least one pod if the plan has a step.
    """
    known = {(one.pod.namespace, one.pod.name): one for one in pods}
    used, chosen = set[int](), list[WorkloadPod]()
    for step in plan.wave:
        one = known[step.namespace, step.pod]
        selecting = {
            index
            for index, budget in enumerate(budgets)
            if budget.selects(step.namespace, one.pod.labels)
        }
        if used.isdisjoint(selecting):
            used |= selecting
            chosen.append(one)
    return tuple(chosen[:most])


def find_rolling(plan: RebalancePlan, pods: Iterable[WorkloadPod]) -> EvictionStep | None:
    """
    Find the first eviction whose workload rolls out a new revision; None if there is none.

    The rollout deletes old pods anyway, its new pods would be taken for replacements, and more pods
    would be unavailable than its ``maxUnavailable`` allows.
    """
    rolling = {(one.pod.namespace, one.workload) for one in pods if one.is_rolling}
    steps = (step for step in plan.steps if (step.namespace, step.workload) in rolling)
    return next(steps, None)
