"""
The storage that a pod's volumes need, read from a cluster: ``StorageReader``.

It is read only for a pod with claims. Volumes of which too little is known are left out and named.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Model
from webhook.cluster.scheduling.storage import read_storage
from webhook.cluster.scheduling.storagedefaults import apply_default_class
from webhook.cluster.scheduling.storageobjects import (
    ApiAttachment,
    ApiClaim,
    ApiCsiDriver,
    ApiCsiNode,
    ApiStorageCapacity,
    ApiVolume,
    StorageObjects,
)
from webhook.cluster.storageclasses import StorageClassObject
from webhook.policy import kinds
from webhook.policy.model import GroupKind
from webhook.policy.placement.filters.filterpods import CLAIM, EPHEMERAL, FilterPod, PodVolume
from webhook.policy.placement.filters.storage import NO_STORAGE, Storage

NEW_CLAIMS = "ephemeral volumes, which are created with the pod"
UNKNOWN_CLAIMS = "volumes of volumeClaimTemplates without a known claim"
LIMITS = "limits of CSI drivers: no CSINode could be read"


class PodClaims(NamedTuple):
    """
    The claims that a controller gives to a pod, besides those of its template.

    Attributes:
        names: In the namespace of the pod.
        are_deleted: Whether they were deleted with a former pod.
    """

    names: tuple[str, ...] = ()
    are_deleted: bool = False


NO_CLAIMS = PodClaims()


class StorageScope(NamedTuple):
    """
    A pod with the volumes that can be considered, and the storage for them.

    Attributes:
        unread: What is not known of its volumes.
    """

    pod: FilterPod
    storage: Storage
    unread: tuple[str, ...] = ()


class StorageReader:
    """Reads storage; each kind of objects once, and none before a pod needs it."""

    def __init__(self, cluster: ClusterReader) -> None:
        """Store the cluster; ``read`` reads it."""
        self._cluster = cluster
        self._unread: set[GroupKind] = set()

    def read(self, pod: FilterPod, claims: PodClaims = NO_CLAIMS) -> StorageScope:
        """
        Read the storage for a pod.

        Args:
            pod: Without a uid it does not exist, nor do the claims of its ephemeral volumes.
            claims: Those of them that exist are added to its volumes.
        """
        unread: list[str] = []
        if claims.names:
            pod, are_known = self._add_claims(pod, claims)
            unread += () if are_known else (UNKNOWN_CLAIMS,)
        if not pod.uid and any(volume.kind == EPHEMERAL for volume in pod.volumes):
            pod = replace(pod, volumes=tuple(v for v in pod.volumes if v.kind != EPHEMERAL))
            unread.append(NEW_CLAIMS)
        if not any(volume.namespace for volume in pod.volumes):
            storage = self._storage if claims.names else NO_STORAGE
            return StorageScope(pod, storage, tuple(unread))
        storage = self._storage
        lacking = self._find_lacking(pod)
        if lacking is not None:
            unread.append(f"volumes: no {lacking.kind} could be read")
            pod = replace(pod, volumes=tuple(v for v in pod.volumes if not v.namespace))
        elif kinds.CSI_NODE in self._unread:
            unread.append(LIMITS)
        return StorageScope(pod, storage, tuple(unread))

    def _add_claims(self, pod: FilterPod, claims: PodClaims) -> tuple[FilterPod, bool]:
        """Add the claims that exist to a pod; also return whether these are all."""
        known = () if claims.are_deleted else self._storage.claims
        names = [name for name in claims.names if (pod.namespace, name) in known]
        added = (PodVolume(CLAIM, name, pod.namespace) for name in names)
        return replace(pod, volumes=(*added, *pod.volumes)), len(names) == len(claims.names)

    def _find_lacking(self, pod: FilterPod) -> GroupKind | None:
        """Find a kind that the volumes of a pod need and that could not be read; None if none."""
        needed = {kinds.VOLUME_CLAIM}
        for volume in pod.volumes:
            claim = self._storage.claims.get((volume.namespace, volume.name))
            if claim is not None:
                needed.add(kinds.VOLUME if claim.volume else kinds.STORAGE_CLASS)
        return min(needed & self._unread, default=None)

    @cached_property
    def _storage(self) -> Storage:
        objects = StorageObjects(
            persistent_volumes=self._list(kinds.VOLUME, ApiVolume),
            persistent_volume_claims=self._list(kinds.VOLUME_CLAIM, ApiClaim),
            storage_classes=self._list(kinds.STORAGE_CLASS, StorageClassObject),
            csi_nodes=self._list(kinds.CSI_NODE, ApiCsiNode),
            csi_drivers=self._list(kinds.CSI_DRIVER, ApiCsiDriver),
            csi_storage_capacities=self._list(kinds.CSI_CAPACITY, ApiStorageCapacity),
            volume_attachments=self._list(kinds.VOLUME_ATTACHMENT, ApiAttachment),
        )
        return read_storage(apply_default_class(objects))

    def _list(self, kind: GroupKind, model: type[Model]) -> tuple[Model, ...]:
        found: Iterable[Model] | None = self._cluster.decode_objects(kind, model)
        listed = tuple(found or ())
        if found is None or not (listed or self._cluster.is_complete):
            self._unread.add(kind)
        return listed
