"""Random small clusters, from a seed."""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from tests.policy.placement.clusters import GPU, node, spread_over
from tests.rebalance.situations import (
    Situation,
    budget,
    effort,
    pose,
    repel,
    workload_pod,
)
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    ZONE,
    Constraint,
    LabelSelector,
    Node,
)
from webhook.policy.placement.filters.filterpods import HostPort
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.nodes import Demands
from webhook.rebalance.bounds import UNREACHABLE
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.exhaustive import explore, find_shortest
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod
from webhook.rebalance.search import SearchProblem, Strategy


class SolvedProblem(NamedTuple):
    """The problem of a random cluster; ``shortest`` is None if no strategy reaches all goals."""

    seed: int
    problem: SearchProblem
    shortest: Strategy | None


def solve_random(seeds: int) -> Iterator[SolvedProblem]:
    """Yield the random problems that may have a strategy, solved by listing all states."""
    for seed in range(seeds):
        situation = random_situation(seed)
        if not any(one.is_spread for one in situation.pods):
            continue
        problem = pose(situation)
        if not 0 < problem.bound(problem.model.start) < UNREACHABLE:
            continue
        graph = explore(problem.model, effort(problem))
        assert graph is not None
        yield SolvedProblem(seed, problem, find_shortest(graph, problem))


def random_situation(seed: int) -> Situation:
    """Make a cluster of 2 to 6 nodes with at most 8 pods of one or two workloads."""
    random = Random(seed)
    nodes = [_random_node(random, number) for number in range(random.randint(2, 6))]
    apps = ["web", "api"][: random.choice((1, 1, 2))]
    constraints = {app: _random_constraints(random, app) for app in apps}
    fields = {app: _random_fields(random, apps) for app in apps}
    # Zonal volumes, as far as they matter: each pod returns to its zone.
    is_pinned = random.random() < 0.15
    pods: list[WorkloadPod] = []
    for number in range(random.randint(2, 8)):
        app = random.choice(apps)
        # Most pods crowd on few nodes, as after an outage.
        on = random.choice(nodes[: max(1, len(nodes) // 2)] if random.random() < 0.7 else nodes)
        pairs = ((ZONE, on.labels[ZONE]),) if is_pinned and ZONE in on.labels else ()
        pods.append(
            workload_pod(
                f"{app}-{number}",
                on.name,
                constraints[app],
                workload=f"Deployment/{app}",
                labels={"app": app, "tier": "front"},
                obstacle=EvictionObstacle.NO_CONTROLLER if random.random() < 0.07 else None,
                is_ready=random.random() < 0.95,
                demands=Demands(pairs),
                **fields[app],
            )
        )
    used = {one.name: sum(pod.pod.node_name == one.name for pod in pods) for one in nodes}
    limit = random.choice(("none", "pods", "cpu"))
    room = {name: max(1, used[name] + random.randint(-1, 3)) for name in used}
    budgets = list(_random_budgets(random, pods, random.choice(apps)))
    slots, cpu = (room if limit == name else {} for name in ("pods", "cpu"))
    return Situation(pods, nodes, budgets, slots=slots, cpu=cpu)


def _random_fields(random: Random, apps: list[str]) -> dict[str, Any]:
    """Requests, and rarely what makes other filters look at the pods of the plan."""
    fields: dict[str, Any] = {"requests": Resources(milli_cpu=random.choice((1, 1, 2)))}
    if random.random() < 0.07:
        fields["anti_affinity"] = (repel(random.choice((ZONE, HOSTNAME)), random.choice(apps)),)
    if random.random() < 0.05:
        fields["affinity"] = (repel(ZONE, random.choice(apps)),)
    if random.random() < 0.05:
        fields["ports"] = (HostPort("0.0.0.0", "TCP", 80),)
    return fields


def _random_budgets(
    random: Random, pods: list[WorkloadPod], app: str
) -> Iterator[PodDisruptionBudget]:
    if random.random() < 0.3:
        mine = [pod for pod in pods if pod.pod.labels["app"] == app]
        desired = max(0, len(mine) - random.randint(0, 2))
        healthy = sum(pod.is_ready for pod in mine)
        yield budget(desired, healthy, app, allows_unhealthy=random.random() < 0.3)
        if random.random() < 0.1:
            yield budget(0, healthy, app)


def _random_node(random: Random, number: int) -> Node:
    zone = random.choice("abc" if random.random() < 0.9 else "ab")
    taints = (GPU,) if random.random() < 0.1 else ()
    return node(f"n{number}", zone if random.random() < 0.95 else None, taints=taints)


def _random_constraints(random: Random, app: str) -> list[Constraint]:
    keys = random.choice(([ZONE], [ZONE], [HOSTNAME], [ZONE, HOSTNAME], [HOSTNAME, ZONE]))
    shared = random.random() < 0.2
    selector = LabelSelector({"tier": "front"} if shared else {"app": app})
    return [
        spread_over(
            key,
            max_skew=random.choice((1, 1, 2)),
            label_selector=selector,
            when_unsatisfiable=(kind := _random_kind(random)),
            min_domains=random.choice((2, 3)) if _has_minimum(random, kind) else None,
            node_taints_policy=random.choice(("Honor", "Ignore", None)),
        )
        for key in keys
    ]


def _random_kind(random: Random) -> str:
    return DO_NOT_SCHEDULE if random.random() < 0.75 else SCHEDULE_ANYWAY


def _has_minimum(random: Random, kind: str) -> bool:
    return random.random() < 0.1 and kind == DO_NOT_SCHEDULE


def tight_situation(seed: int) -> Situation:
    """
    Make a cluster of 3 to 5 nodes whose pods take nearly all CPU.

    The constraint with ScheduleAnyway of one workload does not count the pods of the other, which
    may take the room of a domain.
    """
    random = Random(seed)
    zones = [*"abc", *(random.choice("abc") for _ in range(random.randint(0, 2)))]
    nodes = [node(f"n{number}", zone) for number, zone in enumerate(zones)]
    pods = [
        workload_pod(
            f"{app}-{number}",
            random.choice(nodes[: random.randint(1, len(nodes))]).name,
            constraints,
            workload=f"Deployment/{app}",
            labels={"app": app},
            is_ready=random.random() < 0.97,
            requests=requests,
        )
        for app, constraints in _tight_constraints(random).items()
        for requests in (Resources(milli_cpu=random.choice((1, 1, 2))),)
        for number in range(random.randint(1, 5 if app == "web" else 4))
    ]
    used = {
        one.name: sum(pod.pod.requests.milli_cpu for pod in pods if pod.pod.node_name == one.name)
        for one in nodes
    }
    cpu = {name: taken + random.choice((0, 0, 0, 1, 1, 2)) for name, taken in used.items()}
    resized = [_resize(random, pod) if random.random() < 0.05 else pod for pod in pods]
    return Situation(resized, nodes, cpu=cpu)


def _tight_constraints(random: Random) -> dict[str, list[Constraint]]:
    def spread(app: str, kind: str, *keys: str) -> Constraint:
        return spread_over(
            random.choice(keys),
            max_skew=random.choice((1, 1, 2)),
            label_selector=LabelSelector({"app": app}),
            when_unsatisfiable=kind,
        )

    web = [spread("web", SCHEDULE_ANYWAY, ZONE, ZONE, HOSTNAME)]
    if random.random() < 0.3:
        web.append(spread("web", DO_NOT_SCHEDULE, HOSTNAME))
    others: tuple[list[Constraint], ...] = (
        [],
        [],
        [spread("api", SCHEDULE_ANYWAY, ZONE)],
        [spread("api", DO_NOT_SCHEDULE, ZONE, HOSTNAME)],
    )
    return {"web": web, "api": random.choice(others)}


def _resize(random: Random, one: WorkloadPod) -> WorkloadPod:
    """Let a replacement take other CPU than its pod, as after a resize in place."""
    final = replace(one.replacement, requests=Resources(milli_cpu=random.choice((1, 2, 3))))
    return replace(one, replacement=final)
