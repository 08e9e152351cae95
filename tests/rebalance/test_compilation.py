from msgspec.structs import replace

from tests.policy.placement.clusters import node, spread_over
from tests.rebalance.randomclusters import random_situation
from tests.rebalance.situations import (
    Situation,
    compile_situation,
    repel,
    resolve,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, LabelSelector
from webhook.rebalance.bounds import UNREACHABLE
from webhook.rebalance.cells import AMPLE
from webhook.rebalance.compilation import remove_pods
from webhook.rebalance.model import Eviction
from webhook.rebalance.pods import WorkloadPod
from webhook.rebalance.replay import find_candidates

HOSTS = zone_nodes("a", "b", nodes=2)
SOFT_BY_HOST = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)


def find_targets(situation: Situation, pod: str) -> set[str]:
    """The nodes that the model allows for the replacement of a pod."""
    compiled = compile_situation(situation)
    model, space = compiled.model, compiled.space
    one = next(one for one in situation.pods if one.pod.name == pod)
    kind = next(kind for (kind, _), pods in space.pods.members.items() if one in pods)
    cell = space.index[one.pod.node_name]
    canonical = model.start
    column = space.count_start()[cell]
    after = model.evict(canonical, Eviction(kind, model.find_cell(canonical, cell, column)))
    successor = model.kinds[kind].successor
    state = list(space.count_start())
    state[cell] = tuple(n - (k == kind) for k, n in enumerate(state[cell]))
    found = set[str]()
    for index, entered in enumerate(space.cells):
        trial = list(state)
        trial[index] = tuple(n + (k == successor) for k, n in enumerate(trial[index]))
        if model.canonical(tuple(trial)) in after:
            found |= {one.name for one in entered.nodes}
    return found


def test_the_model_places_a_replacement_where_all_filters_and_scores_do() -> None:
    compared = 0
    for seed in range(150):
        situation = random_situation(seed)
        for one in situation.pods:
            if one.obstacle is not None or situation.budgets:
                continue
            compared += 1
            rest = remove_pods(situation.cluster, [one])
            cells = compile_situation(situation).space
            chosen = find_candidates(one, rest)
            allowed = find_targets(situation, one.pod.name)
            # The model speaks of cells: it names all nodes of a cell, and of cells that are alike.
            groups = {cells.groups[cells.index[name]] for name in chosen}
            assert groups == {cells.groups[cells.index[name]] for name in allowed}, seed
            assert set(chosen) <= allowed, seed
    assert compared > 300


def test_hosts_are_scored_by_all_pods_that_they_have() -> None:
    other = workload_pod("x", "a2", workload="X/x").pod
    pods = web_pods({"a1": 1, "b1": 1}, SOFT_BY_HOST)

    assert find_targets(Situation(pods, HOSTS, others=[other]), "web-0") == {"a1", "b2"}


def test_pods_that_avoid_each_other_are_filtered_in_each_state() -> None:
    pods = web_pods({"a1": 1, "b1": 1}, anti_affinity=(repel(HOSTNAME, "web"),))

    assert find_targets(Situation(pods, HOSTS), "web-0") == {"a1", "a2"}


def test_nodes_that_the_system_defaults_score_without_a_zone() -> None:
    soft = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
    defaults = replace(resolve({"app": "web"}, soft), requires_keys=False)
    pods = [replace(one, spreads=defaults) for one in web_pods({"a1": 1, "a2": 1})]

    assert find_targets(Situation(pods, [*zone_nodes("a", nodes=2), node("x1")]), "web-0") == {"x1"}


def test_bounds_with_and_without_the_limits_of_the_cluster() -> None:
    compiled = compile_situation(Situation(web_pods({"a1": 3}), HOSTS, slots={"b1": 0, "b2": 0}))
    start = compiled.model.count_pods(compiled.model.start)

    assert [bound.bound(start[bound.counts]) for bound in compiled.bounds] == [UNREACHABLE]
    assert [bound.bound(start[bound.counts]) for bound in compiled.loose_bounds] == [1]


def test_the_domains_of_an_obstacle_have_the_values_of_the_topology_key() -> None:
    def name_domains(**slots: int) -> tuple[str, ...]:
        situation = Situation(web_pods({"a1": 3}), slots=slots)
        return compile_situation(situation).name_obstacle_domains(0)

    assert name_domains(b1=0) == ("b",)
    assert name_domains() == ()


def test_constraints_of_some_pods_only_do_not_limit_nodes() -> None:
    narrow = spread_over(label_selector=LabelSelector({"app": "db"}))
    db = workload_pod("db", "a1", [narrow], labels={"app": "db"}, workload="X/db")
    slots = {"a1": 3, "a2": 3}

    def frees(*pods: WorkloadPod) -> list[int]:
        listed = [*web_pods({"a1": 6}, spread_over(HOSTNAME)), *pods]
        space = compile_situation(Situation(listed, HOSTS, slots=slots)).space
        return [cell.free[0] for cell in space.cells][:2]

    assert frees() == [AMPLE, AMPLE]
    assert frees(db) == [3, 3]


def test_room_is_assumed_on_request() -> None:
    pods = web_pods({"a1": 3, "a2": 3, "b1": 9}, SOFT_BY_HOST)
    situation = Situation(pods, HOSTS, slots={"a1": 12})

    for assumes_room, free in ((True, AMPLE), (False, 12)):
        space = compile_situation(situation, assumes_room=assumes_room).space
        assert space.cells[space.index["a1"]].free == (free,)
