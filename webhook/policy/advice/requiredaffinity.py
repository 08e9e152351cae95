"""
Required pod affinity and anti-affinity of pods that wait, by the pods that are known.

``read_affinity`` is the entry point. A term of anti-affinity allows no pod that it selects beside
another one, as a hard constraint does that has maxSkew 1 and more minDomains than there are
domains, so that it is counted like one. What cannot be known here rejects no node: the pods of
other namespaces, which an audit may not have read, and the anti-affinity of other pods. Pods that
are being deleted are not known either: until they are gone, pods can still follow them.

Source: kube-scheduler plugins/interpodaffinity/filtering.go ``satisfyPodAffinity``,
``satisfyPodAntiAffinity``.
"""

import sys
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet

import msgspec

from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.podaffinity import PodAffinityTerm
from webhook.policy.advice.subject import Subject
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint, LabelSelector, Node
from webhook.policy.placement.scoring import filter_node
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.tallies import PodTally, tally_pods
from webhook.policy.selectors import matches, merge_match_label_keys


class RequiredAffinity(msgspec.Struct, frozen=True):
    """
    Which nodes required pod affinity and anti-affinity reject.

    Attributes:
        avoided: The pods that each term of anti-affinity selects, as the tallies of constraints.
        followed: Topology key of a term of affinity -> the values that a node may have.
    """

    avoided: tuple[PodTally, ...] = ()
    followed: Mapping[str, AbstractSet[str]] = {}

    def find_rejecting(self, node: Node) -> str:
        """Return the field of a pod's affinity that rejects a node; empty if none does."""
        if any(node.labels.get(key) not in values for key, values in self.followed.items()):
            return "podAffinity"
        return "" if filter_node(node, self.avoided).passes else "podAntiAffinity"


NO_AFFINITY = RequiredAffinity()
"""Rejects no node."""


def read_affinity(
    subject: Subject, reached: Collection[str], cluster: ClusterState
) -> RequiredAffinity:
    """
    Read which nodes reject the next pod of a subject for its affinity to pods that have a node.

    Args:
        reached: Names of the nodes that the pod can go to otherwise.

    Returns:
        ``NO_AFFINITY`` unless one of its pods is known to wait, and no rollout runs, which may be
        about to delete the pods that reject it. So it is if all nodes are rejected: then this is
        the effect of no constraint.
    """
    waits = any("" in group.nodes for group in subject.running)
    if not waits or any(group.replaced or group.unordered for group in subject.running):
        return NO_AFFINITY  # most workloads
    avoided = tuple(_tally_avoided(subject, cluster))
    found = RequiredAffinity(avoided, _find_followed(subject, cluster))
    nodes = (node for node in cluster.topology.nodes if node.name in reached)
    return NO_AFFINITY if all(map(found.find_rejecting, nodes)) else found


def _tally_avoided(subject: Subject, cluster: ClusterState) -> Iterator[PodTally]:
    """Count the pods of each term of anti-affinity, apart, since nodes need no topology key."""
    affinity = subject.pod.spec.affinity if subject.pod.spec else None
    against = affinity.pod_anti_affinity if affinity else None
    pod, first = subject.next_pod, len(subject.constraints)
    for index, term in enumerate(against.required if against else (), first):
        key = term.topology_key or ""
        if (
            _selects_own_namespace(term, subject)
            and not term.mismatch_label_keys
            and all(key in node.labels for node in cluster.topology.nodes)
        ):
            spread = _read_as_constraint(term, index, pod.labels)
            yield from tally_pods(pod, (spread,), cluster.topology, cluster.census)


def _selects_own_namespace(term: PodAffinityTerm, subject: Subject) -> bool:
    if term.namespace_selector == LabelSelector() or subject.namespace in (term.namespaces or ()):
        return True
    return not term.namespaces and term.namespace_selector is None


def _read_as_constraint(
    term: PodAffinityTerm, index: int, labels: Mapping[str, str]
) -> SpreadConstraint:
    """Read a term of anti-affinity as a constraint whose global minimum is always 0."""
    written = Constraint(
        max_skew=1,
        topology_key=term.topology_key or "",
        when_unsatisfiable=DO_NOT_SCHEDULE,
        label_selector=term.label_selector,
        match_label_keys=term.match_label_keys or (),
    )
    (merged,) = merge_match_label_keys((written,), labels)
    return SpreadConstraint(
        constraint=written,
        index=index,
        topology_key=written.topology_key,
        # A pod that the term does not select adds nothing where it goes: no pod may be there.
        max_skew=int(matches(merged.label_selector, labels)),
        selector=merged.label_selector,
        min_domains=sys.maxsize,
        honors_affinity=False,
        honors_taints=False,
    )


def _find_followed(subject: Subject, cluster: ClusterState) -> Mapping[str, AbstractSet[str]]:
    """
    Find the topology values of the pods that all terms of affinity select.

    Returns:
        Empty if there are none, as for the first pod of those that follow each other, or if pods
        of other namespaces may be among them.
    """
    terms, namespace = subject.companions, subject.namespace
    if not terms or not all(_is_known(term, namespace) for term in terms):
        return {}
    nodes = [
        cluster.topology.by_name[name]
        for labels, names in cluster.census.select(namespace, terms[0].label_selector)
        if all(matches(term.label_selector, labels) for term in terms)
        for name in names
        if name in cluster.topology.by_name
    ]
    keys = {term.topology_key or "" for term in terms}
    found = {key: {node.labels[key] for node in nodes if key in node.labels} for key in keys}
    return found if all(found.values()) else {}


def _is_known(term: PodAffinityTerm, namespace: str) -> bool:
    """Whether a term selects pods of one namespace only, by a selector that is known."""
    return (
        {namespace}.issuperset(term.namespaces or ())
        and term.namespace_selector is None
        and not term.match_label_keys
        and not term.mismatch_label_keys
    )
