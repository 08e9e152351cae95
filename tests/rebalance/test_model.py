from msgspec.structs import replace

from tests.policy.placement.clusters import node, spread_over
from tests.rebalance.situations import (
    Situation,
    budget,
    compile_situation,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY
from webhook.policy.placement.filters.resources import Resources
from webhook.rebalance.model import Eviction, RebalanceModel, change_state

HOSTS = zone_nodes("a", "b", nodes=2)
BY_HOST = spread_over(HOSTNAME)


def model_of(situation: Situation, *, assumes_room: bool = False) -> RebalanceModel:
    return compile_situation(situation, assumes_room=assumes_room).model


def test_states_that_differ_by_an_exchange_of_cells_are_one() -> None:
    model = model_of(
        Situation(web_pods({"a1": 2, "a2": 1, "b1": 1}, spread_over(), BY_HOST), HOSTS)
    )

    assert model.start == ((1,), (2,), (0,), (1,))
    assert model.canonical(((2,), (1,), (1,), (0,))) == model.start
    assert model.find_cell(((2,), (1,), (1,), (0,)), 1, (2,)) == 0


def test_evictions_that_differ_by_an_exchange_are_one() -> None:
    pods = web_pods({"a1": 1, "a2": 1, "b1": 1, "b2": 0}, spread_over(), BY_HOST)
    model = model_of(Situation(pods, HOSTS))

    assert list(model.list_evictions(model.start)) == [Eviction(0, 0), Eviction(0, 3)]
    assert model.find_domain(0, Eviction(0, 3)) == 1
    assert model.counted_kinds(0) == {0}


def test_a_domain_counts_only_pods_that_its_constraint_selects() -> None:
    other = workload_pod("db", "b1", labels={"app": "db"}, workload="Deployment/db")
    model = model_of(Situation([*web_pods({"a1": 1}), other], HOSTS))

    assert sorted(model.find_domain(0, one) or 0 for one in model.list_evictions(model.start))
    domains = [model.find_domain(0, one) for one in model.list_evictions(model.start)]
    assert set(domains) == {0, None}


def test_the_states_after_an_eviction() -> None:
    model = model_of(Situation(web_pods({"a1": 3}, spread_over(max_skew=2))))

    assert model.start == ((0,), (0,), (3,))
    # Each zone may be chosen, also the one that the pod leaves; both others are alike.
    assert set(model.evict(model.start, Eviction(0, 2))) == {((0,), (1,), (2,))}
    before = model.work
    model.evict(model.start, Eviction(0, 2))
    assert model.work == before + 1


def test_an_eviction_after_which_the_replacement_has_no_node() -> None:
    model = model_of(Situation(web_pods({"a1": 3}), slots={"b1": 0}))

    assert [model.evict(model.start, one) for one in model.list_evictions(model.start)] == [
        (((1,), (0,), (2,)),)
    ]
    assert sorted(model.count_pods(model.start)[0]) == [0, 0, 3]
    full = model_of(Situation(web_pods({"a1": 3}), slots={"b1": 0, "c1": 0}))
    assert not full.evict(full.start, next(full.list_evictions(full.start)))


def test_a_node_with_room_for_some_pods() -> None:
    pods = web_pods({"a1": 4, "b1": 1}, spread_over(max_skew=9))
    model = model_of(Situation(pods, slots={"a1": 4, "b1": 1, "c1": 1}))

    def count_targets(column: tuple[int, ...]) -> int:
        cell = next(i for i, pods in enumerate(model.start) if pods == column)
        return len(model.evict(model.start, Eviction(0, cell)))

    # What leaves a1 may return or go to c1; what leaves b1 may go to b1 or c1, which are alike.
    assert (count_targets((4,)), count_targets((1,))) == (2, 1)


def test_nodes_without_the_topology_key_are_rejected() -> None:
    model = model_of(Situation(web_pods({"a1": 2}), [*zone_nodes("a", "b"), node("x1")]))

    after = model.evict(model.start, next(model.list_evictions(model.start)))

    assert [state[2] for state in after] == [(0,)]


def test_the_scheduler_chooses_among_the_best_scores() -> None:
    soft = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
    model = model_of(Situation(web_pods({"a1": 3, "b1": 1}, soft)))

    after = [model.evict(model.start, one) for one in model.list_evictions(model.start)]

    # A pod of b may go to b or c, which are equally empty then; they are alike.
    assert sorted(after) == [(((0,), (1,), (3,)),), (((1,), (1,), (2,)),)]


def test_pods_of_several_requests_share_the_room_of_a_node() -> None:
    big = workload_pod(
        "big", "a1", [spread_over()], workload="X/big", requests=Resources(milli_cpu=3)
    )
    small = workload_pod("small", "b1", [spread_over()], requests=Resources(milli_cpu=2))
    free = workload_pod("free", "b1", [spread_over()], workload="X/free")

    def count_targets(cpu: int) -> dict[str, int]:
        nodes = zone_nodes("a", "b")
        model = model_of(Situation([big, small, free], nodes, cpu={"b1": cpu}))
        return {
            model.kinds[one.kind].example.pod.name: len(model.evict(model.start, one))
            for one in model.list_evictions(model.start)
        }

    # Of the two pods of b each may return, or go to a; the pod of a may only return, by its zone.
    assert count_targets(4) == {"big": 1, "small": 2, "free": 2}
    # What requests nothing may return although the CPU of b1 is overcommitted.
    assert count_targets(1) == {"big": 1, "small": 1, "free": 2}


def test_pods_under_a_budget_go_when_others_have_recovered() -> None:
    pods = web_pods({"a1": 3})
    pods[0] = replace(pods[0], is_ready=False)
    model = model_of(Situation(pods, budgets=[budget(2, 2)]))
    unready = next(index for index, kind in enumerate(model.kinds) if not kind.is_ready)

    evictions = list(model.list_evictions(model.start))

    assert [one.kind for one in evictions] == [unready]
    (after, *_) = model.evict(model.start, evictions[0])
    assert {one.kind for one in model.list_evictions(after)} == {1 - unready}


def test_pods_under_several_budgets_or_a_strict_one_stay() -> None:
    for budgets in ([budget(0, 2), budget(1, 2)], [budget(2, 2)]):
        model = model_of(Situation(web_pods({"a1": 2}), budgets=budgets))

        assert not list(model.list_evictions(model.start))


def test_an_assumption_about_room_is_doubtful_once_a_node_comes_near_it() -> None:
    soft = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)
    slots = dict.fromkeys(("a1", "a2", "b1"), 6)
    pods = web_pods({"a1": 3, "a2": 3, "b1": 3, "b2": 3}, soft)
    situation = Situation(pods, HOSTS, slots=slots)
    compiled = compile_situation(situation, assumes_room=True)
    model, cell = compiled.model, compiled.space.index["a1"]

    model.evict(model.start, next(model.list_evictions(model.start)))
    assert not model.is_doubtful

    crowded = change_state(model.start, cell, 0, 6)
    model.evict(model.canonical(crowded), Eviction(0, compiled.space.index["b2"]))
    assert model.is_doubtful
