"""
What it takes to plan the evictions of a large Deployment: reading the objects, and the plan.

The objects are decoded already; ``evenspread rebalance`` lists them from an API server.
"""

import time
from itertools import cycle, islice

import msgspec

from tests.bench.rows import Must, Row
from tests.cluster.scheduling.unevenshop import Json, node, web_pod
from webhook.cluster.scheduling.workloads import WorkloadObjects, read_scope
from webhook.config.configuration import Configuration
from webhook.config.gates import gates_in_force
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.model import HOSTNAME
from webhook.rebalance.plan import RebalancePlan, plan_rebalance

REPLICAS, NODES = 500, 300
TIME = Must(2, "s")

ZONES = "abc"
SHARES = {"a": 0.6, "b": 0.3, "c": 0.1}
"""Zone -> its share of the pods."""


def build_cluster(replicas: int, nodes: int) -> WorkloadObjects:
    """Build a Deployment that is uneven over three zones, and softly spread over nodes."""
    names = [f"{zone}{number}" for zone, number in zip(cycle(ZONES), range(nodes), strict=False)]
    pods: list[Json] = []
    for zone, share in SHARES.items():
        inside = cycle(name for name in names if name.startswith(zone))
        for name in islice(inside, round(share * replicas)):
            pods.append(_spread_softly(web_pod(f"web-{len(pods)}", name)))
    listed = {"nodes": [node(name, pods=110) for name in names], "pods": pods}
    return msgspec.convert(listed, WorkloadObjects)


def _spread_softly(pod: Json) -> Json:
    """Add a constraint over nodes with ScheduleAnyway."""
    (first,) = pod["spec"]["topologySpreadConstraints"]
    soft = {**first, "topologyKey": HOSTNAME, "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"}
    pod["spec"]["topologySpreadConstraints"] = [first, soft]
    return pod


def plan_cluster(objects: WorkloadObjects) -> tuple[float, RebalancePlan]:
    """Plan all workloads; return the CPU seconds of this thread too."""
    gates = gates_in_force(Configuration(), NEWEST_VERSION)
    start = time.thread_time()
    plan = plan_rebalance(*read_scope(objects, gates))
    return time.thread_time() - start, plan


def plan_row(what: str, rounds: int, replicas: int = REPLICAS, nodes: int = NODES) -> Row:
    """CPU seconds of a plan."""
    objects = build_cluster(replicas, nodes)
    planned = [plan_cluster(objects) for _ in range(rounds)]
    evictions = {len(plan.steps) for _, plan in planned}
    assert len(evictions) == 1, "the same input gives the same plan"
    base = f"{evictions.pop()} evictions"
    return Row(what, base, "", [seconds for seconds, _ in planned], TIME)
