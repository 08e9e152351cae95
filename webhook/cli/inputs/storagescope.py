"""
The storage that a pod's volumes need, read from a cluster: ``StorageReader``.

It is read only for a pod with claims. Volumes of which too little is known are left out and named.
"""

from collections.abc import Collection, Iterable
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
from webhook.policy.advice.findings import join_names
from webhook.policy.model import GroupKind
from webhook.policy.placement.filters.filterpods import CLAIM, EPHEMERAL, FilterPod, PodVolume
from webhook.policy.placement.filters.storage import NO_STORAGE, Claim, Storage

NEW_CLAIMS = "ephemeral volumes, which are created with the pod"
UNKNOWN_CLAIMS = "volumes of volumeClaimTemplates without a known claim"
CREATED_CLAIMS = "volumes of volumeClaimTemplates with StorageClass"
ABSENT_CLAIMS = "volumes: PersistentVolumeClaims that could not be read"
LIMITS = "limits of CSI drivers: no CSINode could be read"


class PodClaims(NamedTuple):
    """
    The claims that a controller gives to a pod, besides those of its template.

    Attributes:
        names: In the namespace of the pod.
        are_deleted: Whether they were deleted with a former pod.
        created: Those that the controller creates if they do not exist, as far as known.
        are_used: Whether a former pod or one that exists has had them: unless they were deleted
            with it, they exist, even if the files lack them.
    """

    names: tuple[str, ...] = ()
    are_deleted: bool = False
    created: tuple[ApiClaim, ...] = ()
    are_used: bool = False


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
        self._created: dict[tuple[str, str], ApiClaim] = {}
        self._deleted: set[tuple[str, str]] = set()
        self._unknown: dict[tuple[str, str], str] = {}
        self._planned: Storage | None = None

    def plan_claims(self, claims: Iterable[PodClaims], namespace: str) -> None:
        """
        Plan the claims of pods that will be created; ``read`` takes them for claims that exist.

        Pods that were read before do not have these claims in their storage.
        """
        self._planned = None
        for one in claims:
            if one.are_deleted or not one.are_used or self._cluster.is_complete:
                self._created.update(((namespace, claim.name), claim) for claim in one.created)
            self._deleted.update((namespace, name) for name in one.names if one.are_deleted)

    def read(
        self,
        pod: FilterPod,
        claims: PodClaims = NO_CLAIMS,
        mounted: Collection[tuple[str, str]] = (),
    ) -> StorageScope:
        """
        Read the storage for a pod.

        Args:
            pod: Without a uid it does not exist, nor do the claims of its ephemeral volumes.
            claims: Those of them that exist are added to its volumes.
            mounted: Namespaces and names of the claims that running pods mount: these exist, even
                if the files lack them.
        """
        unread: list[str] = []
        if claims.names:
            pod, unknown = self._add_claims(pod, claims)
            unread += unknown
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
        else:
            pod, absent = self._leave_out_absent(pod, mounted)
            unread += absent
            if kinds.CSI_NODE in self._unread:
                unread.append(LIMITS)
        return StorageScope(pod, storage, tuple(unread))

    def _leave_out_absent(
        self, pod: FilterPod, mounted: Collection[tuple[str, str]]
    ) -> tuple[FilterPod, tuple[str, ...]]:
        """Leave out the volumes whose claims exist and that files lack; also name these claims."""
        absent = set(mounted) - self._storage.claims.keys()
        if self._cluster.is_complete or not absent:
            return pod, ()
        volumes = tuple(v for v in pod.volumes if (v.namespace, v.name) not in absent)
        names = sorted({v.name for v in pod.volumes if v not in volumes})
        unread = (f"{ABSENT_CLAIMS}: {join_names(names, most=5)}",) if names else ()
        return replace(pod, volumes=volumes), unread

    def _add_claims(self, pod: FilterPod, claims: PodClaims) -> tuple[FilterPod, tuple[str, ...]]:
        """Add the claims that exist, or will, to a pod; also return what is not known of others."""
        known = self._storage.claims
        created = self._created
        keys = [(pod.namespace, name) for name in claims.names]
        found = [key for key in keys if key in known and (key in created or not claims.are_deleted)]
        added = (PodVolume(CLAIM, name, namespace) for namespace, name in found)
        unknown = dict.fromkeys(
            self._unknown.get(key, UNKNOWN_CLAIMS) for key in keys if key not in found
        )
        return replace(pod, volumes=(*added, *pod.volumes)), tuple(unknown)

    def _find_lacking(self, pod: FilterPod) -> GroupKind | None:
        """Find a kind that the volumes of a pod need and that could not be read; None if none."""
        keys = {(one.namespace, one.name) for one in pod.volumes if one.namespace}
        needed = set[GroupKind]() if keys <= self._created.keys() else {kinds.VOLUME_CLAIM}
        for volume in pod.volumes:
            claim = self._storage.claims.get((volume.namespace, volume.name))
            if claim is not None:
                needed.add(kinds.VOLUME if claim.volume else kinds.STORAGE_CLASS)
        return min(needed & self._unread, default=None)

    @cached_property
    def _objects(self) -> StorageObjects:
        return StorageObjects(
            persistent_volumes=self._list(kinds.VOLUME, ApiVolume),
            persistent_volume_claims=self._list(kinds.VOLUME_CLAIM, ApiClaim),
            storage_classes=self._list(kinds.STORAGE_CLASS, StorageClassObject),
            csi_nodes=self._list(kinds.CSI_NODE, ApiCsiNode),
            csi_drivers=self._list(kinds.CSI_DRIVER, ApiCsiDriver),
            csi_storage_capacities=self._list(kinds.CSI_CAPACITY, ApiStorageCapacity),
            volume_attachments=self._list(kinds.VOLUME_ATTACHMENT, ApiAttachment),
        )

    @property
    def _storage(self) -> Storage:
        """The storage with the claims that are planned."""
        if self._planned is None:
            self._planned = self._plan()
        return self._planned

    def _plan(self) -> Storage:
        """Add the planned claims whose nodes are known."""
        objects = replace(self._objects, persistent_volume_claims=self._list_claims())
        storage = read_storage(apply_default_class(objects))
        for key in self._created:
            reason = _explain_unknown(storage.claims[key], storage)
            if reason:
                self._unknown[key] = reason
        left = {key: one for key, one in storage.claims.items() if key not in self._unknown}
        return replace(storage, claims=left)

    def _list_claims(self) -> tuple[ApiClaim, ...]:
        """List the claims that exist, and those that will."""
        listed = self._objects.persistent_volume_claims or ()
        if self._cluster.is_complete and kinds.VOLUME_CLAIM in self._unread:
            self._created = {}  # which of them exist is not known
        deleted = self._deleted & self._created.keys()
        kept = [one for one in listed if (one.meta.namespace, one.name) not in deleted]
        existing = {(one.meta.namespace, one.name) for one in kept}
        self._created = {key: one for key, one in self._created.items() if key not in existing}
        return (*kept, *self._created.values())

    def _list(self, kind: GroupKind, model: type[Model]) -> tuple[Model, ...]:
        found: Iterable[Model] | None = self._cluster.decode_objects(kind, model)
        listed = tuple(found or ())
        if found is None or not (listed or self._cluster.is_complete):
            self._unread.add(kind)
        return listed


def _explain_unknown(claim: Claim, storage: Storage) -> str:
    """Explain why the nodes of a claim that will be created are not known; empty if they are."""
    name = claim.traits.class_name
    if not name:
        return UNKNOWN_CLAIMS
    found = storage.classes.get(name)
    if found is None:
        return f"{CREATED_CLAIMS} {name}, which could not be read"
    return "" if found.is_delayed else f"{CREATED_CLAIMS} {name}, which does not wait for the pod"
