"""
The claims of a StatefulSet's pods, by their ordinals: ``read_set_volumes``.

Only names are read here. ``StorageReader`` decides which of these claims exist.

Source: kubernetes pkg/controller/statefulset stateful_set_utils.go ``getPersistentVolumeClaims``,
``updateStorage``, ``claimOwnerMatchesSetAndPod``; stateful_pod_control.go ``CreateStatefulPod``,
which creates the claims before the pod.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.storagescope import NO_CLAIMS, PodClaims
from webhook.cluster.scheduling.podobjects import FilterSpec, UniqueMeta
from webhook.cluster.scheduling.storageobjects import ApiClaim
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.nextrevision import read_start
from webhook.policy.paths import find_value, is_array
from webhook.policy.placement.filters.storage import Storage


class SetVolumes(msgspec.Struct, frozen=True):
    """
    The volumes of the pods of a StatefulSet.

    Attributes:
        name: Of the StatefulSet.
        templates: Names of its claim templates.
        written: These templates, as far as they can be read.
        start: The first ordinal.
        kept: The ordinals whose claims outlive their pods; None for all.
        used: The ordinals that have had a pod, and thus claims.
    """

    name: str = ""
    namespace: str = ""
    templates: tuple[str, ...] = ()
    written: tuple[ApiClaim, ...] = ()
    start: int = 0
    kept: range | None = None
    used: range = range(0)

    def list_claims(self, replicas: int) -> Iterator[PodClaims]:
        """Yield the claims of a number of pods and of the next one; none without templates."""
        if self.templates:
            yield from map(self.at, range(self.start, self.start + replicas + 1))

    def at(self, ordinal: int) -> PodClaims:
        """Return the claims of the pod with an ordinal; none without claim templates."""
        if not self.templates:
            return NO_CLAIMS
        names = tuple(f"{template}-{self.name}-{ordinal}" for template in self.templates)
        is_deleted = self.kept is not None and ordinal not in self.kept
        created = (self._create(claim, ordinal) for claim in self.written)
        return PodClaims(names, is_deleted, tuple(created), ordinal in self.used)

    def _create(self, template: ApiClaim, ordinal: int) -> ApiClaim:
        """Create the claim of a template; an owner and labels decide on no node."""
        name = f"{template.name}-{self.name}-{ordinal}"
        annotations = template.meta.annotations
        metadata = UniqueMeta(name=name, namespace=self.namespace, annotations=annotations)
        return ApiClaim(metadata, template.spec)

    def are_unknown(self, storage: Storage) -> bool:
        """Whether it has claims, and the volume of none is known."""
        starts = tuple(f"{template}-{self.name}-" for template in self.templates)
        return bool(starts) and not any(
            namespace == self.namespace and name.startswith(starts)
            for (namespace, name), claim in storage.claims.items()
            if claim.volume in storage.volumes
        )


def read_set_volumes(
    subject: subjects.ExplainSubject,
    replicas: int,
    scale: int | None = None,
    used: range = range(0),
) -> SetVolumes:
    """
    Read the volumes of a StatefulSet; other kinds have none.

    Args:
        replicas: The present number of replicas.
        scale: The number of replicas to set; None to keep it.
        used: The ordinals that have had a pod.
    """
    if subject.kind != STATEFUL_SET:
        return SetVolumes()
    start = read_start(subject.value)
    least = replicas if scale is None else min(replicas, scale)
    path = ("spec", "persistentVolumeClaimRetentionPolicy", "whenScaled")
    is_deleted = find_value(subject.value, path) == "Delete"
    kept = range(start, start + least) if is_deleted else None
    return SetVolumes(
        subject.name,
        subject.namespace,
        list_templates(subject.value),
        tuple(_read_templates(subject.value)),
        start,
        kept,
        used,
    )


def _read_templates(workload: Any) -> Iterator[ApiClaim]:
    """Read the claim templates of a workload, without those that kube-apiserver refuses."""
    found = find_value(workload, ("spec", "volumeClaimTemplates"))
    for one in found if is_array(found) else ():
        with suppress(msgspec.ValidationError):
            yield msgspec.convert(one, ApiClaim)


def list_templates(workload: Any) -> tuple[str, ...]:
    """List the names of the claim templates of a workload, given as JSON."""
    found = find_value(workload, ("spec", "volumeClaimTemplates"))
    names = (find_value(one, ("metadata", "name")) for one in (found if is_array(found) else ()))
    return tuple(name for name in names if isinstance(name, str))


def drop_claimed(spec: FilterSpec | None, workload: Any) -> FilterSpec | None:
    """Return the specification of a pod without volumes that claim templates replace."""
    templates = list_templates(workload)
    if spec is None or not spec.volumes or not templates:
        return spec
    return replace(spec, volumes=tuple(v for v in spec.volumes if v.name not in templates))
