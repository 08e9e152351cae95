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
from webhook.cli.inputs.cluster import ClusterReader, Json
from webhook.cluster.protocol import FailureReason
from webhook.cluster.scheduling.storage import read_storage
from webhook.cluster.scheduling.storageobjects import ApiClaim, ApiVolume, StorageObjects
from webhook.errors import ApiError
from webhook.policy.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from webhook.policy.model import ZONE, GroupKind, LabelSelectorRequirement
from webhook.policy.paths import find_value, is_array
from webhook.policy.placement.filters.storage import Storage, Volume
from webhook.policy.placement.filters.volumefilters import read_zones
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.selectors import IN

_Object = TypeVar("_Object", ApiClaim, ApiVolume)
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"


class SetVolumes(msgspec.Struct, frozen=True):
    """
    The volumes of the pods of a StatefulSet.

    Attributes:
        name: Of the StatefulSet.
        templates: Names of its claim templates.
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

    def list_terms(self, ordinal: int) -> tuple[tuple[NodeSelectorTerm, ...], ...]:
        """List for each volume of a pod the terms of which a node must match one."""
        return tuple(
            terms for volume in self._list_volumes(ordinal) for terms in _list_terms(volume)
        )

    def _list_volumes(self, ordinal: int) -> Iterator[Volume]:
        for template in self.templates:
            claim = self.storage.claims.get((self.namespace, f"{template}-{self.name}-{ordinal}"))
            if claim is not None and claim.is_bound and claim.volume in self.storage.volumes:
                yield self.storage.volumes[claim.volume]


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


def _list_terms(volume: Volume) -> Iterator[tuple[NodeSelectorTerm, ...]]:
    if volume.terms is not None:
        yield volume.terms
    for key, values in read_zones(volume):
        keys = (key, ZONE) if key == _BETA_ZONE else (key,)
        yield tuple(_require(one, values) for one in keys)


def _require(key: str, values: Iterable[str]) -> NodeSelectorTerm:
    required = LabelSelectorRequirement(key=key, operator=IN, values=tuple(sorted(values)))
    return NodeSelectorTerm((required,))
