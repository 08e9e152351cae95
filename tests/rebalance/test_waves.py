from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import Situation, budget, web_pods
from webhook.policy.model import LabelSelector
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.pods import WorkloadPod
from webhook.rebalance.waves import choose_wave, find_rolling


def uneven(app: str) -> list[WorkloadPod]:
    constraint = spread_over(label_selector=LabelSelector({"app": app}))
    pods = web_pods(
        {"a1": 3, "b1": 1, "c1": 1},
        constraint,
        workload=f"Deployment/{app}",
        labels={"app": app, "tier": "front"},
    )
    names = (f"{app}-{number}" for number in range(len(pods)))
    return [
        replace(
            one, pod=replace(one.pod, name=name), replacement=replace(one.replacement, name=name)
        )
        for one, name in zip(pods, names, strict=True)
    ]


PODS = [*uneven("web"), *uneven("api"), *uneven("db")]
EVERY = PodDisruptionBudget("shop", "every", LabelSelector({"tier": "front"}), 10, 15)


def wave(*budgets: PodDisruptionBudget, most: int = 5) -> list[str]:
    plan = Situation(PODS, budgets=list(budgets)).plan()
    return [one.pod.name for one in choose_wave(plan, PODS, budgets, most)]


def test_workloads_that_cannot_affect_each_other_are_evicted_at_the_same_time() -> None:
    assert wave() == ["web-0", "api-0", "db-0"]
    assert wave(budget(4, 5), budget(4, 5, "api")) == ["web-0", "api-0", "db-0"]


def test_a_wave_is_limited() -> None:
    assert wave(most=2) == ["web-0", "api-0"]


def test_no_two_pods_have_a_budget_in_common() -> None:
    assert wave(EVERY) == ["web-0"]


def test_a_plan_without_steps_has_no_wave() -> None:
    assert choose_wave(Situation([]).plan(), [], (), 5) == ()


def rolling(workload: str, namespace: str = "shop") -> str:
    """The pod whose eviction disturbs the rollout of a workload, which one of its pods shows."""
    index = next(at for at, one in enumerate(PODS) if one.workload == workload)
    shown = PODS[index]
    shown = replace(shown, is_rolling=True, pod=replace(shown.pod, namespace=namespace))
    step = find_rolling(Situation(PODS).plan(), [*PODS[:index], shown, *PODS[index + 1 :]])
    return step.pod if step else ""


def test_evictions_disturb_the_rollout_of_their_workload() -> None:
    assert rolling("Deployment/web") == "web-0"
    assert rolling("Deployment/db") == "db-0"
    assert rolling("Deployment/db", "other") == ""


def test_rollouts_of_workloads_without_evictions_are_not_disturbed() -> None:
    even = [replace(one, is_rolling=True) for one in web_pods({"a1": 1, "b1": 1, "c1": 1})]

    assert find_rolling(Situation(even).plan(), even) is None
