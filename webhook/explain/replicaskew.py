"""
Where the replicas of a workload are, beside the pods that its constraints count.

``add_replicas`` is the entry point. A constraint may count fewer pods than the workload has, or
those of others, so that its skew alone does not show how even the workload is.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import msgspec
from msgspec.structs import replace

from webhook.explain.keynames import KeyNames
from webhook.explain.removalchoice import RemovalChoice, SkewBounds
from webhook.policy.model import Node
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.tallies import PodTally


class DomainReplicas(msgspec.Struct, frozen=True):
    """
    A value of a topology key after a rollout; empty for nodes without the key.

    Attributes:
        replicas: Pods of the workload.
        pods: Pods that the constraint counts.
    """

    value: str
    replicas: int
    pods: int


class SkewChange(msgspec.Struct, frozen=True, rename="camel"):
    """
    The pods of the fullest domain above the emptiest one, before and after the rollout.

    Attributes:
        index: Position of the constraint in its list, from 0.
        before: The skew of the counted pods.
        after: The same after the rollout.
        replicas_before: The skew of the workload's own pods, counted or not.
        replicas_after: The same after the rollout.
        domains: The values that have pods or are domains, sorted.
        bounds: Those of ``after``, if it is not determined which pods are removed; None otherwise.
        replicas_bounds: Those of ``replicas_after``, likewise.
    """

    index: int
    topology_key: str
    before: int
    after: int
    replicas_before: int = 0
    replicas_after: int = 0
    domains: tuple[DomainReplicas, ...] = ()
    bounds: SkewBounds | None = None
    replicas_bounds: SkewBounds | None = None

    @property
    def counts_others(self) -> bool:
        """Whether the counted pods are not exactly the replicas, domain by domain."""
        return any(domain.replicas != domain.pods for domain in self.domains)


def add_replicas(
    change: SkewChange,
    tallies: tuple[PodTally, PodTally],
    nodes: Iterable[Node],
    replicas: tuple[Mapping[str, int], Mapping[str, int]],
) -> SkewChange:
    """
    Add where the replicas are; O(nodes).

    Args:
        tallies: Those of the constraint before and after the rollout.
        nodes: All nodes of both clusters.
        replicas: Node name -> pods of the workload, before and after.
    """
    values = {node.name: node.labels.get(change.topology_key, "") for node in nodes}
    before, after = (count_values(values, pods) for pods in replicas)
    sizes, counted = tallies[1].domains.sizes, tallies[1].pods
    return replace(
        change,
        replicas_before=measure_skew(before, tallies[0].domains.sizes),
        replicas_after=measure_skew(after, sizes),
        domains=tuple(
            DomainReplicas(value, after.get(value, 0), counted.get(value, 0))
            for value in sorted({*sizes, *after})
        ),
    )


def add_bounds(
    change: SkewChange,
    tallies: tuple[PodTally, PodTally],
    nodes: Iterable[Node],
    replicas: Mapping[str, int],
    choice: RemovalChoice,
) -> SkewChange:
    """
    Add the bounds of the skews after a removal that is not determined; O(nodes).

    Args:
        tallies: Those of the constraint after the removal, in all domains, and in those that count
            for the skew.
        nodes: All nodes after it.
        replicas: Node name -> pods of the workload after it.
    """
    counted, reachable = tallies
    sizes = reachable.domains.sizes
    values = {node.name: node.labels.get(change.topology_key, "") for node in nodes}

    def find_domain(pod: ObservedPod) -> str | None:
        value = counted.domains.values.get(pod.spec.node_name or "")
        counts = pod.counts and counted.spread.counts(pod.metadata.labels or {})
        return value if counts and value in sizes else None

    def find_value(pod: ObservedPod) -> str | None:
        return values.get(pod.spec.node_name or "") or None

    pods = {value: number for value, number in reachable.pods.items() if value in sizes}
    own = {value: number for value, number in count_values(values, replicas).items() if value}
    return replace(
        change,
        bounds=choice.bound(pods, sizes, find_domain),
        replicas_bounds=choice.bound(own, sizes, find_value),
    )


def count_values(values: Mapping[str, str], pods: Mapping[str, int]) -> Counter[str]:
    """Count pods by a label of their nodes: node name -> value, and node name -> pods."""
    found = Counter[str]()
    for node, number in pods.items():
        if node in values and number:
            found[values[node]] += number
    return found


def measure_skew(pods: Mapping[str, int], domains: Collection[str]) -> int:
    """Measure the pods of the fullest value above those of the emptiest domain, which counts."""
    least = min((pods.get(value, 0) for value in domains), default=0)
    # Nodes without the key are no domain: however many pods they have, no skew exists there.
    return max((number for value, number in pods.items() if value), default=least) - least


def describe_skews(skews: Iterable[SkewChange], names: KeyNames) -> str:
    """
    Describe changes of the skew as the end of a sentence: ``; skew of zone 0 -> 1``.

    Args:
        names: The names of label keys.
    """
    return "".join(_describe_change(skew, names.short(skew.topology_key)) for skew in skews)


def _describe_change(skew: SkewChange, name: str) -> str:
    own = describe_range(skew.replicas_after, skew.replicas_bounds)
    counted = describe_range(skew.after, skew.bounds)
    return describe_skew(name, f"{skew.replicas_before} -> {own}", f"{skew.before} -> {counted}")


def describe_range(skew: int, bounds: SkewBounds | None) -> str:
    """Describe a skew with its bounds, as ``0 (0 to 2)``; without them if it is certain."""
    if bounds is None or bounds.least == bounds.most:
        return f"{skew}"
    return f"{skew} ({bounds.least} to {bounds.most})"


def describe_skew(name: str, own: str, counted: str) -> str:
    """
    Describe the skew of one constraint as the end of a sentence.

    Args:
        name: The name of its topology key.
        own: The skew of the workload's own pods before and after, as ``3 -> 3``.
        counted: The same of the counted pods.
    """
    if own == counted:
        return f"; skew of {name} {counted}"
    return f"; skew of its own pods by {name} {own}, of the counted pods {counted}"
