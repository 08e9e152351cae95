"""
The nodes in one group of which all pods of a workload are, by required affinity to themselves.

``group_nodes`` is the entry point: the first pod chooses a node, and the others follow it to nodes
with the same topology values. Which pods a constraint counts does not matter here.

Source: kubernetes pkg/scheduler/framework/plugins/interpodaffinity/filtering.go
``satisfyPodAffinity``.
"""

from collections.abc import Iterable

from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.counting import other_workloads
from webhook.policy.advice.podaffinity import PodAffinityTerm
from webhook.policy.advice.subject import Subject
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import matches

NodeGroups = tuple[frozenset[str], ...]
"""Names of nodes, in groups."""


def matches_itself(term: PodAffinityTerm, subject: Subject) -> bool:
    """
    Whether a term of pod affinity or anti-affinity matches the subject's own pods.

    Any namespaceSelector is assumed to select the subject's namespace.
    """
    here = not term.namespaces or subject.namespace in term.namespaces or term.namespace_selector
    return (
        bool(here and term.topology_key)
        and term.label_selector is not None
        and matches(term.label_selector, subject.next_labels)
        and not any(key in subject.next_labels for key in term.mismatch_label_keys or ())
    )


def follows_own_pods(term: PodAffinityTerm, subject: Subject, cluster: ClusterState) -> bool:
    """Whether a term matches the subject's own pods, and certainly no others."""
    return (
        matches_itself(term, subject)
        and term.namespace_selector is None
        and {subject.namespace}.issuperset(term.namespaces or ())
        and term.label_selector != LabelSelector()
        and not other_workloads(subject, term.label_selector, cluster)
    )


def group_nodes(names: Iterable[str], subject: Subject, cluster: ClusterState) -> NodeGroups | None:
    """
    Group the nodes that pods can go to by what the first pod chooses.

    Args:
        names: Names of nodes of the cluster.

    Returns:
        None if the pods do not follow each other, or if that is not certain. Nodes without the
        topology keys are in no group.
    """
    terms = subject.companions
    if not terms or subject.part:  # pods of one object may follow those of another of its templates
        return None
    if not all(follows_own_pods(term, subject, cluster) for term in terms):
        return None
    keys = tuple(term.topology_key or "" for term in terms)
    found: dict[tuple[str, ...], set[str]] = {}
    for name in names:
        labels = cluster.topology.by_name[name].labels
        if all(key in labels for key in keys):
            found.setdefault(tuple(labels[key] for key in keys), set()).add(name)
    return tuple(map(frozenset, found.values()))
