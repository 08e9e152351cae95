from msgspec.structs import replace

from tests.policy.placement.clusters import GPU, node, spread_over
from tests.rebalance.situations import (
    Situation,
    budget,
    compile_situation,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.model import SCHEDULE_ANYWAY, ZONE
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.nodes import Demands
from webhook.rebalance.model import find_evictable
from webhook.rebalance.ranges import DomainRange, find_range

A_B = zone_nodes("a", "b")


def range_of(situation: Situation) -> DomainRange:
    compiled = compile_situation(situation)
    evictable = find_evictable(compiled.space.pods, situation.budgets)
    return find_range(compiled.model.counts[0], compiled.space, evictable)


def test_the_range_of_each_domain() -> None:
    pods = [*web_pods({"a1": 3}), workload_pod("web-9", "b1", [spread_over()])]

    assert range_of(Situation(pods, A_B, slots={"b1": 2})) == DomainRange(
        (0, 0), (4, 2), 4, is_closed=True
    )


def test_pods_under_a_budget_stay() -> None:
    found = range_of(Situation(web_pods({"a1": 3}), A_B, budgets=[budget(3, 3)]))

    assert found.least == (3, 0)


def test_domains_that_take_no_pods_keep_those_that_they_have() -> None:
    pods = web_pods({"a1": 3, "b1": 2})
    nodes = [node("a1", "a"), node("b1", "b", taints=[GPU])]

    assert range_of(Situation(pods, nodes)).most == (5, 2)


def test_a_domain_has_no_more_pods_than_may_enter_it() -> None:
    counting = spread_over(node_affinity_policy="Ignore")
    in_a, in_b = (Demands(pairs=((ZONE, zone),)) for zone in "ab")
    open_to_a = web_pods({"a1": 2}, counting, demands=in_a)
    open_to_b = workload_pod("web-9", "b1", [counting], demands=in_b)

    assert range_of(Situation([*open_to_a, open_to_b], A_B)).most == (2, 1)


def test_pods_on_nodes_that_do_not_count_may_come_in_and_go_out() -> None:
    honoring = spread_over(node_taints_policy="Honor", when_unsatisfiable=SCHEDULE_ANYWAY)
    tainted = [*A_B, node("c1", "c", taints=[GPU])]
    outside = web_pods({"a1": 1, "c1": 2}, honoring)
    inside = web_pods({"a1": 1, "b1": 2}, honoring)
    unzoned = web_pods({"a1": 1}, spread_over(when_unsatisfiable=SCHEDULE_ANYWAY))

    assert range_of(Situation(outside, tainted)).total == 3
    assert not range_of(Situation(outside, tainted)).is_closed
    assert range_of(Situation(inside, tainted)).is_closed
    assert not range_of(Situation(unzoned, [*A_B, node("x1")])).is_closed


def test_resized_pods_take_other_room_than_their_replacements() -> None:
    large = Resources(milli_cpu=2)
    pods = [
        replace(one, replacement=replace(one.replacement, requests=large))
        for one in web_pods({"a1": 4, "b1": 4}, requests=Resources(milli_cpu=1))
    ]

    assert range_of(Situation(pods, A_B, cpu={"b1": 6})).most[1] == 6


def reach(least: tuple[int, ...], most: tuple[int, ...], *, is_closed: bool = True) -> DomainRange:
    return DomainRange(least, most, 10, is_closed=is_closed)


def test_the_pods_that_every_domain_can_have() -> None:
    assert reach((0, 0, 0), (1, 1, 1)).find_minimum() == 3
    assert reach((6, 0, 0), (9, 9, 9)).find_minimum() == 2
    assert reach((6, 0), (9, 9)).find_minimum(others=1) == 2
    assert reach((), ()).find_minimum() == 10


def test_the_least_pods_of_the_fullest_domain() -> None:
    assert reach((0, 0), (9, 9)).find_limit() == 5
    assert reach((0, 0), (9, 2)).find_limit() == 8
    assert reach((0, 0), (4, 2)).find_limit() == 11
    assert reach((0, 0), (9, 2), is_closed=False).find_limit() == 0


def test_a_range_of_some_domains() -> None:
    assert reach((0, 1, 2), (3, 4, 5)).keep([2, 0]) == reach((2, 0), (5, 3))


def test_a_range_without_limits() -> None:
    assert reach((1, 2), (3, 4)).without_limits == reach((0, 0), (10, 10), is_closed=False)
