"""Which ranks are corrected, and that corrections come to an end."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.corrections import Correction, CorrectionReason, plan_corrections
from webhook.policy.scaledown.ranks import FOREIGN_COST, UNRANKED

ZONE = "topology.kubernetes.io/zone"


def domain_of(node: str, key: str) -> str | None:
    """The zone of a1, a2 and b1 is their first letter; other nodes have none."""
    return node[0] if key == ZONE and node[0] in "ab" else None


def placed(**ranks: tuple[str, int]) -> dict[str, RankedPod]:
    return {name: RankedPod(ZONE, node, rank) for name, (node, rank) in ranks.items()}


Planned = dict[str, tuple[int, str]]

# pods: name -> node and rank; planned: name -> rank and reason
CASES: dict[str, tuple[dict[str, RankedPod], Planned]] = {
    "nothing is wrong": (placed(p=("a1", 1), q=("a2", 2), r=("b1", 1)), {}),
    "a pod without a rank": (placed(p=("a1", 1), q=("a2", UNRANKED)), {"q": (2, "unranked")}),
    "two pods of one rank": (placed(p=("a1", 1), q=("a2", 1)), {"q": (2, "duplicate")}),
    "a gap": (
        placed(p=("a1", 1), q=("a2", 5), r=("a3", 6)),
        {"q": (2, "gap"), "r": (3, "gap")},
    ),
    "two pods of a node before the first of another": (
        placed(p=("a1", 1), q=("a1", 2), r=("a2", 3)),
        {"q": (3, "order"), "r": (2, "order")},
    ),
    "a cost of another client": (
        placed(p=("a1", FOREIGN_COST), q=("a2", 1)),
        {"p": (2, "foreign-cost")},
    ),
    "pods of two domains": (placed(p=("a1", 2), r=("b1", 2)), {"p": (1, "gap"), "r": (1, "gap")}),
    "a pod that is not bound": (placed(p=("", UNRANKED)), {}),
    "a node without the key": (placed(p=("x1", UNRANKED)), {}),
    "no pod": ({}, {}),
}


@pytest.mark.parametrize(("pods", "planned"), CASES.values(), ids=CASES)
def test_corrections(pods: dict[str, RankedPod], planned: Planned) -> None:
    found = plan_corrections(pods, domain_of)

    assert {item.name: (item.rank, str(item.reason)) for item in found} == planned
    assert all(item.before == pods[item.name].rank for item in found)


def test_pods_whose_costs_others_write_keep_them() -> None:
    pods = placed(p=("a1", FOREIGN_COST), q=("a2", 2))

    assert plan_corrections(pods, domain_of, {"p"}) == [Correction("q", 2, 1, CorrectionReason.GAP)]


nodes = st.sampled_from(["", "a1", "a2", "a3", "b1", "b2", "x1"])
ranks = st.sampled_from([FOREIGN_COST, UNRANKED, 1, 1, 2, 3, 4, 7])
workloads = st.dictionaries(
    st.text("pqrstuvw", min_size=1, max_size=3), st.builds(RankedPod, st.just(ZONE), nodes, ranks)
)


@given(workloads)
def test_corrected_ranks_need_no_correction(pods: dict[str, RankedPod]) -> None:
    changes = {item.name: item.rank for item in plan_corrections(pods, domain_of)}
    corrected = {
        name: RankedPod(pod.key, pod.node, changes.get(name, pod.rank))
        for name, pod in pods.items()
    }

    assert plan_corrections(corrected, domain_of) == []
    held: defaultdict[str, list[RankedPod]] = defaultdict(list)
    for pod in corrected.values():
        held[domain_of(pod.node, ZONE) or "" if pod.node else ""].append(pod)
    for domain, found in held.items():
        found.sort(key=lambda pod: pod.rank)
        if domain:
            assert [pod.rank for pod in found] == list(range(1, len(found) + 1))
            assert_nodes_stay_even(found)


def assert_nodes_stay_even(found: list[RankedPod]) -> None:
    """A node loses its last pod but one no earlier than the others with as many pods."""
    places: defaultdict[str, int] = defaultdict(int)
    order: list[int] = []
    for pod in found:
        places[pod.node] += 1
        order.append(places[pod.node])
    assert order == sorted(order)
