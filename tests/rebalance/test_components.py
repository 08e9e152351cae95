from typing import Any

from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import SHOP, Situation, web_pods, workload_pod, zone_nodes
from webhook.policy.model import LabelSelector
from webhook.policy.placement.filters.filterpods import HostPort
from webhook.policy.placement.filters.resources import Resources
from webhook.rebalance.components import (
    MOST_NODES,
    MOST_PODS,
    PlanComponent,
    WorkloadName,
    find_components,
    is_contended,
)
from webhook.rebalance.goals import find_goals
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod

A_B = zone_nodes("a", "b")


def app_pods(app: str, number: int, counted: str, **fields: Any) -> list[WorkloadPod]:
    """Pods whose constraint counts those of a label."""
    constraint = spread_over(label_selector=LabelSelector({counted: "yes"}))
    labels = {app: "yes", **({counted: "yes"} if counted else {})}
    return [
        workload_pod(
            f"{app}-{n}",
            "a1",
            [constraint] if counted else [],
            workload=f"Deployment/{app}",
            labels=labels,
            **fields,
        )
        for n in range(number)
    ]


def components_of(situation: Situation, *waiting: str) -> list[PlanComponent]:
    cluster, pods = situation.cluster, situation.pods
    goals = find_goals(pods, cluster.topology, cluster.placed.census)
    names = [WorkloadName(SHOP, f"Deployment/{app}") for app in waiting]
    return find_components(pods, pods, goals, cluster, names)


def workloads(situation: Situation, *waiting: str) -> list[tuple[set[str], int]]:
    return [
        ({one.workload.removeprefix("Deployment/") for one in pods}, len(goals))
        for pods, goals in components_of(situation, *waiting)
    ]


def test_workloads_that_count_each_others_pods_belong_together() -> None:
    pods = [*app_pods("web", 2, "front"), *app_pods("api", 2, "front"), *app_pods("db", 1, "db")]

    assert workloads(Situation(pods, A_B)) == [({"web", "api"}, 1), ({"db"}, 1)]


def test_workloads_without_goals_are_left_out() -> None:
    bare = replace(app_pods("db", 1, "db")[0], obstacle=EvictionObstacle.NO_CONTROLLER)

    assert workloads(Situation([*app_pods("job", 1, ""), bare], A_B)) == []
    assert components_of(Situation([], A_B)) == []


def test_workloads_of_a_small_cluster_that_compete_for_room_belong_together() -> None:
    pods = [*app_pods("web", 2, "web"), *app_pods("db", 1, "db"), *app_pods("job", 1, "")]
    tight = Situation(pods, A_B, slots={"b1": 2})

    assert workloads(tight) == [({"web", "db", "job"}, 2)]
    wide = [*A_B, *zone_nodes("c", nodes=MOST_NODES)]
    assert len(workloads(Situation(pods, wide, slots={"b1": 2}))) == 2
    many = [*pods, *app_pods("more", MOST_PODS, "")]
    assert len(workloads(Situation(many, A_B, slots={"b1": 2}))) == 2


def test_a_workload_that_waits_for_pods_keeps_only_those_that_count_them() -> None:
    pods = [*app_pods("web", 2, "front"), *app_pods("api", 2, "front"), *app_pods("db", 1, "db")]
    tight = Situation([*pods, *app_pods("job", 1, "")], A_B, slots={"b1": 1})

    assert workloads(tight, "web") == [({"web", "api"}, 1), ({"db", "job"}, 1)]


def contended(situation: Situation, number: int = 2) -> bool:
    return is_contended(situation.pods, number, situation.cluster)


def test_room_is_contended_if_a_node_cannot_take_all_pods_that_move() -> None:
    pods = web_pods({"a1": 2}, requests=Resources(milli_cpu=2, scalars={"gpu": 1}))
    free = web_pods({"a1": 2}, requests=Resources(milli_cpu=2))

    assert not contended(Situation(free, A_B))
    assert not contended(Situation(free, A_B, cpu={"b1": 4}))
    assert contended(Situation(free, A_B, cpu={"b1": 3}))
    assert contended(Situation(free, A_B, slots={"b1": 1}))
    assert contended(Situation(pods, A_B, cpu={"b1": 9}))


def test_room_is_contended_if_filters_look_at_other_pods() -> None:
    assert contended(Situation(web_pods({"a1": 2}, ports=(HostPort("", "TCP", 80),)), A_B))
