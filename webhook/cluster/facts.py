"""Facts about a cluster for the policy, read from the stores of ``Cluster``."""

from collections.abc import Callable, Iterable

from webhook.cluster.nodes import NodeStore
from webhook.cluster.pods import PodStore
from webhook.cluster.policyexceptions import PolicyExceptionStore
from webhook.cluster.quota import NamespaceQuota
from webhook.cluster.services import ServiceStore
from webhook.cluster.store import UNLIMITED, NamespaceStore, OwnerStore
from webhook.config.ownerselectors import SHIPPED_OWNERS, OwnerSelector
from webhook.policy.kinds import BUILT_IN_OWNERS
from webhook.policy.model import GroupKind, LabelSelector, OwnerReference, group_of

VersionKind = tuple[str, str]
"""API version and kind, as in an object's ``apiVersion`` and ``kind``."""


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
        exception_store: SpreadPolicyExceptions; without a clock, those that expire do not count.
        pod_store: Live pods with their ranks; None if none are stored.
    """

    def __init__(
        self,
        owners: Iterable[OwnerSelector] = SHIPPED_OWNERS,
        quota: NamespaceQuota = UNLIMITED,
        nodes: NodeStore | None = None,
        pod_clock: Callable[[], float] | None = None,
        exceptions: PolicyExceptionStore | None = None,
    ) -> None:
        """
        Start with empty stores.

        Args:
            owners: The custom kinds whose selectors to store.
            quota: Limit on the memory of the Services, owners and pods of a namespace.
            nodes: Store of Nodes that several clusters share; None: a store of its own.
            pod_clock: Monotonic clock of the ranks of pods, in seconds; None stores no pods.
            exceptions: Store of exceptions that several clusters share; None: a store of its own.
        """
        self.service_store = ServiceStore(quota)
        self.namespace_store = NamespaceStore()
        self.node_store = NodeStore() if nodes is None else nodes
        self.owner_stores: dict[VersionKind, OwnerStore] = {
            (row.api_version, row.kind): OwnerStore(quota) for row in BUILT_IN_OWNERS
        }
        self.custom_paths = {owner.kind: owner.path for owner in owners}
        self.custom_stores = {kind: OwnerStore(quota) for kind in self.custom_paths}
        self.exception_store = PolicyExceptionStore() if exceptions is None else exceptions
        self.pod_store = pod_clock and PodStore(self.node_store, pod_clock, quota)
        self.services = self.service_store.select
        self.namespace_labels = self.namespace_store.labels
        self.schedulable_nodes = self.node_store.schedulable_nodes
        self.nodes_with = self.node_store.nodes_with
        self.domains = self.node_store.taints.list_domains
        self.label_keys = self.node_store.label_keys
        self.tainted_domains = self.node_store.taints.tainted_domains
        self.exceptions = self.exception_store.in_force

    def owner_store(self, api_version: str, kind: str) -> OwnerStore | None:
        """Return the store of a kind of owners; None if their selectors are not stored."""
        built_in = self.owner_stores.get((api_version, kind))
        if built_in is not None:
            return built_in
        return self.custom_stores.get(GroupKind(group_of(api_version), kind))

    def owner_selector(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        """Return the selector of an owner; None if it is not known or has none."""
        store = self.owner_store(owner.api_version, owner.kind)
        return store.selector(namespace, owner.name) if store is not None else None
