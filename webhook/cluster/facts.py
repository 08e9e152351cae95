"""Facts about a cluster for the policy, read from the stores of ``Cluster``."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from webhook.cluster.nodes import NodeStore
from webhook.cluster.quota import NamespaceQuota
from webhook.cluster.services import ServiceStore
from webhook.cluster.store import UNLIMITED, NamespaceStore, OwnerStore
from webhook.config.kinds import SHIPPED_OWNERS, OwnerSelector
from webhook.policy.facts import ServiceSelector, TaintedDomains
from webhook.policy.kinds import BUILT_IN_OWNERS
from webhook.policy.model import GroupKind, LabelSelector, OwnerReference, group_of

VersionKind = tuple[str, str]
"""API version and kind, as in an object's ``apiVersion`` and ``kind``."""

OWNER_VERSION_KINDS: tuple[VersionKind, ...] = tuple(
    (row.api_version, row.kind) for row in BUILT_IN_OWNERS
)
REPLICATION_CONTROLLER_V1, REPLICA_SET_V1, STATEFUL_SET_V1 = OWNER_VERSION_KINDS


class Cluster:
    """
    The stores of one cluster; implements ``webhook.policy.facts.Facts``.

    Attributes:
        service_store: Services, by selector.
        namespace_store: Labels of Namespaces, by name.
        node_store: Nodes, by name, with counts by label.
        owner_stores: Built-in owners, by API version and kind. Kube-scheduler uses no selectors of
            other versions or kinds.
        custom_stores: Owners of custom kinds, of any version.
        custom_paths: Paths of the selectors of custom kinds.
    """

    def __init__(
        self, owners: Iterable[OwnerSelector] = SHIPPED_OWNERS, quota: NamespaceQuota = UNLIMITED
    ) -> None:
        """
        Start with empty stores.

        Args:
            owners: The custom kinds whose selectors to store.
            quota: Limit on the memory of the Services and owners of a namespace.
        """
        self.service_store = ServiceStore(quota)
        self.namespace_store = NamespaceStore()
        self.node_store = NodeStore()
        self.owner_stores = {kind: OwnerStore(quota) for kind in OWNER_VERSION_KINDS}
        self.custom_paths = {owner.kind: owner.path for owner in owners}
        self.custom_stores = {kind: OwnerStore(quota) for kind in self.custom_paths}

    def services(self, namespace: str, labels: Mapping[str, str]) -> Sequence[ServiceSelector]:
        """Return the Services that select a pod with these labels, sorted by name."""
        return self.service_store.select(namespace, labels)

    def owner_selector(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        """Return the selector of an owner; None if it is not known or has none."""
        store = self.owner_stores.get((owner.api_version, owner.kind))
        if store is None:
            store = self.custom_stores.get(GroupKind(group_of(owner.api_version), owner.kind))
        return store.selector(namespace, owner.name) if store is not None else None

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        """Return the labels of a Namespace; None if it is not known."""
        return self.namespace_store.labels(namespace)

    def schedulable_nodes(self) -> int:
        """Count the Nodes that are not marked unschedulable."""
        return self.node_store.schedulable()

    def nodes_with(self, topology_key: str) -> int:
        """Count the schedulable Nodes that have a label key."""
        return self.node_store.carriers(topology_key)

    def domains(self, topology_key: str) -> int:
        """Count the values of a label on schedulable Nodes."""
        return self.node_store.domains(topology_key)

    def label_keys(self) -> Collection[str]:
        """Return the keys of all labels of schedulable Nodes."""
        return self.node_store.label_keys()

    def tainted_domains(self, topology_key: str) -> Sequence[TaintedDomains]:
        """Return the values of a label whose schedulable Nodes are all tainted."""
        return self.node_store.tainted_domains(topology_key)
