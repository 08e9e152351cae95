"""Conformance cases of rebalance: the evictions after which the constraints of workloads hold."""

import msgspec

from tests.conformance.case import Answer, Case
from tests.conformance.cluster import RecordedFacts
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.workloads import WorkloadObjects, read_scope
from webhook.policy.api import gates
from webhook.policy.api.versions import parse_version
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS
from webhook.policy.defaulting.selector import derive_selector
from webhook.policy.placement.spreads import DefaultConstraints
from webhook.policy.placement.tallies import PodTally
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.plan import RebalancePlan, plan_rebalance

NEWEST = "1.36"  # what a case without a version is planned for


def answer(case: Case) -> Answer:
    """
    Answer one case.

    Args:
        case: ``cluster``, ``namespace`` of the workloads (empty or absent for all), and perhaps
            ``kubernetes``.

    Returns:
        ``evictions`` in order; a pod that is evicted again has the name of the one it replaced.
        ``after``: for each workload and each topology key of its constraints, the counted pods.
    """
    version = parse_version(case.get("kubernetes", NEWEST))
    facts = RecordedFacts(case["cluster"])

    def find_defaults(pod: ApiPod) -> DefaultConstraints:
        namespace = pod.metadata.namespace if pod.metadata else ""
        derived = derive_selector(pod, namespace, facts)
        selector = derived.selector if derived else None
        return DefaultConstraints(SYSTEM_CONSTRAINTS, selector, system=True)

    scope = read_scope(
        msgspec.convert(case["cluster"], WorkloadObjects),
        gates.resolve(version, {}),
        case.get("namespace") or "",
        find_defaults,
    )
    plan = plan_rebalance(scope.cluster, scope.pods, scope.budgets)
    return {
        "evictions": [{"namespace": step.namespace, "name": step.pod} for step in plan.steps],
        "after": _list_counts(plan),
    }


def _list_counts(plan: RebalancePlan) -> dict[str, dict[str, dict[str, int]]]:
    """List the counts after the plan; of two constraints with the same key, those of a hard one."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    planned = [one for one in plan.goals if one.obstacle is not GoalObstacle.NO_EVICTIONS]
    for result in sorted(planned, key=lambda one: not one.goal.is_hard):
        for workload in result.goal.workloads:
            keys = found.setdefault(workload, {})
            keys.setdefault(result.goal.spread.topology_key, _count(result.after))
    return found


def _count(tally: PodTally) -> dict[str, int]:
    return {value: tally.pods.get(value, 0) for value in sorted(tally.domains.sizes)}
