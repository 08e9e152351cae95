"""Ranks by domain, with those that several pods hold and those that none holds."""

import pytest

from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.domainranks import MOST_GAPS, DomainRanks, summarize_ranks
from webhook.policy.scaledown.ranks import FOREIGN_COST, UNRANKED

DOMAINS = {("n1", "zone"): "a", ("n2", "zone"): "b", ("n1", "host"): "n1"}

# node and rank of pods; domain, pods, ranks, duplicates, gaps
PODS: dict[str, tuple[list[tuple[str, int]], list[DomainRanks]]] = {
    "no pods": ([], []),
    "a pod without a node": ([("", UNRANKED)], []),
    "consecutive ranks of two domains": (
        [("n1", 2), ("n2", 1), ("n1", 1)],
        [DomainRanks("zone", "a", 2, (1, 2)), DomainRanks("zone", "b", 1, (1,))],
    ),
    "a duplicate": (
        [("n1", 1), ("n1", 2), ("n1", 1)], [DomainRanks("zone", "a", 3, (1, 2), (1,))]
    ),
    "gaps": ([("n1", 2), ("n1", 5)], [DomainRanks("zone", "a", 2, (2, 5), (), (1, 3, 4))]),
    "pods without a rank": (
        [("n1", UNRANKED), ("n1", FOREIGN_COST), ("n1", 1)], [DomainRanks("zone", "a", 3, (1,))]
    ),
    "only such pods": ([("n1", UNRANKED)], [DomainRanks("zone", "a", 1)]),
    "nodes that are not known": (
        [("x", 1), ("y", 1), ("y", 4)], [DomainRanks("zone", "", 3, (1, 4))]
    ),
}  # fmt: skip


def domain_of(node: str, key: str) -> str | None:
    return DOMAINS.get((node, key))


@pytest.mark.parametrize(("pods", "expected"), PODS.values(), ids=PODS.keys())
def test_ranks_by_domain(pods: list[tuple[str, int]], expected: list[DomainRanks]) -> None:
    ranked = (RankedPod("zone", node, rank) for node, rank in pods)

    assert summarize_ranks(ranked, domain_of) == expected


def test_pods_with_other_keys_have_domains_of_their_own() -> None:
    pods = [RankedPod("zone", "n1", 1), RankedPod("host", "n1", 1)]

    found = [(row.topology_key, row.domain) for row in summarize_ranks(pods, domain_of)]

    assert found == [("host", "n1"), ("zone", "a")]


def test_a_very_high_rank_has_few_gaps() -> None:
    (row,) = summarize_ranks([RankedPod("zone", "n1", 2_000_000)], domain_of)

    assert len(row.gaps) == MOST_GAPS
