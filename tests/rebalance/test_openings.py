from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import (
    Situation,
    compile_situation,
    repel,
    web_pods,
    workload_pod,
)
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE
from webhook.rebalance.bounds import GoalBound
from webhook.rebalance.compilation import CompiledPlan
from webhook.rebalance.model import change_state
from webhook.rebalance.openings import place_state
from webhook.rebalance.pods import WorkloadPod

SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)


def api_pod(on: str) -> WorkloadPod:
    return workload_pod("api-0", on, workload="Deployment/api", labels={"app": "api"})


def optional_of(compiled: CompiledPlan, goal: int = 0) -> set[str]:
    """The domains that may not count."""
    bound = compiled.bounds[goal]
    values = compiled.model.counts[bound.counts].values
    return {values[domain] for domain in bound.openings.optional}


def excess_at_start(compiled: CompiledPlan) -> int:
    bound, model = compiled.bounds[0], compiled.model
    return bound.bound(model.count_pods(model.start)[bound.counts], model.start)


def after_move(compiled: CompiledPlan, name: str, source: str, target: str) -> int:
    """The bound after a pod of another workload has moved."""
    model, space = compiled.model, compiled.space
    (kind,) = {kind for (kind, _), pods in space.pods.members.items() if pods[0].pod.name == name}
    state = change_state(space.count_start(), space.index[source], kind, -1)
    state = model.canonical(change_state(state, space.index[target], kind, 1))
    bound: GoalBound = compiled.bounds[0]
    return bound.bound(model.count_pods(state)[bound.counts], state)


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
