from typing import Any

from tests.conformance.__main__ import solver
from tests.conformance.comparison import differs
from webhook.policy.model import ZONE

Json = dict[str, Any]


def node(zone: str) -> Json:
    metadata = {"name": f"{zone}1", "labels": {ZONE: zone}}
    return {"metadata": metadata, "status": {"allocatable": {"pods": "10"}}}


def pod(number: int, zone: str, when: str = "DoNotSchedule", key: str = ZONE) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9c", "controller": True}
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return {
        "metadata": {
            "name": f"web-5d9c-{number}",
            "namespace": "shop",
            "labels": {"app": "web", "pod-template-hash": "5d9c"},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": f"{zone}1", "topologySpreadConstraints": [constraint]},
    }


def case_of(*pods: Json, **cluster: Any) -> Json:
    nodes = [node(zone) for zone in "abc"]
    return {"namespace": "shop", "cluster": {"nodes": nodes, "pods": list(pods), **cluster}}


CASE = case_of(*(pod(number, "a" if number < 5 else "b") for number in range(7)))
PLANNED = {
    "evictions": [{"namespace": "shop", "name": f"web-5d9c-{number}"} for number in range(2)],
    "after": {"Deployment/web": {ZONE: {"a": 3, "b": 2, "c": 2}}},
}


def test_the_evictions_and_the_pods_of_each_domain_after_them() -> None:
    assert solver("rebalance")(CASE) == PLANNED


def test_a_budget_may_allow_no_eviction() -> None:
    budget = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0},
    }
    cluster = CASE["cluster"] | {"podDisruptionBudgets": [budget]}

    assert solver("rebalance")(CASE | {"cluster": cluster})["evictions"] == []


def test_pods_without_constraints_follow_the_defaults_of_the_scheduler() -> None:
    bare = pod(0, "a") | {"spec": {"nodeName": "a1"}}
    services = [
        {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"app": "web"}}}
    ]

    assert solver("rebalance")(case_of(bare, services=services)) == {"evictions": [], "after": {}}


def test_constraints_of_pods_that_no_plan_evicts_are_no_part_of_the_answer() -> None:
    bare = pod(0, "a")
    del bare["metadata"]["ownerReferences"]
    other = pod(1, "a")
    del other["metadata"]["ownerReferences"]

    assert solver("rebalance")(case_of(bare, other)) == {"evictions": [], "after": {}}


def test_of_two_constraints_with_the_same_key_the_hard_one_is_shown() -> None:
    first, second = pod(0, "a", "ScheduleAnyway"), pod(1, "a")
    both = [one["spec"]["topologySpreadConstraints"][0] for one in (first, second)]
    second["spec"]["topologySpreadConstraints"] = both

    assert solver("rebalance")(case_of(second))["after"] == {
        "Deployment/web": {ZONE: {"a": 1, "b": 0, "c": 0}}
    }


def test_plans_are_compared_by_the_number_of_their_evictions() -> None:
    other = PLANNED | {"evictions": [{"namespace": "shop", "name": "x"}] * 2}

    assert not differs(CASE | {"expect": PLANNED}, other)
    assert differs(CASE | {"expect": PLANNED}, PLANNED | {"evictions": []})
