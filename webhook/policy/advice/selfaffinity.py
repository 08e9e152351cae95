"""
Required pod affinity of pods to themselves, which keeps the pods of a workload together.

``describe_following`` is the entry point: all pods follow the first one to its domain. It is silent
where the next pod has a choice, since pods of other workloads match the term, or pods in several
domains do.

Source: kube-scheduler plugins/interpodaffinity/filtering.go ``satisfyPodAffinity``.
"""

from collections.abc import Container

from webhook.policy.advice.capacity import name_waiting
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.everyorder import list_counted
from webhook.policy.advice.findings import count_of, quote_value
from webhook.policy.advice.followednodes import follows_own_pods, matches_itself
from webhook.policy.advice.podaffinity import PodAffinityTerm
from webhook.policy.advice.subject import Subject
from webhook.policy.placement.tallies import PodTally


def describe_following(
    subject: Subject, tally: PodTally, keys: tuple[str, ...], context: AdviceContext
) -> str:
    """
    Describe that all pods follow the first one to its domain of a constraint.

    Args:
        tally: The pods that the constraint counts.
        keys: The topology keys that a node must have.

    Returns:
        Empty if that is not certain, or if the pods can go to one domain only.
    """
    cluster, key = context.cluster, tally.spread.topology_key
    terms = subject.companions
    if cluster is None or not terms or subject.part:
        return ""  # pods of one object may follow those of another of its templates
    reached = cluster.lasting_domains(key, keys, subject.demands).sizes
    if (
        len(reached) == 1
        or not all(matches_itself(term, subject) for term in terms)
        or not any(_keeps_together(term, key, subject, reached, cluster) for term in terms)
    ):
        return ""
    return (
        f"by podAffinity all its pods follow the first one to 1 of {len(reached)} domains of "
        f"{quote_value(key)}: the constraint cannot spread its pods"
        f"{_name_pending(subject, tally, context)}"
    )


def _keeps_together(
    term: PodAffinityTerm,
    key: str,
    subject: Subject,
    reached: Container[str],
    cluster: ClusterState,
) -> bool:
    """Whether a term that the pods match keeps all of them in one of the reached domains."""
    if term.match_label_keys or not follows_own_pods(term, subject, cluster):
        return False  # revisions may be apart
    nodes = cluster.topology.by_name
    placed = cluster.census.count(subject.namespace, term.label_selector)
    values = {nodes[name].labels.get(key, "") if name in nodes else "" for name in placed}
    in_one = len(values) <= 1 and all(value in reached for value in values)
    return in_one and _is_within(term.topology_key or "", key, cluster)


def _is_within(inner: str, outer: str, cluster: ClusterState) -> bool:
    """Whether the nodes of each domain of a key are in one domain of another, or the same, key."""
    pairs = {(node.labels.get(inner), node.labels.get(outer)) for node in cluster.topology.nodes}
    return len({value for value, _ in pairs}) == len(pairs)


def _name_pending(subject: Subject, tally: PodTally, context: AdviceContext) -> str:
    """Name the pods that stay Pending where all of them are in one domain; empty if unknown."""
    spread = tally.spread
    counted = [one for one in list_counted(subject, context) if one.spread.index == spread.index]
    if len(tally.pods) > 1 or not any(one.own and not one.others for one in counted):
        return ""
    waiting = name_waiting(subject, spread.constraint, spread.max_skew)
    most = count_of(spread.max_skew, "pod")
    return f", and allows {most} there, {waiting} stay Pending" if waiting else ""
