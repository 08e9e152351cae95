"""
Pods of other workloads that a constraint counts: what ends a skew that they cause.

``suggest_own_selector`` and ``suggest_about_others`` are the entry points, for TSC114 and TSC119,
and ``name_others`` names the workloads. Evictions, restarts and moved data place a workload's own
pods anew. If a constraint counts other pods too, these may keep the skew above maxSkew wherever its
own pods are, or its own pods may be even already.
"""

from collections import Counter
from heapq import heapify, heapreplace
from itertools import islice

from msgspec.structs import replace

from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.counting import other_workloads
from webhook.policy.advice.findings import NAMED_EXAMPLES, join_names
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import suggest_narrower
from webhook.policy.placement.tallies import PodTally
from webhook.policy.selectors import matches


def name_others(subject: Subject, tally: PodTally, cluster: ClusterState) -> str:
    """
    Name the other workloads whose pods a constraint counts.

    Returns:
        Empty if it counts no such pods in its domains, or if their workloads are not known.
    """
    if not count_others(subject, tally):
        return ""
    counting = tally.spread.counting(subject.demands)
    named = other_workloads(subject, tally.spread.selector, cluster, counting)
    return join_names(list(islice(named, NAMED_EXAMPLES)), len(named))


def suggest_own_selector(subject: Subject, tally: PodTally, cluster: ClusterState) -> str | None:
    """
    Suggest a selector that counts no others, if a workload's own pods alone satisfy maxSkew.

    Returns:
        YAML or a comment; None if they exceed maxSkew, or if no others are known to count.
    """
    alone = replace(tally, pods=_count_own(subject, tally)).within(tally.domains)
    if alone.largest_skew > tally.spread.max_skew or not name_others(subject, tally, cluster):
        return None
    return suggest_narrower(subject, tally.spread.constraint, tally.spread.selector, cluster)


def suggest_about_others(subject: Subject, tally: PodTally, cluster: ClusterState) -> str | None:
    """
    Suggest what to do if a workload's own pods cannot end a skew; a YAML comment.

    Args:
        tally: The pods that one of its constraints counts.

    Returns:
        None if its own pods can end the skew, as far as is known.
    """
    others = count_others(subject, tally)
    own = sum(tally.pods.values()) - sum(others.values())
    if _find_least_skew(others, tally, own) <= tally.spread.max_skew:
        return None
    names = name_others(subject, tally, cluster)
    if not names:
        return None
    most = max(others.values())
    full = sorted(value for value, pods in others.items() if pods == most)
    return (
        f"# its own pods cannot end this, wherever they are: {join_names(full)} has {most} pods of "
        f"{names}; spread those, or write a labelSelector that does not count them"
    )


def count_others(subject: Subject, tally: PodTally) -> Counter[str]:
    """Count the pods of other workloads by domain; domains without any are absent."""
    return Counter(tally.pods) - _count_own(subject, tally)


def _count_own(subject: Subject, tally: PodTally) -> Counter[str]:
    """Count a workload's own pods that a constraint counts, by domain, without replaced ones."""
    own = Counter[str]()
    for group in subject.running:
        if not group.replaced and matches(tally.spread.selector, group.pod.labels):
            for node, pods in group.nodes.items():
                if (value := tally.domains.values.get(node)) is not None:
                    own[value] += pods
    return own


def _find_least_skew(others: Counter[str], tally: PodTally, own: int) -> int:
    """Find the skew that remains if own pods are placed one by one where the fewest pods are."""
    pods = [others[value] for value in tally.domains.sizes]
    heapify(pods)
    for _ in range(own):
        heapreplace(pods, pods[0] + 1)
    return max(pods) - pods[0]
