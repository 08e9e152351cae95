import pytest

from tests.build import FakeFacts
from tests.policy.advice.subjects import GPU, TAINTED_C, THREE, among, judged, required
from webhook.policy.advice.reachabledomains import count_reachable, list_tainted
from webhook.policy.model import ZONE
from webhook.policy.placement.nodes import Demands, Toleration

FACTS = FakeFacts(nodes=TAINTED_C)
TOLERATING = Demands(tolerations=(Toleration("gpu", "Exists"),))


def demands(*values: str) -> Demands:
    """Those of a pod that requires one of some zones; without tolerations."""
    return judged(**required([among(*values)])).demands


def but(*values: str) -> Demands:
    """Those of a pod that requires none of some zones; without tolerations."""
    excluding = {"key": ZONE, "operator": "NotIn", "values": values}
    return judged(**required([excluding])).demands


BUT_A, BUT_C = but("zone-a", "zone-x"), but("zone-c")


@pytest.mark.parametrize(
    ("pods", "number"),
    [
        (Demands(), 2),
        (TOLERATING, 3),
        (Demands(tolerations=None), 3),
        (demands("zone-a", "zone-b"), 2),
        (demands("zone-a", "zone-x"), 1),
        (demands("zone-a", "zone-c"), 1),
        (demands("zone-c"), 0),
        (demands("zone-c").honoring(affinity=True, taints=False), 1),
        (demands("zone-x"), 0),
        (BUT_A, 1),
        (BUT_A.honoring(affinity=True, taints=False), 2),
        (BUT_C, 2),
    ],
    ids=str,
)
def test_known_domains_that_affinity_and_tolerations_allow(pods: Demands, number: int) -> None:
    assert count_reachable(ZONE, pods, FACTS) == number


def test_a_key_of_no_node_has_no_domain() -> None:
    assert count_reachable("rack", Demands(), FACTS) == 0


def test_taints_that_are_not_tolerated_close_domains() -> None:
    (found,) = list_tainted(ZONE, Demands(), FACTS)

    assert (list(found[0]), found[1]) == (["zone-c"], GPU)
    for pods in (TOLERATING, Demands(tolerations=None)):
        assert not list(list_tainted(ZONE, pods, FACTS))
    assert not list(list_tainted(ZONE, Demands(), FakeFacts(nodes=THREE)))
