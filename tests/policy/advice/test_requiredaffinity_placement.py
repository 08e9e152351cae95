"""Required affinity in advice rejects no node that the filter InterPodAffinity accepts."""

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, spread
from tests.policy.advice.subjects import audit, judged, node, running
from webhook.policy.advice.requiredaffinity import read_affinity
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.model import HOSTNAME, ZONE, LabelSelector, Node
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import AffinityTerm, FilterPod
from webhook.policy.placement.filters.placedpods import PlacedPods
from webhook.policy.placement.filters.podaffinity import count_affinity
from webhook.policy.placement.topology import Topology

Terms = list[tuple[str, str]]
"""The application of the other pods, and the topology key."""


def make_nodes(generator: random.Random) -> list[Node]:
    return [
        node(
            f"{zone}{number}",
            f"zone-{zone}",
            **generator.choice([{}, {"rack": "1"}, {"rack": "2"}]),
        )
        for zone in "abc"
        for number in range(generator.randint(1, 2))
    ]


def draw_terms(generator: random.Random) -> Terms:
    keys, apps = (HOSTNAME, ZONE, "rack"), ("web", "redis", "db")
    return [
        (generator.choice(apps), generator.choice(keys)) for _ in range(generator.randint(0, 2))
    ]


def write(terms: Terms) -> Json:
    written = [
        {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key} for app, key in terms
    ]
    return {"requiredDuringSchedulingIgnoredDuringExecution": written}


def read(terms: Terms) -> tuple[AffinityTerm, ...]:
    return tuple(
        AffinityTerm(key, LabelSelector(match_labels={"app": app}), (NAMESPACE,), None)
        for app, key in terms
    )


def place(pods: Sequence[RunningPods]) -> PlacedPods:
    placed = PlacedPods()
    for group in pods:
        for name in group.nodes:
            placed.add(FilterPod(namespace=NAMESPACE, labels=group.pod.labels), name)
    return placed


@pytest.mark.parametrize("seed", range(20))
def test_a_node_that_it_rejects_is_one_that_the_filter_rejects(seed: int) -> None:
    generator = random.Random(seed)
    rejected = 0
    for _ in range(20):
        nodes, affinity, anti_affinity = (
            make_nodes(generator),
            draw_terms(generator),
            draw_terms(generator),
        )
        names = [one.name for one in nodes]
        own = running(*generator.choices(names, k=2), "")
        others = [running(generator.choice(names), labels={"app": app}) for app in ("redis", "db")]
        cluster = audit(nodes, [own, *others]).cluster
        assert cluster is not None
        written = {"podAffinity": write(affinity), "podAntiAffinity": write(anti_affinity)}
        advised = replace(judged(spread(), affinity=written), running=(own,))
        pod = FilterPod(
            namespace=NAMESPACE,
            labels={"app": "web"},
            affinity=read(affinity),
            anti_affinity=read(anti_affinity),
        )

        found = read_affinity(advised, [node.name for node in nodes], cluster)
        expected = count_affinity(
            pod, SchedulingCluster(Topology(nodes), placed=place([own, *others]))
        )

        ours = {one.name for one in nodes if found.find_rejecting(one)}
        rejected += len(ours)
        assert ours <= {one.name for one in nodes if expected.reject(one)}
    assert rejected
