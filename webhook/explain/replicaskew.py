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
from webhook.policy.model import Node
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
    """

    index: int
    topology_key: str
    before: int
    after: int
    replicas_before: int = 0
    replicas_after: int = 0
    domains: tuple[DomainReplicas, ...] = ()

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
    return "".join(
        describe_skew(
            names.short(skew.topology_key),
            f"{skew.replicas_before} -> {skew.replicas_after}",
            f"{skew.before} -> {skew.after}",
        )
        for skew in skews
    )


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
