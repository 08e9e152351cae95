from collections.abc import Sequence

from tests.policy.placement.clusters import node, spread_over
from tests.rebalance.situations import (
    Situation,
    compile_situation,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, Node
from webhook.policy.placement.filters.filterpods import FilterPod, HostPort
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.nodes import Demands
from webhook.rebalance.cells import AMPLE, SPARE_PODS, StateSpace

HOSTS = zone_nodes("a", "b", nodes=2)
BY_HOST = spread_over(HOSTNAME)
SOFT_BY_HOST = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)


def space_of(situation: Situation, *, assumes_room: bool = False) -> StateSpace:
    return compile_situation(situation, assumes_room=assumes_room).space


def names(space: StateSpace) -> list[list[str]]:
    return [[one.name for one in cell.nodes] for cell in space.cells]


def frees(space: StateSpace) -> list[Sequence[int]]:
    return [cell.free for cell in space.cells]


def test_nodes_of_a_zone_are_one_cell() -> None:
    space = space_of(Situation(web_pods({"a1": 2, "a2": 1}), HOSTS))

    assert names(space) == [["a1", "a2"], ["b1", "b2"]]
    assert space.count_start() == ((3,), (0,))
    assert space.index == {"a1": 0, "a2": 0, "b1": 1, "b2": 1}
    assert [one.name for one in space.nodes] == ["a1", "b1"]


def test_zones_of_one_cell_are_alike() -> None:
    assert space_of(Situation(web_pods({"a1": 2}), HOSTS)).groups == (0, 0)


def test_zones_in_which_other_pods_count_are_not_alike() -> None:
    other = FilterPod(namespace="shop", labels={"app": "web"}, node_name="b2")

    assert space_of(Situation(web_pods({"a1": 2}), HOSTS, others=[other])).groups == (0, 1)


def test_hosts_are_alike_within_their_zone() -> None:
    space = space_of(Situation(web_pods({"a1": 2}, spread_over(), BY_HOST), HOSTS))

    assert len(space.cells) == 4
    assert space.groups == (0, 0, 1, 1)


def test_hosts_that_are_scored_by_the_other_pods_there_are_not_alike() -> None:
    other = FilterPod(namespace="shop", labels={"app": "web"}, node_name="a1")
    space = space_of(Situation(web_pods({"a2": 2}, SOFT_BY_HOST), HOSTS, others=[other]))

    assert space.groups == (0, 1, 1, 1)


def test_nodes_without_a_zone_are_a_cell() -> None:
    nodes: list[Node] = [*HOSTS, node("x1"), node("x2")]
    space = space_of(Situation(web_pods({"a1": 2}), nodes))

    assert names(space)[-1] == ["x1", "x2"]
    assert space.cells[-1].passes == (True,)


def test_nodes_that_a_replacement_cannot_enter_are_apart() -> None:
    pods = web_pods({"a1": 2}, demands=Demands(((HOSTNAME, "a1"),)))

    assert names(space_of(Situation(pods, HOSTS))) == [["a1"], ["a2"], ["b1", "b2"]]


def test_room_for_pods_adds_up_and_crowded_nodes_are_apart() -> None:
    pods = web_pods({"a1": 3}, spread_over(max_skew=3))
    space = space_of(Situation(pods, HOSTS, slots={"a1": 2, "b1": 1, "b2": 1}))

    assert names(space) == [["a1"], ["a2"], ["b1", "b2"]]
    assert frees(space) == [(2,), (AMPLE,), (2,)]


def test_room_is_counted_in_pods_of_equal_requests() -> None:
    pods = web_pods({"a1": 4}, requests=Resources(milli_cpu=3, scalars={"gpu": 1}))

    assert frees(space_of(Situation(pods, HOSTS, cpu={"b1": 10})))[1:] == [(0,), (AMPLE,)]


def test_room_for_pods_of_different_requests() -> None:
    other = workload_pod("big", "a1", [spread_over()], requests=Resources(milli_cpu=2))
    pods = [*web_pods({"a1": 2}, requests=Resources(milli_cpu=1)), other]
    space = space_of(Situation(pods, HOSTS, cpu={"b1": 5}))

    assert space.requests == ((1, 2, 0, 0), (1, 1, 0, 0))
    assert names(space) == [["a1", "a2"], ["b1"], ["b2"]]
    assert space.cells[1].free[1] == 5


def test_more_room_than_hard_constraints_use_is_no_limit() -> None:
    # A host has two pods at most when one more comes: the average, and maxSkew less one.
    slots = {"a1": 2, "a2": 3, "b1": 7}
    space = space_of(Situation(web_pods({"a1": 8}, BY_HOST), HOSTS, slots=slots))

    assert frees(space) == [(2,), (AMPLE,), (AMPLE,), (AMPLE,)]


def test_room_may_be_assumed_where_a_plan_is_unlikely_to_need_it() -> None:
    slots = {"a1": 4 + SPARE_PODS, "a2": 5 + SPARE_PODS, "b1": 3 + SPARE_PODS}
    pods = web_pods({"a1": 3, "a2": 3, "b2": 3}, SOFT_BY_HOST)
    space = space_of(Situation(pods, HOSTS, slots=slots), assumes_room=True)

    most = 3 + SPARE_PODS
    assert [(cell.free[0] == AMPLE, cell.ceiling) for cell in space.cells] == [
        (True, most),
        (True, most),
        (False, None),
        (True, None),
    ]


def test_nothing_is_alike_if_filters_look_at_the_pods() -> None:
    space = space_of(Situation(web_pods({"a1": 1}, ports=(HostPort("", "TCP", 80),)), HOSTS))

    assert (len(space.cells), space.groups) == (4, (0, 1, 2, 3))
