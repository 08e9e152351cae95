"""
Store of live pods whose spread a scale-down keeps, by controller.

``PodStore.find`` gives a pod that is being bound, ``domain`` the topology domain of its node, and
``reserve`` a rank in it. Other pods are never stored.
"""

from collections.abc import Callable, Collection

from webhook.cluster import wire
from webhook.cluster.latepods import LatePods
from webhook.cluster.nodes import NodeStore
from webhook.cluster.quota import NamespaceQuota
from webhook.cluster.rankledger import Controller, ControllerPods, RankLedger
from webhook.cluster.store import UNLIMITED, Store, share
from webhook.policy.scaledown.binding import RankedPod


class PodStore(Store[wire.PodObject]):
    """
    Store of the live, labelled pods of ReplicaSets and ReplicationControllers.

    Attributes:
        late: Waits for pods that are not in the store yet.
    """

    def __init__(
        self, nodes: NodeStore, clock: Callable[[], float], quota: NamespaceQuota = UNLIMITED
    ) -> None:
        """
        Start without a pod.

        Args:
            nodes: The Nodes of the cluster.
            clock: Monotonic, in seconds; ends reservations.
            quota: Limit on the memory of a namespace.
        """
        self._nodes = nodes
        self._quota = quota
        self._ledger = RankLedger(nodes, clock)
        self.late = LatePods(clock)
        self._pods: dict[Controller, ControllerPods] = {}
        self._by_name: dict[str, dict[str, ControllerPods]] = {}  # by namespace and name of a pod
        self._changed: set[Controller] = set()
        super().__init__(self._by_name)

    def put(self, thing: wire.PodObject) -> None:
        """
        Add a pod, or replace the one with the same name; remove it if it is not live.

        Raises:
            NamespaceSizeError: Its namespace exceeds the quota; the pod is then absent.
        """
        namespace, name, uid, pod = thing.namespace, thing.name, thing.controller, thing.ranked
        if pod is None or not uid:
            self.remove(namespace, name)
            return
        pods = self._find_controller_pods(namespace, name)
        if pods is not None and pods.controller.uid == uid and pods[name] == pod:
            return  # most changes of pods are of their status
        before = self._drop(namespace, name)
        self._quota.take(namespace, _size(uid, pod))
        pods = self._add(Controller(namespace, uid), name, pod)
        self.late.announce(namespace, name)
        if before is not None and (pod.node or before != pods.controller):
            self._ledger.free(before, name)

    def remove(self, namespace: str, name: str) -> None:
        """Remove a pod and free its rank; do nothing if it is not in the store."""
        controller = self._drop(namespace, name)
        if controller is not None:
            self._ledger.free(controller, name)

    def find(self, namespace: str, name: str) -> RankedPod | None:
        """Return a pod; None if it is not in the store."""
        pods = self._find_controller_pods(namespace, name)
        return None if pods is None else pods[name]

    def domain(self, node: str, key: str) -> str | None:
        """Return the domain of a Node; None if the Node is not known or lacks the key."""
        return self._nodes.label(node, key)

    def reserve(self, namespace: str, name: str, domain: str) -> int:
        """
        Reserve the lowest free rank in a domain for a pod.

        Raises:
            KeyError: The pod is not in the store.
        """
        return self._ledger.reserve(self._by_name[namespace][name], name, domain)

    def pods_of(self, controller: Controller) -> dict[str, RankedPod]:
        """Copy the pods of a controller, by name; there may be none."""
        return dict(self._pods.get(controller, ()))

    def take_changed(self) -> Collection[Controller]:
        """Return the controllers that have pods of which one was changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def _find_controller_pods(self, namespace: str, name: str) -> ControllerPods | None:
        """Return all pods of the controller of a pod; None if it is not in the store."""
        return self._by_name.get(namespace, {}).get(name)

    def _add(self, controller: Controller, name: str, pod: RankedPod) -> ControllerPods:
        pods = self._pods.get(controller)
        if pods is None:
            controller = Controller(share(controller.namespace), controller.uid)
            pods = self._pods[controller] = ControllerPods(controller)
        pods[name] = RankedPod(share(pod.key), share(pod.node), pod.rank)
        self._changed.add(pods.controller)
        self._by_name.setdefault(controller.namespace, {})[name] = pods
        self._ledger.add(controller, pod)
        return pods

    def _drop(self, namespace: str, name: str) -> Controller | None:
        """Remove a pod, but not its reservation, and return its controller; None if unknown."""
        pods = self._find_controller_pods(namespace, name)
        if pods is None:
            return None
        pod, controller = pods.pop(name), pods.controller
        self._quota.free(namespace, _size(controller.uid, pod))
        self._ledger.remove(controller, pod)
        self._changed.add(controller)
        if not pods:
            del self._pods[controller]
            self._changed.discard(controller)
        del self._by_name[namespace][name]
        if not self._by_name[namespace]:
            del self._by_name[namespace]
        return controller


def _size(uid: str, pod: RankedPod) -> int:
    """Bytes of a pod beyond those of its name, as if its controller had no other pod."""
    return len(uid) + len(pod.key) + len(pod.node)
