from typing import NamedTuple

import pytest
from msgspec.structs import replace

from tests.policy.placement.clusters import GPU, node, spread_over
from tests.rebalance.situations import (
    APART,
    Situation,
    budget,
    counts_after,
    resolve,
    web_pods,
    workload_pod,
    zone_nodes,
)
from webhook.policy.advice.leastskew import LeastSkew
from webhook.policy.model import (
    HOSTNAME,
    SCHEDULE_ANYWAY,
    ZONE,
    Constraint,
    LabelSelector,
    LabelSelectorRequirement,
)
from webhook.policy.placement.filters.filterpods import CLAIM, FilterPod, PodVolume
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.filters.storage import Claim, Storage, Volume
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.placement.nodes import Demands
from webhook.rebalance.goals import GoalObstacle
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod

HARD = spread_over()
SOFT = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
BY_HOST = spread_over(HOSTNAME)
CORDONED = replace(node("c1", "c"), unschedulable=True)
IGNORING = replace(SOFT, node_affinity_policy="Ignore")
FRONT = LabelSelector({"tier": "front"})


def of_workload(app: str, *on: str, tier: str = "front") -> list[WorkloadPod]:
    """Pods of a workload whose constraint counts all pods of their tier."""
    constraint = spread_over(label_selector=LabelSelector({"tier": tier}))
    labels = {"app": app, "tier": tier}
    return [
        workload_pod(
            f"{app}-{number}", name, [constraint], workload=f"Deployment/{app}", labels=labels
        )
        for number, name in enumerate(on)
    ]


def fixed(pods: list[WorkloadPod], number: int, obstacle: EvictionObstacle) -> list[WorkloadPod]:
    """The same with the first pods not evictable."""
    return [replace(one, obstacle=obstacle) for one in pods[:number]] + pods[number:]


def pinned(name: str, on: str, constraint: Constraint = HARD) -> WorkloadPod:
    """A pod of a StatefulSet with a volume in a zone."""
    volumes = (PodVolume(CLAIM, f"data-{name}", "shop"),)
    return workload_pod(name, on, [constraint], workload="StatefulSet/web", volumes=volumes)


def zonal_storage(*zones: str) -> Storage:
    """The volumes of ``web-0`` and so on, each in a zone."""
    claims = {
        ("shop", f"data-web-{number}"): Claim(
            namespace="shop", name=f"data-web-{number}", volume=f"pv-{number}", is_bound=True
        )
        for number in range(len(zones))
    }
    volumes = {
        f"pv-{number}": Volume(
            name=f"pv-{number}",
            terms=(NodeSelectorTerm((LabelSelectorRequirement(ZONE, "In", (zone,)),)),),
        )
        for number, zone in enumerate(zones)
    }
    return Storage(claims=claims, volumes=volumes)


class Row(NamedTuple):
    """A situation, the number of evictions, and the counts after them for each goal."""

    situation: Situation
    evictions: int
    after: list[dict[str, int]]


A_B = zone_nodes("a", "b")
HOSTS = zone_nodes("a", "b", "c", nodes=2)

REACHED: dict[str, Row] = {
    "a zone is empty": Row(Situation(web_pods({"a1": 5, "b1": 2})), 2, [{"a": 3, "b": 2, "c": 2}]),
    "after a scale-down": Row(Situation(web_pods({"a1": 3})), 2, [{"a": 1, "b": 1, "c": 1}]),
    "even already": Row(
        Situation(web_pods({"a1": 2, "b1": 1, "c1": 1})), 0, [{"a": 2, "b": 1, "c": 1}]
    ),
    "within maxSkew already": Row(
        Situation(web_pods({"a1": 3, "b1": 1}, spread_over(max_skew=3))),
        0,
        [{"a": 3, "b": 1, "c": 0}],
    ),
    "no pods": Row(Situation([]), 0, []),
    "no constraints": Row(Situation([workload_pod("web-0", "a1")]), 0, []),
    "too few domains, but few pods": Row(
        Situation(web_pods({"a1": 2}, spread_over(min_domains=3)), A_B), 1, [{"a": 1, "b": 1}]
    ),
    # By zone alone one eviction of any pod in a suffices, by host alone one of those on a1.
    "zone and host jointly": Row(
        Situation(web_pods({"a1": 2, "a2": 1, "b1": 1}, spread_over(), BY_HOST), HOSTS),
        1,
        [{"a": 2, "b": 1, "c": 1}, {"a1": 1, "a2": 1, "b1": 1, "b2": 0, "c1": 1, "c2": 0}],
    ),
    # Each constraint alone takes one eviction, but not the same one.
    "zone and host apart": Row(
        APART,
        2,
        [
            {"a": 2, "b": 2, "c": 2},
            {"a1": 0, "a2": 1, "a3": 1, "b1": 1, "b2": 1, "c1": 1, "c2": 1},
        ],
    ),
    "one disruption at a time": Row(
        Situation(web_pods({"a1": 5, "b1": 2}), budgets=[budget(6, 7)]),
        2,
        [{"a": 3, "b": 2, "c": 2}],
    ),
    "another pod is not healthy, and is replaced first": Row(
        Situation(
            [replace(one, is_ready=one.pod.name != "web-0") for one in web_pods({"a1": 5})],
            budgets=[budget(4, 4)],
        ),
        3,
        [{"a": 2, "b": 2, "c": 1}],
    ),
    "pods that stay are worked around": Row(
        Situation(fixed(web_pods({"a1": 4}), 2, EvictionObstacle.NO_CONTROLLER)),
        2,
        [{"a": 2, "b": 1, "c": 1}],
    ),
    "pods that are being deleted are not counted": Row(
        Situation(
            [
                replace(one, pod=replace(one.pod, is_terminating=True), obstacle=obstacle)
                if (obstacle := (one.pod.name < "web-2" and EvictionObstacle.TERMINATING) or None)
                else one
                for one in web_pods({"a1": 4, "b1": 1, "c1": 1})
            ]
        ),
        0,
        [{"a": 2, "b": 1, "c": 1}],
    ),
    "a zone that does not count": Row(
        Situation(
            web_pods({"a1": 3}, spread_over(node_taints_policy="Honor")),
            [*A_B, node("c1", "c", taints=[GPU])],
        ),
        1,
        [{"a": 2, "b": 1}],
    ),
    "room on some nodes only": Row(
        Situation(web_pods({"a1": 4}), HOSTS, slots={"b1": 1, "b2": 0, "c1": 0}),
        2,
        [{"a": 2, "b": 1, "c": 1}],
    ),
    "two workloads that count each other": Row(
        Situation([*of_workload("web", "a1", "a1"), *of_workload("api", "a1", "b1")]),
        1,
        [{"a": 2, "b": 1, "c": 1}],
    ),
    "two workloads that do not": Row(
        Situation(
            [*of_workload("web", "a1", "a1", tier="x"), *of_workload("api", "a1", "a1", tier="y")]
        ),
        2,
        [{"a": 1, "b": 1, "c": 0}, {"a": 1, "b": 1, "c": 0}],
    ),
    "soft only": Row(Situation(web_pods({"a1": 5, "b1": 2}, SOFT)), 2, [{"a": 3, "b": 2, "c": 2}]),
    "a soft constraint does not count a tainted zone": Row(
        Situation(web_pods({"a1": 4}, SOFT), [*A_B, node("c1", "c", taints=[GPU])]),
        2,
        [{"a": 2, "b": 2}],
    ),
    "a soft constraint does not count a cordoned zone": Row(
        Situation(web_pods({"a1": 4}, SOFT), [*A_B, CORDONED]), 2, [{"a": 2, "b": 2}]
    ),
    "a soft constraint does not count a zone without room": Row(
        Situation(web_pods({"a1": 4}, SOFT), slots={"c1": 0}), 2, [{"a": 2, "b": 2}]
    ),
    "a soft constraint counts a zone that is full of its own pods": Row(
        Situation(web_pods({"a1": 4, "c1": 1}, SOFT), slots={"c1": 1}),
        2,
        [{"a": 2, "b": 2, "c": 1}],
    ),
    "a soft constraint does not count pods that selectors keep off": Row(
        Situation(
            web_pods({"a1": 2, "b1": 2, "c1": 1}, IGNORING, demands=Demands(((ZONE, "a"),))),
        ),
        0,
        [{"a": 2}],
    ),
    "a soft constraint even without a zone that takes no pod": Row(
        Situation(web_pods({"a1": 2, "b1": 2}, SOFT), [*A_B, node("c1", "c", taints=[GPU])]),
        0,
        [{"a": 2, "b": 2}],
    ),
    "one pod of each node": Row(
        Situation(
            web_pods(
                {"a1": 2, "a2": 2},
                spread_over(node_taints_policy="Honor"),
                replace(SOFT, topology_key=HOSTNAME),
            ),
            [*zone_nodes("a", nodes=2), *zone_nodes("b"), node("c1", "c", taints=[GPU])],
        ),
        2,
        [{"a": 2, "b": 2}, {"a1": 1, "a2": 1, "b1": 2}],
    ),
    "volumes of the zones that are too full elsewhere": Row(
        Situation(
            [pinned("web-0", "a1"), pinned("web-1", "a1"), pinned("web-2", "a1")],
            storage=zonal_storage("b", "c", "a"),
        ),
        2,
        [{"a": 1, "b": 1, "c": 1}],
    ),
    "other pods take the room of the nearest node": Row(
        Situation(
            web_pods({"a1": 2}),
            A_B,
            others=[FilterPod(namespace="kube-system", labels={}, node_name="b1")],
            slots={"b1": 2},
        ),
        1,
        [{"a": 1, "b": 1}],
    ),
}


@pytest.mark.parametrize("row", REACHED.values(), ids=REACHED)
def test_the_fewest_evictions_after_which_all_constraints_hold(row: Row) -> None:
    plan = row.situation.plan()

    assert (len(plan.steps), counts_after(plan)) == (row.evictions, row.after)
    assert [goal.obstacle for goal in plan.goals] == [None] * len(row.after)
    assert plan.restores_all
    assert plan.is_certain
    assert plan.is_least
    assert not plan.immovable


def test_a_hard_constraint_comes_before_a_soft_one_that_holds() -> None:
    # Both zones have the same number of pods; the only even choice of hosts is uneven by zone.
    nodes = [node("a1", "a"), node("b1", "b"), node("b2", "b"), node("b3", "b")]
    pods = web_pods({"a1": 2, "b1": 2}, BY_HOST, SOFT)

    plan = Situation(pods, nodes).plan()

    assert [(goal.goal.is_hard, goal.obstacle) for goal in plan.goals] == [
        (True, None),
        (False, GoalObstacle.CONFLICT),
    ]


RACKS = spread_over("rack")
SOFT_HOST = spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY)
RACKED = [node("a1", "a", rack="1"), *(node(name, "a", rack="2") for name in ("b1", "b2", "b3"))]


def test_a_hard_constraint_that_requires_the_skew_of_a_soft_one_is_the_obstacle() -> None:
    pods = web_pods({"a1": 3, "b1": 1, "b2": 1, "b3": 1}, RACKS, SOFT_HOST)

    hard, soft = Situation(pods, RACKED).plan().goals

    assert (hard.obstacle, hard.least) == (None, None)
    assert soft.obstacle is GoalObstacle.HARD_CONSTRAINT
    assert (soft.least, soft.obstacle_domains) == (LeastSkew(2, "rack"), ())


def test_the_number_is_not_certain_if_many_workloads_compete_for_room() -> None:
    nodes = zone_nodes("a", "b", "c", nodes=10)
    pods = [
        *of_workload("web", *["a1"] * 2, tier="x"),
        *of_workload("api", *["a2"] * 2, tier="y"),
    ]
    roomy, full = Situation(pods, nodes), Situation(pods, nodes, slots={"b1": 1})

    assert (roomy.plan().is_certain, roomy.plan().is_least) == (True, True)
    assert (full.plan().is_certain, full.plan().is_least) == (False, True)


def test_room_on_a_node_is_assumed_and_searched_again_if_it_may_lack() -> None:
    # All replacements go to b1, which is to have more pods than any node before.
    constraints = (SOFT, spread_over(HOSTNAME, max_skew=10))
    pods = web_pods(dict.fromkeys(("a1", "a2", "a3", "a4"), 4), *constraints)
    nodes = [*zone_nodes("a", nodes=4), *zone_nodes("b")]

    roomy = Situation(pods, nodes, slots={"b1": 10}).plan()
    full = Situation(pods, nodes, slots={"b1": 6}).plan()

    assert len(roomy.steps) == 8
    assert roomy.goals[0].obstacle is None
    assert full.goals[0].obstacle is GoalObstacle.NO_NODES


def test_a_replacement_with_other_resources_than_its_pod() -> None:
    # The pod was resized in place to 2; its replacement takes 4 again, which c has not.
    small, large = Resources(milli_cpu=2), Resources(milli_cpu=4)
    pods = [
        replace(one, replacement=replace(one.replacement, requests=large))
        for one in web_pods({"a1": 3}, requests=small)
    ]

    plan = Situation(pods, cpu={"c1": 2, "a1": 10}).plan()

    assert [goal.obstacle for goal in plan.goals] == [GoalObstacle.NO_NODES]


def test_the_system_defaults_rank_nodes_but_are_no_goals() -> None:
    pods = [
        replace(one, spreads=replace(resolve(one.pod.labels, SOFT), requires_keys=False))
        for one in web_pods({"a1": 4})
    ]

    assert not Situation(pods).plan().goals
