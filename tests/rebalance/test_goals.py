from msgspec.structs import replace

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import Situation, resolve, web_pods, workload_pod
from webhook.policy.model import SCHEDULE_ANYWAY, LabelSelector
from webhook.rebalance.goals import SpreadGoal, find_excess, find_goals
from webhook.rebalance.pods import EvictionObstacle

SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)


def goals_of(situation: Situation) -> tuple[SpreadGoal, ...]:
    cluster = situation.cluster
    return find_goals(situation.pods, cluster.topology, cluster.placed.census)


def test_equal_constraints_of_workloads_are_one_goal() -> None:
    pods = [
        *web_pods({"a1": 2}, spread_over(), SOFT),
        workload_pod("web-9", "b1", [spread_over()], workload="StatefulSet/web"),
    ]

    assert [(goal.workloads, goal.is_hard) for goal in goals_of(Situation(pods))] == [
        (("Deployment/web", "StatefulSet/web"), True),
        (("Deployment/web",), False),
    ]


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


def test_the_excess_of_a_goal_and_the_pods_that_it_counts() -> None:
    situation = Situation(web_pods({"a1": 3}, spread_over(max_skew=2), SOFT))
    census, topology = situation.cluster.placed.census, situation.cluster.topology

    assert [find_excess(goal.tally(topology, census)) for goal in goals_of(situation)] == [1, 2]
    goal = goals_of(situation)[0]
    assert goal.counts(situation.pods[0].pod)
    assert not goal.counts(replace(situation.pods[0].pod, namespace="other"))
    assert not goal.counts(replace(situation.pods[0].pod, labels={}))
