"""
The pods in each domain of a constraint, the global minimum, and the skew.

Which nodes and which pods count was decided before, in ``topology`` and ``census``.

Source: kube-scheduler plugins/podtopologyspread/filtering.go.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands, NodeRejection
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.topology import Domains, Topology
from webhook.policy.selectors import matches


class MinimumReason(StrEnum):
    """What makes the global minimum what it is."""

    NO_DOMAIN = "no node is eligible"
    TOO_FEW_DOMAINS = "there are fewer domains than minDomains"
    EMPTY_DOMAIN = "a domain has no pod"
    FEWEST_PODS = "every domain has pods"


class IncomingPod(msgspec.Struct, frozen=True):
    """
    A pod that is to be placed, as far as its constraints look at it.

    Attributes:
        namespace: Only its pods count.
        labels: The pod's own.
        demands: What it asks of a node.
    """

    namespace: str
    labels: Mapping[str, str]
    demands: Demands = Demands()


class Domain(msgspec.Struct, frozen=True):
    """
    One row of a tally: a value of the topology key.

    Attributes:
        value: The value.
        nodes: Eligible nodes with it; 0 if it is no domain, only a value that nodes have.
        left_out: Names of nodes with it that are not eligible -> why.
        pods: Counted pods on its eligible nodes.
        skew: What the skew were if the incoming pod went there.
        fits: Whether that is at most maxSkew.
    """

    value: str
    nodes: int
    left_out: Mapping[str, NodeRejection]
    pods: int
    skew: int
    fits: bool


class PodTally(msgspec.Struct, frozen=True):
    """
    The pods that one constraint counts.

    Attributes:
        spread: The constraint.
        domains: Its eligible nodes.
        by_node: Node name -> counted pods, eligible or not; a node without pods is absent.
        pods: Domain -> counted pods on its eligible nodes; a domain without pods is absent.
        joins: Whether the incoming pod matches the constraint's own selector.
        minimum: The global minimum.
        floor: What makes it so.
    """

    spread: SpreadConstraint
    domains: Domains
    by_node: Mapping[str, int]
    pods: Mapping[str, int]
    joins: bool
    minimum: int
    floor: MinimumReason

    def skew(self, value: str) -> int:
        """
        The skew if the incoming pod went to a node with this value of the topology key.

        Returns:
            Pods above the global minimum; never negative for a domain. A value that is no domain
            has no pods.

        Source: filtering.go ``Filter``.
        """
        return self.pods.get(value, 0) + self.joins - self.minimum

    def fits(self, value: str) -> bool:
        """Whether the constraint lets the incoming pod go to nodes with this value."""
        return self.skew(value) <= self.spread.max_skew

    def within(self, domains: Domains) -> "PodTally":
        """
        The same over fewer domains, as kube-scheduler scores by those of passing nodes only.

        Takes O(domains with counted pods).

        Args:
            domains: Of the same key. The pods of each are those on all its nodes that are eligible
                for the constraint.

        Source: scoring.go ``PreScore``.
        """
        pods = {value: pods for value, pods in self.pods.items() if value in domains.sizes}
        floor = _floor(len(domains.sizes), len(pods), self.spread.min_domains)
        minimum = min(pods.values()) if floor is MinimumReason.FEWEST_PODS else 0
        return replace(self, domains=domains, pods=pods, minimum=minimum, floor=floor)

    def table(self, topology: Topology) -> tuple[Domain, ...]:
        """
        A row for every value that nodes have, domain or not, sorted by value; O(nodes).

        Args:
            topology: The nodes that were counted.
        """
        left_out: dict[str, dict[str, NodeRejection]] = {value: {} for value in self.domains.sizes}
        key = self.spread.topology_key
        for node in topology.nodes:
            found = self.domains.left_out.get(node.name)
            if found is not None and key in node.labels:
                left_out.setdefault(node.labels[key], {})[node.name] = found
        return tuple(self._row(value, nodes) for value, nodes in sorted(left_out.items()))

    def _row(self, value: str, left_out: Mapping[str, NodeRejection]) -> Domain:
        return Domain(
            value=value,
            nodes=self.domains.sizes.get(value, 0),
            left_out=left_out,
            pods=self.pods.get(value, 0),
            skew=self.skew(value),
            fits=self.fits(value),
        )


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

    Takes O(nodes) for each constraint; where the topology remembers the domains and pods stand in
    its way, only O(nodes that have counted pods).

    Args:
        pod: The incoming pod.
        spreads: Either all hard constraints of the pod or all soft ones, in order.
        topology: The nodes.
        census: The pods; those on nodes that do not exist count nowhere.
        requires_keys: Whether only nodes that have the keys of all these constraints are eligible.

    Source: filtering.go ``calPreFilterState``, scoring.go ``PreScore``.
    """
    keys = tuple(spread.topology_key for spread in spreads) if requires_keys else ()
    counts: dict[bytes, Mapping[str, int]] = {}  # asked once: constraints mostly share a selector
    tallies: list[PodTally] = []
    for spread in spreads:
        selector = msgspec.json.encode(spread.selector)
        if selector not in counts:
            counts[selector] = census.count(pod.namespace, spread.selector)
        domains = topology.domains(spread.topology_key, keys, _honored(pod.demands, spread))
        tallies.append(_tally(pod, spread, domains, counts[selector]))
    return tuple(tallies)


def _honored(demands: Demands, spread: SpreadConstraint) -> Demands:
    return demands.honoring(affinity=spread.honors_affinity, taints=spread.honors_taints)


def _tally(
    pod: IncomingPod, spread: SpreadConstraint, domains: Domains, by_node: Mapping[str, int]
) -> PodTally:
    pods: dict[str, int] = {}
    for node, number in by_node.items():
        value = domains.values.get(node)
        if value is not None:
            pods[value] = pods.get(value, 0) + number
    floor = _floor(len(domains.sizes), len(pods), spread.min_domains)
    return PodTally(
        spread=spread,
        domains=domains,
        by_node=by_node,
        pods=pods,
        joins=matches(spread.selector, pod.labels),
        minimum=min(pods.values()) if floor is MinimumReason.FEWEST_PODS else 0,
        floor=floor,
    )


def _floor(domains: int, inhabited: int, min_domains: int) -> MinimumReason:
    """Source: filtering.go ``minMatchNum``."""
    if domains < min_domains:
        return MinimumReason.TOO_FEW_DOMAINS if domains else MinimumReason.NO_DOMAIN
    return MinimumReason.FEWEST_PODS if inhabited == domains else MinimumReason.EMPTY_DOMAIN
