"""
Pods of other workloads that are too many in a domain by themselves: what ends the skew, for TSC114.

``suggest_about_others`` is the entry point. Evictions and restarts of a workload place its own pods
anew. If a constraint counts other pods too, these may keep the skew above maxSkew wherever its own
pods are.
"""

from collections import Counter
from heapq import heapify, heapreplace
from itertools import islice

from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.counting import other_workloads
from webhook.policy.advice.findings import NAMED_EXAMPLES, join_names
from webhook.policy.advice.subject import Subject
from webhook.policy.placement.tallies import PodTally


def suggest_about_others(subject: Subject, tally: PodTally, cluster: ClusterState) -> str | None:
    """
    Suggest what to do if a workload's own pods cannot end a skew; a YAML comment.

    Args:
        tally: The pods that one of its constraints counts.

    Returns:
        None if its own pods can end the skew, as far as is known.
    """
    others = _count_others(subject, tally)
    own = sum(tally.pods.values()) - sum(others.values())
    if _find_least_skew(others, tally, own) <= tally.spread.max_skew:
        return None
    named = other_workloads(subject, tally.spread.selector, cluster)
    if not named:
        return None
    most = max(others.values())
    full = sorted(value for value, pods in others.items() if pods == most)
    names = join_names(list(islice(named, NAMED_EXAMPLES)), len(named))
    return (
        f"# its own pods cannot end this, wherever they are: {join_names(full)} has {most} pods of "
        f"{names}; spread those, or write a labelSelector that does not count them"
    )


def _count_others(subject: Subject, tally: PodTally) -> Counter[str]:
    """Count the pods of other workloads by domain; fewer if some own pods do not count."""
    own = Counter[str]()
    for group in subject.running:
        if not group.replaced:
            for node, pods in group.nodes.items():
                own[tally.domains.values.get(node, "")] += pods
    return Counter(tally.pods) - own


def _find_least_skew(others: Counter[str], tally: PodTally, own: int) -> int:
    """Find the skew that remains if own pods are placed one by one where the fewest pods are."""
    pods = [others[value] for value in tally.domains.sizes]
    heapify(pods)
    for _ in range(own):
        heapreplace(pods, pods[0] + 1)
    return max(pods) - pods[0]
