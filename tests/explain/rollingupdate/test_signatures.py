"""Signatures distinguish nodes by what places the pods of a rolling update, and nothing else."""

from dataclasses import replace as replace_fields
from typing import Any

import pytest
from msgspec.structs import replace

from tests.explain.rollingupdate.rollouts import (
    ONE_CPU,
    PORT_80,
    apart_by,
    builder,
    cluster,
    of_sets,
    rolling,
    workload,
)
from tests.policy.placement.clusters import GPU, WEB, node, spread_over
from webhook.explain.rollingupdate.placer import Placer
from webhook.explain.rollingupdate.setup import ReplicaSetNames, Revisions, prepare_sets
from webhook.policy.model import HOSTNAME
from webhook.policy.placement.filters.filterpods import CLAIM, FilterPod, PodVolume
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.filters.storage import CsiNode, Storage

NODES = (node("n1", "a"), node("n2", "b"))
MOST = 3
ROOM = Resources(milli_cpu=4000, memory=100, pods=10)
OTHER = FilterPod("shop", {"app": "db"})


def are_alike(changes: dict[str, Any], other: FilterPod | None = None, **taken: Any) -> bool:
    """Whether the nodes are alike if the second one differs in its resources, or has a pod."""
    room = {"n1": ROOM, "n2": replace(ROOM, **changes)}
    setup = of_sets(NODES, rolling(1), room=room, **taken)
    if other is not None:
        setup.scenario.cluster.placed.add(other, "n2")
    first, second = Placer(setup.scenario, setup.kinds).sign_nodes(MOST).values()
    return first == second


def test_nodes_are_told_apart_by_what_decides_on_pods() -> None:
    nodes = (*NODES, node("n3", "a", taints=[GPU]), node("n4", "b", disk="ssd"))
    setup = of_sets(nodes, rolling(1), spread_over())
    setup.scenario.census.add("shop", {**WEB, "tier": "other"}, "n2")

    signatures = Placer(setup.scenario, setup.kinds).sign_nodes(MOST)

    assert signatures["n1"] == signatures["n4"]
    assert len(set(signatures.values())) == 3


def test_nodes_that_pods_are_nominated_for_are_like_no_other() -> None:
    setup = of_sets(NODES, rolling(1))
    nominated = {"n2": [OTHER]}
    cluster = replace_fields(setup.scenario.cluster, nominated=nominated)

    first, second = (
        Placer(replace(setup.scenario, cluster=cluster), setup.kinds).sign_nodes(MOST).values()
    )

    assert first != second


# the resources of the second node, whether it is like the first one for pods with a CPU
ROOMS: dict[str, tuple[dict[str, Any], bool]] = {
    "the same": ({}, True),
    "more than all pods take": ({"milli_cpu": 64_000}, True),
    "less, but room for all": ({"milli_cpu": 3000}, True),
    "room for two": ({"milli_cpu": 2999}, False),
    "a resource that no pod takes": ({"memory": 0}, True),
    "two more pods": ({"pods": 2}, False),
    "three more pods": ({"pods": 3}, True),
}


@pytest.mark.parametrize(("changes", "alike"), ROOMS.values(), ids=ROOMS.keys())
def test_room(changes: dict[str, Any], alike: bool) -> None:
    assert are_alike(changes, requests=ONE_CPU) is alike


# a pod of another workload on the second node, what the pods take, whether the nodes are alike
OTHERS: dict[str, tuple[FilterPod, dict[str, Any], bool]] = {
    "a pod that matters to none": (OTHER, {"requests": ONE_CPU}, True),
    "a pod that takes CPUs": (
        replace(OTHER, requests=Resources(milli_cpu=2000)), {"requests": ONE_CPU}, False
    ),
    "its port": (replace(OTHER, ports=PORT_80), {"ports": PORT_80}, False),
    "another port": (replace(OTHER, ports=PORT_80), {}, True),
    "a pod to avoid": (
        FilterPod("shop", {**WEB}), {"anti_affinity": apart_by(HOSTNAME)}, False
    ),
    "a pod that avoids them": (replace(OTHER, anti_affinity=apart_by(HOSTNAME)), {}, False),
    "a pod to look for": (FilterPod("shop", {**WEB}), {"affinity": apart_by(HOSTNAME)}, False),
}  # fmt: skip


@pytest.mark.parametrize(("other", "taken", "alike"), OTHERS.values(), ids=OTHERS.keys())
def test_pods_of_others(other: FilterPod, taken: dict[str, Any], alike: bool) -> None:
    assert are_alike({}, other, **taken) is alike


# CPUs of two nodes, in thousandths, for pods with 1000 and 1500; whether these are alike
CPUS: dict[tuple[int, int], bool] = {
    (1500, 1999): True, (1400, 1500): False, (1999, 2000): False, (0, 499): True,
    (4500, 9000): True,
}  # fmt: skip


@pytest.mark.parametrize(("cpus", "alike"), CPUS.items())
def test_resources_are_measured_in_what_divides_all_requests(
    cpus: tuple[int, int], alike: bool
) -> None:
    old, new = (builder((), f"{cpu}", requests=Resources(milli_cpu=cpu)) for cpu in (1000, 1500))
    room = {
        one.name: Resources(milli_cpu=cpu, pods=9) for one, cpu in zip(NODES, cpus, strict=True)
    }
    scenario = cluster(NODES, Revisions(old, new), room=room)
    setup = prepare_sets(scenario, workload([]), rolling(1), Revisions(old, new), ReplicaSetNames())

    first, second = Placer(setup.scenario, setup.kinds).sign_nodes(MOST).values()

    assert (first == second) is alike


def test_nodes_may_limit_volumes() -> None:
    volumes = (PodVolume(CLAIM, "data", "shop"),)
    storage = Storage(csi_nodes={"n2": CsiNode()})
    for taken, alike in (((), True), (volumes, False)):
        setup = of_sets(NODES, rolling(1), volumes=taken)
        limited = replace_fields(setup.scenario.cluster, storage=storage)
        scenario = replace(setup.scenario, cluster=limited)
        first, second = Placer(scenario, setup.kinds).sign_nodes(MOST).values()
        assert (first == second) is alike
