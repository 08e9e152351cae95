"""
Decode StorageClasses: the binding mode, the zones, and whether a class is the default.

``decode_storage_class`` is the entry point. Parameters are not decoded.

Source: k8s.io/api storage/v1 types.go; kubernetes pkg/volume/util/storageclass.go
``IsDefaultStorageClassAnnotation``.
"""

import msgspec

from webhook.cluster import wire
from webhook.policy.advice.storage import IMMEDIATE, StorageClass

DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_ZONE = "/zone"  # ends the zone label of Kubernetes and those of CSI drivers


class ClassMetadata(wire.NameMetadata, frozen=True, rename="camel", gc=False):
    """The fields of a class's metadata that choose the default class."""

    annotations: wire.Pairs = None
    creation_timestamp: str | None = None


class TopologyExpression(msgspec.Struct, frozen=True, gc=False):
    """A requirement on a label of nodes: one of these values."""

    key: str = ""
    values: tuple[str, ...] | None = None


class TopologyTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Requirements that all hold; None is the same as empty."""

    match_label_expressions: tuple[TopologyExpression, ...] | None = None


class StorageClassObject(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A StorageClass, v1; None is the same as absent."""

    metadata: ClassMetadata | None = None
    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTerm, ...] | None = None


_decode = msgspec.json.Decoder(StorageClassObject).decode


def decode_storage_class(data: bytes | msgspec.Raw) -> StorageClass:
    """
    Decode a StorageClass.

    Raises:
        msgspec.DecodeError: A value has the wrong type.
    """
    return to_storage_class(_decode(data))


def to_storage_class(found: StorageClassObject) -> StorageClass:
    """Return a class as a value."""
    metadata = found.metadata or ClassMetadata()
    annotations = metadata.annotations or {}
    return StorageClass(
        name=metadata.name or "",
        provisioner=found.provisioner or "",
        binding_mode=found.volume_binding_mode or IMMEDIATE,
        zones=_list_zones(found.allowed_topologies or ()),
        is_default=any(annotations.get(key) == "true" for key in DEFAULT_ANNOTATIONS),
        created=metadata.creation_timestamp or "",
    )


def _list_zones(terms: tuple[TopologyTerm, ...]) -> tuple[str, ...] | None:
    """List the zones of terms, one of which a node has to satisfy; None if any zone may do."""
    zones: set[str] = set()
    for term in terms:
        listed = [
            expression.values or ()
            for expression in term.match_label_expressions or ()
            if expression.key.endswith(_ZONE)
        ]
        if not listed:
            return None
        zones.update(listed[0])
    return tuple(sorted(zones)) if terms else None
