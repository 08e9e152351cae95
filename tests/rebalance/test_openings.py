from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import (
    Situation,
    compile_situation,
    repel,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE
from webhook.policy.placement.filters.resources import Resources
from webhook.rebalance.bounds import GoalBound
from webhook.rebalance.cells import State
from webhook.rebalance.compilation import CompiledPlan
from webhook.rebalance.model import change_state
from webhook.rebalance.openings import DomainOpenings, place_state
from webhook.rebalance.pods import WorkloadPod

SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)


def api_pod(on: str, **fields: Any) -> WorkloadPod:
    return workload_pod("api-0", on, workload="Deployment/api", labels={"app": "api"}, **fields)


def optional_of(compiled: CompiledPlan, goal: int = 0) -> set[str]:
    """The domains that may not count."""
    bound = compiled.bounds[goal]
    values = compiled.model.counts[bound.counts].values
    return {values[domain] for domain in bound.openings.optional}


def excess_at_start(compiled: CompiledPlan) -> int:
    bound, model = compiled.bounds[0], compiled.model
    return bound.find_least(model.count_pods(model.start)[bound.counts], model.start).total


def after_move(compiled: CompiledPlan, name: str, source: str, target: str) -> int:
    """The bound after a pod of another workload has moved."""
    model, space = compiled.model, compiled.space
    (kind,) = {kind for (kind, _), pods in space.pods.members.items() if pods[0].pod.name == name}
    state = change_state(space.count_start(), space.index[source], kind, -1)
    state = model.canonical(change_state(state, space.index[target], kind, 1))
    bound: GoalBound = compiled.bounds[0]
    return bound.find_least(model.count_pods(state)[bound.counts], state).total


def test_all_domains_count_for_a_hard_constraint() -> None:
    compiled = compile_situation(Situation(web_pods({"a1": 2}), slots={"c1": 0}))

    assert optional_of(compiled) == set()
    assert compiled.loose_bounds[0].openings.optional == set()


def test_a_domain_without_room_may_not_count_for_a_soft_constraint() -> None:
    compiled = compile_situation(Situation(web_pods({"a1": 2, "b1": 2}, SOFT), slots={"c1": 0}))

    assert optional_of(compiled) == {"c"}
    assert excess_at_start(compiled) == 0


def test_a_domain_that_counted_pods_never_leave_counts() -> None:
    bare = workload_pod("bare", "c1").pod
    situation = Situation(web_pods({"a1": 2, "b1": 2}, SOFT), others=[bare], slots={"c1": 0})

    assert optional_of(compile_situation(situation)) == set()


def test_another_workload_that_moves_may_take_the_room() -> None:
    pods = [*web_pods({"a1": 2, "b1": 2}, SOFT), api_pod("c1")]
    compiled = compile_situation(Situation(pods, slots={"c1": 1}))

    assert optional_of(compiled) == {"c"}
    assert excess_at_start(compiled) == 0
    assert after_move(compiled, "api-0", "c1", "a1") == 1


def rooms_at_start(situation: Situation) -> dict[str, int]:
    compiled = compile_situation(situation)
    bound, model = compiled.bounds[0], compiled.model
    counts = model.counts[bound.counts]
    rooms = bound.openings.find_rooms(model.start, counts.count_pods(model.start))
    return {counts.values[domain]: room for domain, room in rooms.items()}


def test_the_room_that_other_pods_may_take() -> None:
    pods = [*web_pods({"a1": 2, "b1": 1, "c1": 1}, SOFT), *(api_pod("c1") for _ in range(3))]

    assert rooms_at_start(Situation(pods, slots={"b1": 1, "c1": 5})) == {"b": 1}
    assert rooms_at_start(Situation(pods, slots={"b1": 3, "c1": 2})) == {"b": 3, "c": 0}


def test_one_pod_with_other_requests_may_take_the_room_of_a_node() -> None:
    large = Resources(milli_cpu=2)
    web = web_pods({"a1": 2, "b1": 1}, SOFT, requests=Resources(milli_cpu=1))
    nodes = zone_nodes("a", "b", "c", nodes=2)
    cpu = {"b1": 1, "b2": 2, "c1": 0, "c2": 3}

    pods = [*web, *(api_pod("c2", requests=large) for _ in range(2))]

    assert rooms_at_start(Situation(pods, nodes, cpu=cpu)) == {"b": 2, "c": 0}
    assert rooms_at_start(Situation(pods[:-1], nodes, cpu=cpu)) == {"c": 1}


def test_other_pods_may_close_any_domain_that_counted_pods_can_leave() -> None:
    def count(_: State, pods: Sequence[int]) -> Sequence[int]:
        return pods

    openings = DomainOpenings(frozenset({0, 1}), frozenset({1}), count)

    assert openings.find_rooms((), (3, 4)) == {1: 4}
    assert openings.without_limits.find_rooms((), (0, 0)) == {0: 0, 1: 0}
    assert openings.without({1}).optional == set()


def test_a_node_with_host_ports_of_another_workload() -> None:
    # Filters that look at other pods run again in each state.
    apart = (repel(ZONE, "api"),)
    pods = [*web_pods({"a1": 2}, SOFT, anti_affinity=apart), api_pod("c1")]
    compiled = compile_situation(Situation(pods, slots={"b1": 0}))

    assert optional_of(compiled) == {"a", "b", "c"}
    assert excess_at_start(compiled) == 0
    assert after_move(compiled, "api-0", "c1", "b1") == 1


def test_pods_that_repel_each_other() -> None:
    apart = (repel(HOSTNAME, "web"),)
    compiled = compile_situation(Situation(web_pods({"a1": 2}, SOFT, anti_affinity=apart)))

    assert optional_of(compiled) == {"a", "b", "c"}
    assert excess_at_start(compiled) == 1


def test_the_pods_of_a_state_are_placed() -> None:
    situation = Situation([replace(one, is_ready=False) for one in web_pods({"a1": 2, "b1": 1})])
    compiled = compile_situation(situation)

    cluster = place_state(compiled.space.count_start(), compiled.space, Situation([]).cluster)

    assert [cluster.placed.usage(name).pods for name in ("a1", "b1", "c1")] == [2, 1, 0]
