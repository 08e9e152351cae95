import pytest
from msgspec.structs import replace

from tests.policy.explain.scenarios import scenario
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.policy.defaulting.profiles import HOSTNAME, ZONE
from webhook.policy.explain.scenario import REGION, SHORT, full_key, short_key
from webhook.policy.placement.nodes import Demands, RejectionReason

CORDONED = replace(node("n3", "c", disk="ssd"), unschedulable=True)
NODES = (
    node("n1", "a", disk="ssd"),
    node("n2", "b", taints=[GPU], disk="ssd"),
    CORDONED,
    node("n4", "d", disk="hdd"),
    node("n5", "e", disk="ssd"),
)


def test_all_modelled_filters_are_applied() -> None:
    demands = Demands(pairs=(("disk", "ssd"),))
    placement = scenario(
        NODES, spread_over(min_domains=9), pods={"n5": 1}, demands=demands
    ).placement()

    assert placement.passing == ("n1",)
    assert {name: found.reason for name, found in placement.refused.items()} == {
        "n2": RejectionReason.TAINT, "n3": RejectionReason.CORDON, "n4": RejectionReason.AFFINITY
    }  # fmt: skip
    assert not placement.statuses["n5"].passes


def test_a_pod_without_demands_goes_anywhere() -> None:
    assert scenario(NODES).placement().passing == ("n1", "n4", "n5")


KEYS = {"zone": ZONE, "region": REGION, "hostname": HOSTNAME, "rack": "rack"}


@pytest.mark.parametrize(("short", "full"), KEYS.items())
def test_well_known_keys_have_short_names(short: str, full: str) -> None:
    assert full_key(short) == full
    assert short_key(full) == short
    assert full_key(full) == full


def test_all_short_names_are_tested() -> None:
    assert KEYS.keys() > SHORT.keys()
