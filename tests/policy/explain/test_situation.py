from msgspec.structs import replace

from tests.policy.explain.situations import situation
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.policy.placement.nodes import Demands, Reason

CORDONED = replace(node("n3", "c", disk="ssd"), unschedulable=True)
NODES = (
    node("n1", "a", disk="ssd"),
    node("n2", "b", taints=[GPU], disk="ssd"),
    CORDONED,
    node("n4", "d", disk="hdd"),
    node("n5", "e", disk="ssd"),
)


def test_all_filters_that_are_modelled_are_asked() -> None:
    demands = Demands(pairs=(("disk", "ssd"),))
    placement = situation(
        NODES, spread_over(min_domains=9), pods={"n5": 1}, demands=demands
    ).placement()

    assert placement.passing == ("n1",)
    assert {name: found.reason for name, found in placement.refused.items()} == {
        "n2": Reason.TAINT, "n3": Reason.CORDON, "n4": Reason.AFFINITY
    }  # fmt: skip
    assert not placement.statuses["n5"].passes


def test_a_pod_without_demands_goes_anywhere() -> None:
    assert situation(NODES).placement().passing == ("n1", "n4", "n5")
