"""
What policy asks of a cluster: a protocol that the live caches, manifests and tests implement.

Every question is answered without waiting and in a time that does not grow with the cluster.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from webhook.policy.model import LabelSelector, OwnerReference


class Service(msgspec.Struct, frozen=True, gc=False):
    """
    What a Service says about the pods behind it.

    Attributes:
        name: Its name.
        selector: The pairs that its pods carry; may be empty, then it selects every pod.
    """

    name: str
    selector: dict[str, str]


class Facts(Protocol):
    """Questions about a cluster, as it is known at this moment."""

    def services(self, namespace: str, labels: Mapping[str, str], /) -> Sequence[Service]:
        """
        The Services of the namespace that select a pod with these labels, sorted by name.

        A Service without a selector (null) selects nothing and is never among them.
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


class NoFacts:
    """A cluster of which nothing is known: for manifests that are judged alone."""

    def services(self, _namespace: str, _labels: Mapping[str, str]) -> Sequence[Service]:
        """Know no Service."""
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
