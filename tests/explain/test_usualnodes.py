"""The node whose resources new nodes are supposed to have."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.explain.filterscenarios import (
    PORT_80,
    cpu,
    filter_scenario,
    owned_by,
    running,
    taking,
)
from tests.policy.placement.filters.objects import Json, container, node_object
from webhook.explain.usualnodes import find_usual_node

MASTER: dict[str, Any] = {"taints": [{"key": "master", "effect": "NoSchedule"}]}
CORDONED: dict[str, Any] = {"unschedulable": True}
UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
GPU = {"nvidia.com/gpu": "1"}


def sized(name: str, cpu: str, memory: str = "32000000Ki", **spec: Any) -> Json:
    return made(name, {"cpu": cpu, "memory": memory, "pods": "110"}, **spec)


def made(name: str, allocatable: dict[str, str], **spec: Any) -> Json:
    return {**node_object(name, allocatable, {"pool": name[0]}), "spec": spec}


BIG = [sized("w1", "8"), sized("w2", "8", "32000004Ki"), sized("w3", "8", "32000008Ki")]
SMALL = [sized("s1", "2"), sized("s2", "2")]

# nodes, specification of the pod, name of the node
USUAL: dict[str, tuple[list[Json], Mapping[str, Any], str]] = {
    "nodes of one kind differ by some bytes": ([*SMALL, *reversed(BIG)], {}, "w1"),
    "the smallest of two kinds that are as common": ([*BIG[:2], *SMALL], {}, "s1"),
    "nodes with an untolerated taint are left out": (
        [*(sized(f"m{number}", "2", **MASTER) for number in range(5)), *BIG], {}, "w1",
    ),
    "unless the pod tolerates it": (
        [*(sized(f"m{number}", "2", **MASTER) for number in range(5)), *BIG],
        {"tolerations": [{"operator": "Exists"}]}, "m0",
    ),
    "cordoned nodes are left out": ([sized("c1", "2", **CORDONED), BIG[0]], {}, "w1"),
    "nodes with other labels are left out": ([*BIG, *SMALL], {"nodeSelector": {"pool": "s"}}, "s1"),
    "unless there are no others": ([*BIG, *SMALL], {"nodeSelector": {"pool": "x"}}, "w1"),
    "nodes that the pod does not fit are left out": ([*BIG[:1], *SMALL], cpu("4"), "w1"),
    "unless it fits no node": ([*BIG[:1], *SMALL], cpu("16"), "s1"),
    "nodes of one kind that are too small by some bytes are left out": (
        [*SMALL, *BIG], {"containers": [container({"memory": "32000006Ki"})]}, "w3",
    ),
    "nodes without an extended resource are left out": (
        [*SMALL, made("g1", {"cpu": "8", "pods": "9", **GPU})],
        {"containers": [container(GPU)]}, "g1",
    ),
    "nodes that it does not fit, of those with the demanded labels": (
        [*SMALL, *BIG], {"nodeSelector": {"pool": "s"}, **cpu("4")}, "s1",
    ),
    "a node that it does not fit without pods of DaemonSets": (
        [sized("d1", "4"), sized("d2", "4"), sized("w1", "8")], cpu("4"), "w1",
    ),
    "a cordoned node that it fits": (
        [*SMALL, sized("c1", "8", **CORDONED, taints=[UNSCHEDULABLE])], cpu("4"), "c1",
    ),
    "a tainted node that it fits": ([*SMALL, sized("m1", "8", **MASTER)], cpu("4"), "s1"),
    "every node is tainted": ([sized("m1", "2", **MASTER)], {}, "m1"),
    "an extended resource makes another kind": (
        [made("g1", {"cpu": "8", **GPU}), made("w1", {"cpu": "9"}), made("w2", {"cpu": "9"})],
        {}, "w1",
    ),
    "there is no node": ([], {}, ""),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "spec", "name"), USUAL.values(), ids=USUAL.keys())
def test_the_usual_node_is_found(nodes: list[Json], spec: Mapping[str, Any], name: str) -> None:
    daemons = [owned_by("DaemonSet", running(f"p{at}", at)) for at in ("d1", "d2")]

    assert find_usual_node(filter_scenario(nodes, daemons, **spec)) == name


@pytest.mark.parametrize(
    ("owner", "name"), {"DaemonSet": "w1", "Node": "w1", "ReplicaSet": "s1"}.items()
)
def test_a_host_port_counts_if_a_new_node_has_its_pod_too(owner: str, name: str) -> None:
    taken = [owned_by(owner, taking(f"p{at}", at, cpu("1", ports=PORT_80))) for at in ("s1", "s2")]
    if owner == "Node":
        mirror = {"kubernetes.io/config.mirror": "hash"}
        taken = [{**one, "metadata": {**one["metadata"], "annotations": mirror}} for one in taken]
    question = filter_scenario([*SMALL, BIG[0]], taken, **cpu("1", ports=PORT_80))

    assert find_usual_node(question) == name
