from typing import Any

import pytest

from tests.build import pod
from tests.policy.advice.subjects import GPU, node, subject, zones
from webhook.policy.advice.sharednodes import EVERYWHERE, SharedNodes
from webhook.policy.model import Node
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.topology import Topology


def demands(**spec: Any) -> Demands:
    return subject(pod(**spec)).demands


HOT, WARM = demands(nodeSelector={"tier": "hot"}), demands(nodeSelector={"tier": "warm"})
TIERS = [node("a1", "zone-a", tier="hot"), node("b1", "zone-b", tier="warm")]
TAINTED = [*zones("a1"), node("g1", "zone-b", GPU, pool="gpu")]
ON_GPU = demands(nodeSelector={"pool": "gpu"}, tolerations=[{"operator": "Exists"}])
NO_TAINTS = Demands((), None, ())

# nodes, what the other workload's pods require, what a node must satisfy to count; can they count?
SHARED: dict[str, tuple[list[Node], Demands, Demands, bool]] = {
    "another pool": (TIERS, WARM, HOT, False),
    "the same pool": (TIERS, HOT, HOT, True),
    "any pool": (TIERS, demands(), HOT, True),
    "another pool, and no nodes": ([], WARM, HOT, False),
    "another key, and no nodes": ([], demands(nodeSelector={"disk": "ssd"}), HOT, True),
    "nodes that are to come": (TIERS, demands(nodeSelector={"pool": "new"}), HOT, True),
    "a constraint that leaves no node out": (TIERS, WARM, EVERYWHERE, True),
    "nodes with taints": (TAINTED, ON_GPU, NO_TAINTS, False),
    "nodes with taints that count": (TAINTED, ON_GPU, EVERYWHERE, True),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "known", "counting", "counts"), SHARED.values(), ids=SHARED)
def test_pods_on_nodes_that_are_left_out_do_not_count(
    nodes: list[Node], known: Demands, counting: Demands, *, counts: bool
) -> None:
    shared = SharedNodes(Topology(nodes), {("shop", "Deployment/web"): known})

    assert shared.may_count("shop", "Deployment/web", counting) is counts


def test_pods_that_require_what_is_not_known_may_count() -> None:
    assert SharedNodes(Topology(TIERS)).may_count("shop", "Deployment/web", HOT)
