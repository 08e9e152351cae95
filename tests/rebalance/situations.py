"""Small clusters with workloads, in short-hand."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.policy.placement.clusters import gates, node, spread_over
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, Constraint, LabelSelector, Node
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import AffinityTerm, FilterPod
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.filters.storage import NO_STORAGE, Storage
from webhook.policy.placement.spreads import SpreadConstraints, resolve_constraints
from webhook.policy.placement.topology import Topology
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.compilation import CompiledPlan, compile_model
from webhook.rebalance.goals import find_goals
from webhook.rebalance.plan import RebalancePlan, plan_rebalance
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod
from webhook.rebalance.search import SearchEffort, SearchProblem

SHOP = "shop"
ROOM = Resources(1 << 40, 1 << 60, 1 << 60, 1 << 40)  # for any pod
GATES = gates()


def resolve(labels: Mapping[str, str], *constraints: Constraint) -> SpreadConstraints:
    """Resolve the own constraints of a pod."""
    return resolve_constraints(constraints, labels, GATES)


def workload_pod(
    name: str,
    on: str,
    constraints: Iterable[Constraint] = (),
    *,
    workload: str = "Deployment/web",
    labels: Mapping[str, str] | None = None,
    obstacle: EvictionObstacle | None = None,
    is_ready: bool = True,
    namespace: str = SHOP,
    has_preferences: bool = False,
    **fields: Any,
) -> WorkloadPod:
    """Make a web pod on a node."""
    carried = labels if labels is not None else {"app": "web"}
    replacement = FilterPod(namespace=namespace, labels=carried, name=name, **fields)
    pod = FilterPod(namespace=namespace, labels=carried, name=name, node_name=on, **fields)
    return WorkloadPod(
        pod=pod,
        replacement=replacement,
        spreads=resolve(carried, *constraints),
        workload=workload,
        is_ready=is_ready,
        obstacle=obstacle,
        has_preferences=has_preferences,
    )


def web_pods(
    placed: Mapping[str, int], *constraints: Constraint, **fields: Any
) -> list[WorkloadPod]:
    """Make numbered web pods: node name -> how many."""
    nodes = [name for name, number in placed.items() for _ in range(number)]
    return [
        workload_pod(f"web-{number}", name, constraints or (spread_over(),), **fields)
        for number, name in enumerate(nodes)
    ]


def zone_nodes(*zones: str, nodes: int = 1) -> list[Node]:
    """Make nodes of zones: ``a1``, ``a2`` and so on of zone ``a``."""
    return [node(f"{zone}{number + 1}", zone) for zone in zones for number in range(nodes)]


ABC = zone_nodes("a", "b", "c")


@dataclass(frozen=True)
class Situation:
    """The arguments of a plan."""

    pods: list[WorkloadPod]
    nodes: list[Node] = field(default_factory=lambda: ABC)
    budgets: list[PodDisruptionBudget] = field(default_factory=list)
    others: list[FilterPod] = field(default_factory=list)
    slots: Mapping[str, int] = field(default_factory=dict)
    cpu: Mapping[str, int] = field(default_factory=dict)
    storage: Storage = NO_STORAGE

    @property
    def cluster(self) -> SchedulingCluster:
        """The cluster, in which some nodes take a number of pods, or have some CPU, only."""
        placed = [one.pod for one in self.pods if one.pod.node_name]
        return SchedulingCluster(
            Topology(self.nodes),
            {name: self._room(name) for name in (*self.slots, *self.cpu)},
            PlacedPods([*placed, *self.others]),
            storage=self.storage,
        )

    def _room(self, name: str) -> Resources:
        pods, cpu = self.slots.get(name, ROOM.pods), self.cpu.get(name, ROOM.milli_cpu)
        return replace(ROOM, pods=pods, milli_cpu=cpu)

    def plan(self) -> RebalancePlan:
        """Plan all pods."""
        return plan_rebalance(self.cluster, self.pods, self.budgets)


# One host of a has to lose a pod, and the pod of c1 has to come to the other zones.
APART = Situation(
    web_pods({"a1": 1, "a2": 1, "a3": 1, "b1": 2, "c1": 1}, spread_over(), spread_over(HOSTNAME)),
    [*zone_nodes("a", nodes=3), *zone_nodes("b", "c", nodes=2)],
)
"""A cluster whose two constraints take an eviction each."""

# The hard constraint allows three pods in each zone, of which one has a single node.
RETURNING = Situation(
    web_pods(
        {"a1": 3, "b1": 1, "b2": 1, "b3": 1},
        spread_over(),
        spread_over(HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    ),
    [*zone_nodes("a"), *zone_nodes("b", nodes=3)],
)
"""A cluster in which each replacement returns to the node of its pod."""


def budget(
    desired: int | None, healthy: int, app: str = "web", **fields: Any
) -> PodDisruptionBudget:
    """Make a budget for the pods of an app."""
    return PodDisruptionBudget(
        SHOP, f"{app}-{desired}", LabelSelector({"app": app}), desired, healthy, **fields
    )


def repel(key: str, app: str) -> AffinityTerm:
    """Make a term that selects the pods of an app."""
    term = AffinityTerm(key, LabelSelector({"app": app}), (SHOP,), None)
    return replace(term, identity=msgspec.json.encode(term))


def counts_after(plan: RebalancePlan) -> list[dict[str, int]]:
    """The pods of each domain after a plan, for each goal."""
    return [
        {value: goal.after.pods.get(value, 0) for value in goal.after.domains.sizes}
        for goal in plan.goals
    ]


def compile_situation(situation: Situation, *, assumes_room: bool = False) -> CompiledPlan:
    """Compile the model of all pods that may move, with all goals."""
    cluster, pods = situation.cluster, situation.pods
    goals = find_goals(pods, cluster.topology, cluster.placed.census)
    moving = [one for one in pods if one.is_spread]
    return compile_model(moving, goals, cluster, situation.budgets, assumes_room=assumes_room)


def pose(situation: Situation) -> SearchProblem:
    """Pose the problem to reach all goals."""
    compiled = compile_situation(situation)
    return SearchProblem(compiled.model, compiled.bounds)


def effort(problem: SearchProblem, cells: int = 1_000_000) -> SearchEffort:
    """Allow a search some work."""
    return SearchEffort(problem.model, cells)
