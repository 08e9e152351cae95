"""
The facts of a cluster that the policy depends on.

``Facts`` is a protocol: the live caches, clusters read from manifests, and tests implement it. An
implementation answers from memory, in a time that does not grow with the cluster.
"""

# ruff: noqa: ARG002 - the facts of an unknown cluster depend on nothing

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from webhook.policy.model import LabelSelector, OwnerReference, Taint
from webhook.policy.policyexceptions import PolicyException


class ServiceSelector(msgspec.Struct, frozen=True, gc=False):
    """The labels that the pods of a Service carry; an empty selector selects every pod."""

    name: str
    selector: dict[str, str]


class TaintedDomains(msgspec.Struct, frozen=True):
    """
    Domains in which every schedulable Node is tainted, and whose Nodes have the same taints.

    Attributes:
        taints: The different combinations of NoSchedule and NoExecute taints on the Nodes of each
            of these domains; at least one combination of at least one taint.
        values: The domains, as values of the topology key; at least one.
    """

    taints: tuple[tuple[Taint, ...], ...]
    values: Collection[str]


class Facts(Protocol):
    """The current facts of a cluster; the default implementations know nothing."""

    def services(self, namespace: str, labels: Mapping[str, str], /) -> Sequence[ServiceSelector]:
        """
        Find the Services of a namespace that select a pod with these labels, sorted by name.

        A Service without a selector (null) selects no pod.
        """
        return ()

    def owner_selector(self, namespace: str, owner: OwnerReference, /) -> LabelSelector | None:
        """
        Find the selector of an owner by namespace, API version, kind and name.

        Returns:
            The selector; the pairs of a ReplicationController as ``matchLabels``. None if the
            owner is unknown or has no selector, or if its kind and API version have none.
        """
        return None

    def namespace_labels(self, namespace: str, /) -> Mapping[str, str] | None:
        """Find the labels of a Namespace; None if it is unknown."""
        return None

    def schedulable_nodes(self) -> int:
        """Count the Nodes that are not cordoned."""
        return 0

    def nodes_with(self, topology_key: str, /) -> int:
        """Count the schedulable Nodes that carry a label."""
        return 0

    def domains(self, topology_key: str, /) -> Collection[str]:
        """List the values that a label has on Nodes, whatever their state."""
        return ()

    def label_keys(self) -> Collection[str]:
        """List the keys of all labels of schedulable Nodes."""
        return ()

    def tainted_domains(self, topology_key: str, /) -> Sequence[TaintedDomains]:
        """
        List the domains that a pod without tolerations cannot enter, whatever their nodes' state.

        Returns:
            An entry for each set of taint combinations: as many as the cluster has node roles,
            not as many as it has Nodes.
        """
        return ()

    def exceptions(self, namespace: str, /) -> Sequence[PolicyException]:
        """List the exceptions of a namespace that have not expired, by name."""
        return ()


class NoFacts(Facts):
    """An unknown cluster, for manifests that are judged without one."""


class DerivedFacts(Facts):
    """The facts of another source, of which a subclass replaces some."""

    def __init__(self, facts: Facts) -> None:
        """Take the facts of the other source."""
        self._facts = facts

    def services(self, namespace: str, labels: Mapping[str, str], /) -> Sequence[ServiceSelector]:
        """Find the Services that select a pod."""
        return self._facts.services(namespace, labels)

    def owner_selector(self, namespace: str, owner: OwnerReference, /) -> LabelSelector | None:
        """Find the selector of an owner."""
        return self._facts.owner_selector(namespace, owner)

    def namespace_labels(self, namespace: str, /) -> Mapping[str, str] | None:
        """Find the labels of a Namespace."""
        return self._facts.namespace_labels(namespace)

    def schedulable_nodes(self) -> int:
        """Count the Nodes that are not cordoned."""
        return self._facts.schedulable_nodes()

    def nodes_with(self, topology_key: str, /) -> int:
        """Count the schedulable Nodes that carry a label."""
        return self._facts.nodes_with(topology_key)

    def domains(self, topology_key: str, /) -> Collection[str]:
        """List the values that a label has on Nodes."""
        return self._facts.domains(topology_key)

    def label_keys(self) -> Collection[str]:
        """List the keys of all labels of schedulable Nodes."""
        return self._facts.label_keys()

    def tainted_domains(self, topology_key: str, /) -> Sequence[TaintedDomains]:
        """List the domains that a pod without tolerations cannot enter."""
        return self._facts.tainted_domains(topology_key)

    def exceptions(self, namespace: str, /) -> Sequence[PolicyException]:
        """List the exceptions of a namespace that have not expired."""
        return self._facts.exceptions(namespace)
