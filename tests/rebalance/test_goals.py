import pytest
from msgspec.structs import replace

from tests.policy.placement.clusters import GPU, node, spread_over
from tests.rebalance.situations import Situation, resolve, web_pods, workload_pod, zone_nodes
from webhook.policy.advice.leastskew import LeastSkew
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, LabelSelector
from webhook.policy.placement.census import Census
from webhook.rebalance.goals import (
    GoalFailure,
    GoalObstacle,
    SpreadGoal,
    find_excess,
    find_failure,
    find_fixed_goals,
    find_foreign,
    find_goals,
    shares_goal,
)
from webhook.rebalance.pods import EvictionObstacle

SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)


def goals_of(situation: Situation) -> tuple[SpreadGoal, ...]:
    cluster = situation.cluster
    return find_goals(situation.pods, cluster.topology, cluster.placed.census)


def fixed_goals_of(situation: Situation) -> tuple[SpreadGoal, ...]:
    cluster = situation.cluster
    return find_fixed_goals(situation.pods, cluster.topology, cluster.placed.census)


def foreign_of(situation: Situation) -> tuple[str, ...]:
    cluster = situation.cluster
    return find_foreign(situation.pods, cluster.topology, cluster.placed.census)


def test_equal_constraints_of_workloads_are_one_goal() -> None:
    pods = [
        *web_pods({"a1": 2}, spread_over(), SOFT),
        workload_pod("web-9", "b1", [spread_over()], workload="StatefulSet/web"),
    ]

    assert [(goal.workloads, goal.is_hard) for goal in goals_of(Situation(pods))] == [
        (("Deployment/web", "StatefulSet/web"), True),
        (("Deployment/web",), False),
    ]


def test_a_soft_goal_counts_only_domains_that_its_pods_can_go_to() -> None:
    nodes = [*zone_nodes("a", "b"), node("c1", "c", taints=[GPU])]
    hard, soft = goals_of(Situation(web_pods({"a1": 1}, spread_over(), SOFT), nodes))
    cluster = Situation([], nodes).cluster

    sizes = [goal.tally(cluster.topology, Census()).domains.sizes.keys() for goal in (hard, soft)]
    assert sizes == [{"a", "b", "c"}, {"a", "b"}]


def test_an_empty_domain_without_room_does_not_count_for_a_soft_goal() -> None:
    situation = Situation(web_pods({"a1": 1}, spread_over(), SOFT), slots={"a1": 1, "b1": 0})
    hard, soft = goals_of(situation)

    assert hard.tally_open(situation.cluster).domains.sizes.keys() == {"a", "b", "c"}
    assert soft.tally_open(situation.cluster).domains.sizes.keys() == {"a", "c"}


def test_a_soft_goal_whose_domains_are_all_open_is_tallied_as_it_is() -> None:
    situation = Situation(web_pods({"a1": 1, "b1": 1, "c1": 1}, SOFT), slots={"b1": 1})
    cluster = situation.cluster
    (goal,) = goals_of(situation)

    assert goal.tally_open(cluster) == goal.tally(cluster.topology, cluster.placed.census)


def test_pods_that_share_a_goal() -> None:
    situation = Situation(web_pods({"a1": 1}, SOFT))
    (goal,) = goals_of(situation)
    topology, census = situation.cluster.topology, situation.cluster.placed.census
    other = workload_pod("web-9", "b1", [SOFT], workload="StatefulSet/web")
    hard = workload_pod("web-8", "b1", [spread_over()])

    assert shares_goal(other, goal, topology, census)
    assert not shares_goal(hard, goal, topology, census)


def test_constraints_that_are_no_goals() -> None:
    foreign = spread_over(label_selector=LabelSelector({"app": "api"}))
    default = replace(resolve({"app": "web"}, SOFT), requires_keys=False)
    hard_default = replace(resolve({"app": "web"}, spread_over()), requires_keys=False)
    one = workload_pod("web-0", "a1", [foreign])

    assert not goals_of(Situation([one]))
    assert not goals_of(Situation([replace(one, spreads=default)]))
    assert len(goals_of(Situation([replace(one, spreads=hard_default)]))) == 1
    bare = workload_pod("web-0", "a1", [SOFT], obstacle=EvictionObstacle.NO_CONTROLLER)
    assert not goals_of(Situation([bare]))
    assert not fixed_goals_of(Situation([bare]))


@pytest.mark.parametrize(
    ("obstacle", "is_goal"),
    [
        (EvictionObstacle.NO_CONTROLLER, True),
        (EvictionObstacle.JOB, True),
        (EvictionObstacle.DAEMON_SET, True),
        (EvictionObstacle.GROUP, True),
        (EvictionObstacle.REVISION, True),
        (EvictionObstacle.STATIC, False),
        (EvictionObstacle.TERMINATING, False),
    ],
)
def test_hard_constraints_of_pods_that_no_plan_evicts(
    obstacle: EvictionObstacle, is_goal: bool
) -> None:
    pods = web_pods({"a1": 3}, spread_over(), SOFT, workload="", obstacle=obstacle)

    found = fixed_goals_of(Situation(pods))

    assert [(goal.workloads, goal.is_hard) for goal in found] == [((), True)] * is_goal
    assert not fixed_goals_of(Situation([*pods, *web_pods({"b1": 1})]))


def test_hard_constraints_that_count_only_other_pods() -> None:
    foreign = spread_over(label_selector=LabelSelector({"app": "api"}))
    pods = [
        *web_pods({"a1": 2}, foreign, spread_over(label_selector=LabelSelector({"app": "db"}))),
        workload_pod("solo", "a1", [foreign], workload="", obstacle=EvictionObstacle.NO_CONTROLLER),
        workload_pod("api-0", "a1", [foreign], workload="Deployment/api", labels={"app": "api"}),
    ]
    more = workload_pod("api-1", "a1", [], workload="Deployment/api", labels={"app": "api"})

    assert foreign_of(Situation(pods)) == ()
    assert foreign_of(Situation([*pods, more])) == ("Deployment/web in shop", "solo in shop")


def test_the_excess_of_a_goal_and_the_pods_that_it_counts() -> None:
    situation = Situation(web_pods({"a1": 3}, spread_over(max_skew=2), SOFT))
    census, topology = situation.cluster.placed.census, situation.cluster.topology

    assert [find_excess(goal.tally(topology, census)) for goal in goals_of(situation)] == [1, 2]
    goal = goals_of(situation)[0]
    assert goal.counts(situation.pods[0].pod)
    assert not goal.counts(replace(situation.pods[0].pod, namespace="other"))
    assert not goal.counts(replace(situation.pods[0].pod, labels={}))


UNEVEN = [node("a1", "a"), *(node(name, "b") for name in ("b1", "b2", "b3"))]
BY_HOST = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)


def test_the_least_skew_of_a_soft_goal_beside_a_hard_one() -> None:
    pods = web_pods({"a1": 3, "b1": 1, "b2": 1, "b3": 1}, spread_over(), BY_HOST)
    full = Situation(
        web_pods({"a1": 1, "b1": 2}, spread_over(), BY_HOST), UNEVEN, slots={"b2": 0, "b3": 0}
    )

    least = [
        [goal.find_least(one.cluster) for goal in goals_of(one)]
        for one in (Situation(pods, UNEVEN), full)
    ]

    assert least == [[None, LeastSkew(2, ZONE)], [None, None]]


@pytest.mark.parametrize(
    ("obstacle", "is_hard"),
    [
        (GoalObstacle.SCORES, True),
        (GoalObstacle.UNKNOWN, True),
        (GoalObstacle.NO_NODES, False),
        (GoalObstacle.CONFLICT, False),
    ],
)
def test_a_hard_constraint_is_the_cause_where_the_search_found_no_certain_one(
    obstacle: GoalObstacle, *, is_hard: bool
) -> None:
    pods = web_pods({"a1": 3, "b1": 1, "b2": 1, "b3": 1}, spread_over(), BY_HOST)
    situation = Situation(pods, UNEVEN)
    hard, soft = goals_of(situation)

    by_hard = GoalFailure(GoalObstacle.HARD_CONSTRAINT, (), LeastSkew(2, ZONE))
    unchanged = GoalFailure(obstacle, ("b",))
    found = find_failure(soft, obstacle, ("b",), situation.cluster)
    assert found == (by_hard if is_hard else unchanged)
    assert find_failure(hard, obstacle, ("b",), situation.cluster) == unchanged
