"""A store of pods on three nodes in two zones."""

from tests.cluster.objects import cached_pod, node
from webhook.cluster.nodes import NodeStore
from webhook.cluster.pods import PodStore
from webhook.cluster.quota import NamespaceQuota
from webhook.cluster.wire import PodObject
from webhook.policy.model import ZONE


class Zones:
    """A store of pods on nodes ``a1``, ``a2`` and ``b1``, named for their zones."""

    def __init__(self, quota: NamespaceQuota | None = None) -> None:
        self.now = 100.0
        self.nodes = NodeStore()
        for name in ("a1", "a2", "b1"):
            self.nodes.put(node(name, {ZONE: name[0]}))
        self.pods = PodStore(self.nodes, lambda: self.now, quota or NamespaceQuota(None))

    def put(self, *pods: PodObject) -> None:
        for pod in pods:
            self.pods.put(pod)

    def bind(self, name: str, domain: str = "a", **changes: str) -> int:
        """Bind a pod that has no node yet."""
        self.put(cached_pod(name, **changes))
        return self.pods.reserve(changes.get("namespace", "shop"), name, domain)
