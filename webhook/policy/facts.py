"""
What policy asks of a cluster: a protocol that the live caches, manifests and tests implement.

Every question is answered without waiting and in a time that does not grow with the cluster.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from webhook.policy.model import LabelSelector, OwnerReference, Taint


class ServiceSelector(msgspec.Struct, frozen=True, gc=False):
    """
    What a ServiceSelector says about the pods behind it.

    Attributes:
        name: Its name.
        selector: The pairs that its pods carry; may be empty, then it selects every pod.
    """

    name: str
    selector: dict[str, str]


class TaintedDomains(msgspec.Struct, frozen=True):
    """
    Domains in which every schedulable Node is tainted, and all in the same ways.

    Attributes:
        taints: The ways: the NoSchedule and NoExecute taints of a Node, at least one in each;
            every way that there is in each of these domains, at least one.
        values: The domains, as values of the topology key; at least one.
    """

    taints: tuple[tuple[Taint, ...], ...]
    values: Collection[str]


class Facts(Protocol):
    """Questions about a cluster, as it is known at this moment."""

    def services(self, namespace: str, labels: Mapping[str, str], /) -> Sequence[ServiceSelector]:
        """
        The Services of the namespace that select a pod with these labels, sorted by name.

        A ServiceSelector without a selector (null) selects nothing and is never among them.
        """
        ...

    def owner_selector(self, namespace: str, owner: OwnerReference, /) -> LabelSelector | None:
        """
        The selector of an owner, found by namespace, API version, kind and name.

        Returns:
            For a ReplicationController its pairs. None if the owner is not known, is of another
            kind or API version than those that have a selector, or has none.
        """
        ...

    def namespace_labels(self, namespace: str, /) -> Mapping[str, str] | None:
        """The labels of a Namespace; None if it is not known."""
        ...

    def schedulable_nodes(self) -> int:
        """How many Nodes are not marked unschedulable."""
        ...

    def nodes_with(self, topology_key: str, /) -> int:
        """How many schedulable Nodes carry a label."""
        ...

    def domains(self, topology_key: str, /) -> int:
        """How many values a label has on schedulable Nodes."""
        ...

    def label_keys(self) -> Collection[str]:
        """The keys of all labels of schedulable Nodes."""
        ...

    def tainted_domains(self, topology_key: str, /) -> Sequence[TaintedDomains]:
        """
        The domains into which no pod may go that tolerates no taint.

        Returns:
            An entry for each set of ways in which such domains are tainted: as many as there are
            uses of nodes, not as many as there are nodes.
        """
        ...


class NoFacts:
    """A cluster of which nothing is known: for manifests that are judged alone."""

    def services(self, _namespace: str, _labels: Mapping[str, str]) -> Sequence[ServiceSelector]:
        """Know no ServiceSelector."""
        return ()

    def owner_selector(self, _namespace: str, _owner: OwnerReference) -> LabelSelector | None:
        """Know no owner."""
        return None

    def namespace_labels(self, _namespace: str) -> Mapping[str, str] | None:
        """Know no Namespace."""
        return None

    def schedulable_nodes(self) -> int:
        """Know no Node."""
        return 0

    def nodes_with(self, _topology_key: str) -> int:
        """Know no Node."""
        return 0

    def domains(self, _topology_key: str) -> int:
        """Know no Node."""
        return 0

    def label_keys(self) -> Collection[str]:
        """Know no Node."""
        return ()

    def tainted_domains(self, _topology_key: str) -> Sequence[TaintedDomains]:
        """Know no Node."""
        return ()
