"""
The ranks that the pods of one controller hold in each domain; use ``summarize_ranks``.

A rank is held twice if two replicas of the webhook gave it at the same moment, and a gap is left
where a pod was deleted. Until both are corrected, a scale-down can be uneven by their number.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import islice

import msgspec

from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.corrections import FindDomain

MOST_GAPS = 100  # of a domain; the author of a pod may write a very high rank


class DomainRanks(msgspec.Struct, frozen=True, rename="camel"):
    """
    The pods of a controller in one domain.

    Attributes:
        topology_key: The key whose domains the pods are ranked in; empty without a constraint.
        domain: Empty if the node is not known or lacks the key: there, nothing is compared.
        pods: Number of pods with a node, with a rank or without.
        ranks: The ranks that they hold, sorted, each of them once.
        duplicates: Those that several pods hold.
        gaps: The ranks below the highest one that no pod holds, the first ones.
    """

    topology_key: str
    domain: str
    pods: int
    ranks: tuple[int, ...] = ()
    duplicates: tuple[int, ...] = ()
    gaps: tuple[int, ...] = ()


def summarize_ranks(pods: Iterable[RankedPod], domain_of: FindDomain) -> list[DomainRanks]:
    """
    Summarize the ranks of the pods of one controller, sorted by key and domain.

    Args:
        pods: Its live pods; those without a node are left out.
        domain_of: Finds the domain of a node.
    """
    held: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for pod in pods:
        if pod.node:
            held[pod.key, domain_of(pod.node, pod.key) or ""].append(pod.rank)
    return [_summarize(key, domain, ranks) for (key, domain), ranks in sorted(held.items())]


def _summarize(key: str, domain: str, found: list[int]) -> DomainRanks:
    number = Counter(rank for rank in found if rank > 0)
    ranks = tuple(sorted(number))
    if not domain:
        return DomainRanks(key, domain, len(found), ranks)
    missing = (rank for rank in range(1, max(ranks, default=0)) if rank not in number)
    return DomainRanks(
        topology_key=key,
        domain=domain,
        pods=len(found),
        ranks=ranks,
        duplicates=tuple(rank for rank in ranks if number[rank] > 1),
        gaps=tuple(islice(missing, MOST_GAPS)),
    )
