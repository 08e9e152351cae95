"""
The volumes of a StatefulSet's pods, and the nodes that can access them: ``read_set_volumes``.

A pod that is replaced has the claims of its predecessor. Which node can take it is decided by the
volumes that these are bound to. Claims that are not bound decide nothing.

Source: kubernetes pkg/controller/statefulset stateful_set_utils.go ``getPersistentVolumeClaims``;
kube-scheduler plugins/{volumebinding,volumezone}.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json
from webhook.cluster.protocol import FailureReason
from webhook.cluster.scheduling.storage import read_storage
from webhook.cluster.scheduling.storageobjects import ApiClaim, ApiVolume, StorageObjects
from webhook.errors import ApiError
from webhook.policy.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value, is_array
from webhook.policy.placement.filters.filterpods import CLAIM, PodVolume
from webhook.policy.placement.filters.storage import Storage

_Object = TypeVar("_Object", ApiClaim, ApiVolume)


class SetVolumes(msgspec.Struct, frozen=True):
    """
    The volumes of the pods of a StatefulSet.

    Attributes:
        name: Of the StatefulSet.
        templates: Names of its claim templates.
        storage: The claims of its pods, and volumes.
    """

    name: str
    namespace: str
    templates: tuple[str, ...] = ()
    storage: Storage = Storage()

    @property
    def are_unknown(self) -> bool:
        """Whether it has claims, and the volume of none is known."""
        return bool(self.templates) and not any(
            claim.volume in self.storage.volumes for claim in self.storage.claims.values()
        )

    def list_claims(self, ordinal: int) -> tuple[PodVolume, ...]:
        """List the claims of a pod whose volumes are known."""
        names = (f"{template}-{self.name}-{ordinal}" for template in self.templates)
        return tuple(
            PodVolume(CLAIM, name, self.namespace) for name in names if self._is_known(name)
        )

    def _is_known(self, name: str) -> bool:
        claim = self.storage.claims.get((self.namespace, name))
        return claim is not None and claim.is_bound and claim.volume in self.storage.volumes


def read_set_volumes(subject: subjects.ExplainSubject, cluster: ClusterReader) -> SetVolumes:
    """Read the volumes of a StatefulSet; nothing is read for one without claim templates."""
    found = find_value(subject.value, ("spec", "volumeClaimTemplates"))
    names = (find_value(one, ("metadata", "name")) for one in (found if is_array(found) else ()))
    templates = tuple(name for name in names if isinstance(name, str))
    if not templates:
        return SetVolumes(subject.name, subject.namespace)
    claims = _list(cluster, PERSISTENT_VOLUME_CLAIM, subject.namespace)
    starts = tuple(f"{template}-{subject.name}-" for template in templates)
    own = [
        {**one, "metadata": {**one["metadata"], "namespace": subject.namespace}}
        for one in claims
        if subjects.name_of(one).startswith(starts)
    ]
    volumes = _list(cluster, PERSISTENT_VOLUME, "") if own else []
    storage = StorageObjects(tuple(_convert(volumes, ApiVolume)), tuple(_convert(own, ApiClaim)))
    return SetVolumes(subject.name, subject.namespace, templates, read_storage(storage))


def _list(cluster: ClusterReader, kind: GroupKind, namespace: str) -> list[Json]:
    """List objects; none if the user may not read them."""
    try:
        return cluster.list_objects_of(kind, namespace)
    except ApiError as error:
        if error.reason is not FailureReason.FORBIDDEN:
            raise
        return []


def _convert(values: Iterable[Json], to: type[_Object]) -> Iterator[_Object]:
    """Decode objects; those with a value of a wrong type are left out."""
    for value in values:
        try:
            yield msgspec.convert(value, to)
        except msgspec.ValidationError:
            continue
