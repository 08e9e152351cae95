"""The node whose resources new nodes are supposed to have."""

from typing import Any

import pytest

from tests.explain.filterscenarios import filter_scenario
from tests.policy.placement.filters.objects import Json, node_object
from webhook.explain.usualnodes import find_usual_node

MASTER: dict[str, Any] = {"taints": [{"key": "master", "effect": "NoSchedule"}]}
CORDONED: dict[str, Any] = {"unschedulable": True}
GPU = {"nvidia.com/gpu": "1"}


def sized(name: str, cpu: str, memory: str = "32000000Ki", **spec: Any) -> Json:
    return made(name, {"cpu": cpu, "memory": memory, "pods": "110"}, **spec)


def made(name: str, allocatable: dict[str, str], **spec: Any) -> Json:
    return {**node_object(name, allocatable, {"pool": name[0]}), "spec": spec}


BIG = [sized("w1", "8"), sized("w2", "8", "32000004Ki"), sized("w3", "8", "32000008Ki")]
SMALL = [sized("s1", "2"), sized("s2", "2")]

# nodes, specification of the pod, name of the node
USUAL: dict[str, tuple[list[Json], dict[str, Any], str]] = {
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
    "every node is tainted": ([sized("m1", "2", **MASTER)], {}, "m1"),
    "an extended resource makes another kind": (
        [made("g1", {"cpu": "8", **GPU}), made("w1", {"cpu": "9"}), made("w2", {"cpu": "9"})],
        {}, "w1",
    ),
    "there is no node": ([], {}, ""),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "spec", "name"), USUAL.values(), ids=USUAL.keys())
def test_the_usual_node_is_found(nodes: list[Json], spec: dict[str, Any], name: str) -> None:
    assert find_usual_node(filter_scenario(nodes, **spec)) == name
