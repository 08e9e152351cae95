"""Large clusters whose nodes are nearly full, with pods that no constraint counts."""

from collections.abc import Iterator, Mapping
from itertools import cycle, islice

from tests.policy.placement.clusters import spread_over
from tests.rebalance.situations import Situation, workload_pod, zone_nodes
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, Constraint, LabelSelector
from webhook.rebalance.pods import WorkloadPod

NODES, SLOTS = 60, 8
"""Nodes of each zone, and the pods that each takes."""

STABLE, CANARY = {"app": "web", "track": "stable"}, {"app": "web", "track": "canary"}

SOFT = spread_over(label_selector=LabelSelector(STABLE), when_unsatisfiable=SCHEDULE_ANYWAY)


def full_cluster(
    stable: Mapping[str, int], canary: Mapping[str, int], *constraints: Constraint
) -> Situation:
    """Make a Deployment that counts its stable pods only: zone -> number of pods."""
    nodes = zone_nodes("a", "b", "c", nodes=NODES)
    pods = [
        *_fill(stable, STABLE, constraints, first=0),
        # Canary pods crowd on other nodes than the stable ones.
        *_fill(canary, CANARY, constraints, first=NODES // 2),
    ]
    return Situation(pods, nodes, slots={node.name: SLOTS for node in nodes})


def _fill(
    numbers: Mapping[str, int],
    labels: Mapping[str, str],
    constraints: tuple[Constraint, ...],
    *,
    first: int,
) -> Iterator[WorkloadPod]:
    """Yield pods on the nodes of each zone by turns, from a number on."""
    for zone, number in numbers.items():
        names = islice(cycle(f"{zone}{index + 1}" for index in range(NODES)), first, first + number)
        for index, name in enumerate(names):
            pod = f"{labels['track']}-{zone}{index}"
            yield workload_pod(pod, name, constraints, labels=labels)


def by_host(max_skew: int) -> Constraint:
    """Make a hard constraint of the stable pods over nodes."""
    return spread_over(HOSTNAME, max_skew=max_skew, label_selector=LabelSelector(STABLE))
