"""
Pod tallies: the pods in each domain of a constraint, the global minimum and the skew.

``tally_pods`` is the entry point. Which nodes are eligible is decided in ``topology``, which pods
count in ``census``. What follows from the skew is decided in ``filtering`` and ``scoring``.

Source: kube-scheduler plugins/podtopologyspread/filtering.go.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.topology import Domains, Topology
from webhook.policy.selectors import matches


class MinimumReason(StrEnum):
    """Why the global minimum is what it is; it is 0 in all cases but the last."""

    NO_DOMAIN = "no node is eligible"
    TOO_FEW_DOMAINS = "there are fewer domains than minDomains"
    EMPTY_DOMAIN = "a domain has no pod"
    FEWEST_PODS = "every domain has pods"


class IncomingPod(msgspec.Struct, frozen=True):
    """A pod to place: its namespace, its labels, and its demands on nodes."""

    namespace: str
    labels: Mapping[str, str]
    demands: Demands = Demands()


class PodTally(msgspec.Struct, frozen=True):
    """
    The pods that one constraint counts.

    Attributes:
        by_node: Node name -> counted pods, eligible or not; nodes without pods are absent.
        pods: Domain -> counted pods on its eligible nodes; domains without pods are absent.
        matches_pod: Whether the constraint's selector matches the incoming pod itself.
    """

    spread: SpreadConstraint
    domains: Domains
    by_node: Mapping[str, int]
    pods: Mapping[str, int]
    matches_pod: bool
    minimum: int
    minimum_reason: MinimumReason

    @property
    def largest_skew(self) -> int:
        """The pods of the fullest domain above the global minimum, as the pods are now."""
        return max(self.pods.values(), default=0) - self.minimum

    def skew(self, value: str) -> int:
        """
        Calculate the skew if the incoming pod went to a node with this topology value.

        Returns:
            Pods above the global minimum; never negative for a domain. A value that is no domain
            has no pods.

        Source: filtering.go ``Filter``.
        """
        # skew = 'existing matching num' + 'if self-match (1 or 0)' - 'global min matching num'.
        # A pod that its own selector does not match adds nothing wherever it goes.
        return self.pods.get(value, 0) + self.matches_pod - self.minimum

    def fits(self, value: str) -> bool:
        """Whether the constraint allows the incoming pod on nodes with this value."""
        return self.skew(value) <= self.spread.max_skew

    def within(self, domains: Domains) -> "PodTally":
        """
        Restrict the tally to some domains of its key; O(domains with counted pods).

        kube-scheduler scores soft constraints only by the domains of nodes that passed the filters.
        The pods of a domain remain those on all its nodes that are eligible for the constraint.

        Source: scoring.go ``PreScore``.
        """
        pods = {value: pods for value, pods in self.pods.items() if value in domains.sizes}
        minimum, reason = _find_minimum(domains, pods, self.spread.min_domains)
        return replace(self, domains=domains, pods=pods, minimum=minimum, minimum_reason=reason)

    def count_ineligible(self, topology: Topology) -> Counter[str]:
        """Count the ineligible nodes with each value of the topology key; O(nodes)."""
        key = self.spread.topology_key
        left_out = (node for node in topology.nodes if node.name in self.domains.left_out)
        return Counter(node.labels[key] for node in left_out if key in node.labels)


def tally_pods(
    pod: IncomingPod,
    spreads: tuple[SpreadConstraint, ...],
    topology: Topology,
    census: Census,
    *,
    requires_keys: bool = True,
) -> tuple[PodTally, ...]:
    """
    Count the pods of each constraint.

    Takes O(nodes) for each constraint, or O(nodes with counted pods) if the topology still has the
    constraint's domains in its cache.

    Args:
        spreads: Either all hard constraints of the pod or all soft ones, in order.
        census: The pods; those on unknown nodes are in no domain.
        requires_keys: Whether a node must have the topology keys of all these constraints to be
            eligible for any of them.

    Source: filtering.go ``calPreFilterState``, scoring.go ``PreScore``.
    """
    # Eligibility spans constraints: a node without the zone label does not count for the hostname
    # constraint either. Hard and soft constraints are separate sets with separate keys.
    keys = tuple(spread.topology_key for spread in spreads) if requires_keys else ()
    counts: dict[bytes, Mapping[str, int]] = {}  # constraints of a pod mostly share their selector
    tallies: list[PodTally] = []
    for spread in spreads:
        selector = msgspec.json.encode(spread.selector)
        if selector not in counts:
            counts[selector] = census.count(pod.namespace, spread.selector)
        # nodeAffinityPolicy and nodeTaintsPolicy decide which of the pod's demands a node must
        # satisfy to count. By default affinity is honored and taints are ignored.
        demands = spread.counting(pod.demands)
        domains = topology.domains(spread.topology_key, keys, demands)
        tallies.append(_tally(pod, spread, domains, counts[selector]))
    return tuple(tallies)


def _tally(
    pod: IncomingPod, spread: SpreadConstraint, domains: Domains, by_node: Mapping[str, int]
) -> PodTally:
    pods: dict[str, int] = {}
    for node, number in by_node.items():
        value = domains.values.get(node)
        if value is not None:  # pods on ineligible nodes do not count, whatever their labels
            pods[value] = pods.get(value, 0) + number
    minimum, reason = _find_minimum(domains, pods, spread.min_domains)
    return PodTally(
        spread=spread,
        domains=domains,
        by_node=by_node,
        pods=pods,
        matches_pod=matches(spread.selector, pod.labels),
        minimum=minimum,
        minimum_reason=reason,
    )


def _find_minimum(
    domains: Domains, pods: Mapping[str, int], min_domains: int
) -> tuple[int, MinimumReason]:
    """
    Find the global minimum: the pods of the least full domain.

    Source: filtering.go ``minMatchNum``.
    """
    # With fewer domains than minDomains the minimum counts as 0, so that pods stay Pending until
    # a domain is added instead of filling those there are.
    if len(domains.sizes) < min_domains:
        few = MinimumReason.TOO_FEW_DOMAINS if domains.sizes else MinimumReason.NO_DOMAIN
        return 0, few
    # Every domain with an eligible node takes part, also one without pods. This is why a domain
    # of tainted nodes, which the pod can never enter, holds the minimum at 0.
    if len(pods) < len(domains.sizes):
        return 0, MinimumReason.EMPTY_DOMAIN
    return min(pods.values()), MinimumReason.FEWEST_PODS
