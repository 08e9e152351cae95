"""The evictions of a plan that are made at the same time: ``choose_wave``."""

from collections.abc import Iterable, Sequence

from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.plan import RebalancePlan
from webhook.rebalance.pods import WorkloadPod


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
