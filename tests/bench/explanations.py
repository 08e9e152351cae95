"""
What it takes to explain one pod of a large cluster that is loaded already.

The pod is Pending: most nodes lack resources, the others are tainted, cordoned, or in zones that
its constraints close. So the explanation has all parts, and every kind of change is searched.
"""

import time
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import msgspec

from tests.bench.rows import Must, Row
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.pods import read_pod
from webhook.explain.explanation import explain
from webhook.explain.scenario import Scenario
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.model import HOSTNAME, ZONE, Node, Taint
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.placement.topology import Topology

EXPLANATION = Must(300, "ms")  # beyond loading: a person waits for one pod

GIB = 2**30
ROOM = Resources(8_000, 32 * GIB, 100 * GIB, 110)
SMALL = Resources(100, GIB // 2)
LARGE = Resources(200, GIB)
WORKLOADS = 1_000  # different labels of the pods
ZONES = "abcdef"
GPU = Taint(key="gpu", effect="NoSchedule")

WAITING = {
    "metadata": {"name": "web-0", "namespace": "shop-7", "labels": {"app": "app-7"}},
    "spec": {
        "containers": [{"resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}],
        "nodeSelector": {"pool": "general"},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "app-7"}},
            }
            for key in (ZONE, HOSTNAME)
        ],
    },
}


class ExplainSize(NamedTuple):
    """The size of a cluster."""

    nodes: int = 5_000
    pods: int = 150_000


LARGE_CLUSTER = ExplainSize()


def make_scenario(size: ExplainSize = LARGE_CLUSTER) -> Scenario:
    """Make the cluster, which takes some seconds for a large one, and a pod that waits there."""
    rng = Random(17)
    nodes = list(_make_nodes(size.nodes, rng))
    placed = PlacedPods(_make_pods(size, rng))
    allocatable = {node.name: ROOM for node in nodes}
    cluster = SchedulingCluster(Topology(nodes), allocatable, placed)
    pod = msgspec.convert(WAITING, ApiPod)
    gates = resolve(NEWEST_VERSION, {})
    spreads = resolve_constraints(pod.constraints, pod.labels, gates)
    return Scenario(read_pod(pod, NEWEST_VERSION), spreads, cluster)


def _make_nodes(number: int, rng: Random) -> Iterator[Node]:
    for at in range(number):
        labels = {HOSTNAME: f"n{at}", ZONE: ZONES[at % len(ZONES)], "pool": "general"}
        if rng.random() < 0.1:
            yield Node(f"n{at}", {**labels, "pool": "gpu"}, (GPU,))
        elif rng.random() < 0.02:
            yield Node(f"n{at}", labels, (UNSCHEDULABLE,), unschedulable=True)
        else:
            yield Node(f"n{at}", labels)


def _make_pods(size: ExplainSize, rng: Random) -> Iterator[FilterPod]:
    """
    Make pods that leave most nodes with too little CPU.

    The others are in three zones, which have all pods like the one that waits.
    """
    for at in range(size.pods):
        node, workload = at % size.nodes, rng.randrange(WORKLOADS)
        is_empty = node % 50 == 1
        requests = SMALL if is_empty else LARGE
        workload = 7 if is_empty and at < size.nodes else workload
        workload = 8 if workload == 7 and not is_empty else workload
        labels = {"app": f"app-{workload}"}
        yield FilterPod(f"shop-{workload % 100}", labels, node_name=f"n{node}", requests=requests)


def measure_explanation(what: str, rounds: int, size: ExplainSize = LARGE_CLUSTER) -> Row:
    """Measure the CPU of explaining the pod, with nothing remembered, once a round."""
    scenario = make_scenario(size)
    took = [time_explanation(scenario) for _ in range(rounds)]
    return Row(what, "", "", [seconds * 1e3 for seconds in took], EXPLANATION)


def time_explanation(scenario: Scenario) -> float:
    """
    Explain the pod.

    Returns:
        CPU seconds of this thread.
    """
    start = time.thread_time()
    explained = explain(scenario.with_nodes(scenario.topology.nodes), "Pod shop-7/web-0")
    took = time.thread_time() - start
    assert explained.changes, "something helps"
    return took
