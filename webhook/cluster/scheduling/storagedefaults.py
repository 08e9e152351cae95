"""
The StorageClass of claims that name none: ``apply_default_class``.

An API server stores new claims with the default class, and the PersistentVolume controller gives it
to unbound ones that are older than the class.

Source: plugin/pkg/admission/storage/storageclass/setdefault/admission.go ``Admit``;
pkg/controller/volume/persistentvolume/pv_controller.go ``assignDefaultStorageClass``.
"""

from typing import TypeVar

from msgspec.structs import replace

from webhook.cluster.scheduling.storage import BETA_CLASS, BIND_COMPLETED
from webhook.cluster.scheduling.storageobjects import ApiClaim, ClaimSpec, StorageObjects
from webhook.cluster.storageclasses import to_storage_class
from webhook.policy.advice.storage import find_default_class

Objects = TypeVar("Objects", bound=StorageObjects)


def apply_default_class(objects: Objects) -> Objects:
    """Return the objects with the default class in unbound claims that name none."""
    claims = objects.persistent_volume_claims or ()
    default = find_default_class(map(to_storage_class, objects.storage_classes or ()))
    if default is None or not any(map(_lacks_class, claims)):
        return objects
    completed = tuple(
        replace(one, spec=replace(one.spec or ClaimSpec(), storage_class_name=default.name))
        if _lacks_class(one)
        else one
        for one in claims
    )
    return replace(objects, persistent_volume_claims=completed)


def _lacks_class(claim: ApiClaim) -> bool:
    """Whether a claim has no class, not even the empty one, and is to get the default one."""
    annotations, spec = claim.meta.annotations, claim.spec or ClaimSpec()
    is_stored = claim.meta.uid is not None
    is_bound = bool(spec.volume_name) and (is_stored or BIND_COMPLETED in annotations)
    return spec.storage_class_name is None and BETA_CLASS not in annotations and not is_bound
