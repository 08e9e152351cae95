"""
The filter VolumeBinding: the volumes of a pod must exist, or be possible, where the pod is.

``prepare_binding`` sorts the claims of a pod; the check of a node asks whether the bound volumes
can be accessed there, and whether the other claims find a volume or can be provisioned.

Source: kube-scheduler plugins/volumebinding volume_binding.go, binder.go.
"""

from collections.abc import Sequence

from webhook.policy.model import Node
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import EPHEMERAL, FilterPod, PodVolume
from webhook.policy.placement.filters.rejections import Check, FilterRejection
from webhook.policy.placement.filters.storage import UNIT, Claim, Storage, Volume, VolumeClass
from webhook.policy.placement.filters.volumecandidates import VolumeCandidates, can_access
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.selectors import matches

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
ABSENT_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def prepare_binding(pod: FilterPod, cluster: SchedulingCluster) -> Check | FilterRejection | None:
    """Prepare VolumeBinding."""
    storage, bound, delayed, immediate = cluster.storage, list[Claim](), list[Claim](), False
    for volume in pod.volumes:
        if not volume.namespace:
            continue
        claim = storage.claims.get((volume.namespace, volume.name))
        problem = _find_problem(pod, volume, claim)
        if claim is None or problem:
            return _reject(problem)
        volume_class = storage.classes.get(claim.traits.class_name)
        if claim.is_bound:
            bound.append(claim)
        elif volume_class is not None and volume_class.is_delayed and not claim.volume:
            delayed.append(claim)
        else:
            immediate = True
    if immediate:
        return _reject("pod has unbound immediate PersistentVolumeClaims")
    return _BindingCheck(storage, bound, delayed).reject if bound or delayed else None


def _reject(*reasons: str) -> FilterRejection:
    return FilterRejection("VolumeBinding", reasons, is_resolvable=False)


def _find_problem(pod: FilterPod, volume: PodVolume, claim: Claim | None) -> str:
    """
    Find why a claim cannot be used; empty if it can.

    Source: volume_binding.go ``podHasPVCs``.
    """
    name = f'persistentvolumeclaim "{volume.name}"'
    if claim is None and volume.kind == EPHEMERAL:
        return f"waiting for ephemeral volume controller to create the {name}"
    if claim is None:
        return f"{name} not found"
    if claim.is_lost:
        return f'{name} bound to non-existent persistentvolume "{claim.volume}"'
    if claim.is_terminating:
        return f"{name} is being deleted"
    if volume.kind == EPHEMERAL and volume.owner != claim.owner:
        return (
            f"PVC {volume.namespace}/{volume.name} was not created for pod "
            f"{pod.namespace}/{pod.name} (pod is not owner)"
        )
    return ""


class _BindingCheck:
    """The claims of a pod, and the volumes that may be bound to those that have none."""

    def __init__(self, storage: Storage, bound: Sequence[Claim], delayed: Sequence[Claim]) -> None:
        self._storage = storage
        self._bound = [storage.volumes.get(claim.volume) for claim in bound]
        self._selected = [claim for claim in delayed if claim.selected_node is not None]
        searched = (claim for claim in delayed if claim.selected_node is None)
        self._searched = [
            (claim, VolumeCandidates(claim, storage.volumes.values()))
            for claim in sorted(searched, key=lambda claim: claim.traits.size)
        ]

    def reject(self, node: Node) -> FilterRejection | None:
        """
        Return why the node is rejected; None if it is not.

        Source: binder.go ``FindPodVolumes``.
        """
        bound, unbound = self._check_bound(node), self._check_delayed(node)
        order = (NODE_CONFLICT, NO_VOLUME, NO_SPACE, ABSENT_VOLUME)
        reasons = sorted(filter(None, (bound, unbound)), key=order.index)
        return _reject(*reasons) if reasons else None

    def _check_bound(self, node: Node) -> str:
        for volume in self._bound:
            if volume is None:
                return ABSENT_VOLUME
            if not can_access(self._find_terms(volume, node), node):
                return NODE_CONFLICT
        return ""

    def _find_terms(self, volume: Volume, node: Node) -> tuple[NodeSelectorTerm, ...] | None:
        """
        Find the terms of a volume on a node, which a driver may have replaced.

        Source: binder.go ``tryTranslatePVToCSI``.
        """
        migrated, csi_node = volume.migrated, self._storage.csi_nodes.get(node.name)
        if migrated is None or csi_node is None or migrated.plugin not in csi_node.migrated:
            return volume.terms
        return migrated.terms

    def _check_delayed(self, node: Node) -> str:
        if any(claim.selected_node != node.name for claim in self._selected):
            return NO_VOLUME
        provisioned = list(self._selected)
        chosen: set[str] = set()
        for claim, candidates in self._searched:
            name = next((name for name in candidates.find(node) if name not in chosen), None)
            if name is None:
                provisioned.append(claim)
            else:
                chosen.add(name)
        return next(filter(None, (self._check_new(claim, node) for claim in provisioned)), "")

    def _check_new(self, claim: Claim, node: Node) -> str:
        """
        Find why the volume of a claim cannot be provisioned for a node; empty if it can.

        Source: binder.go ``checkVolumeProvisions``.
        """
        volume_class = self._storage.classes[claim.traits.class_name]
        if volume_class.provisioner in ("", _NO_PROVISIONER) or not _is_allowed(volume_class, node):
            return NO_VOLUME
        return "" if _has_space(claim, volume_class, node, self._storage) else NO_SPACE


def _is_allowed(volume_class: VolumeClass, node: Node) -> bool:
    """
    Whether the allowed topologies of a class include a node.

    Source: pkg/apis/core/v1/helper ``MatchTopologySelectorTerms``.
    """
    terms, labels = volume_class.topologies, node.labels
    return not terms or any(
        all(labels.get(key) in values for key, values in term) for term in terms if term
    )


def _has_space(claim: Claim, volume_class: VolumeClass, node: Node, storage: Storage) -> bool:
    """
    Whether the driver of a class has the space for a claim, if it reports what it has.

    Source: binder.go ``hasEnoughCapacity``.
    """
    driver = storage.csi_drivers.get(volume_class.provisioner)
    if not claim.has_size or driver is None or not driver.reports_capacity:
        return True
    return any(
        capacity.class_name == claim.traits.class_name
        and capacity.size is not None
        and capacity.size * UNIT >= claim.traits.size
        and matches(capacity.nodes, node.labels)
        for capacity in storage.capacities
    )
