"""
StorageClasses, reduced to what decides in which zone a volume is created.

``StorageClass`` is a fact of an audit; objects are decoded in ``webhook.cluster.storageclasses``.
"""

from collections.abc import Iterable

import msgspec

IMMEDIATE = "Immediate"  # the binding mode of a class without one
SHARED = ("cephfs", "rbd", "nfs", "efs.", "file.", "azure-file", "glusterfs", "longhorn", "smb.")
"""Parts of the names of provisioners whose volumes can be attached in every zone."""


class StorageClass(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A StorageClass.

    Attributes:
        binding_mode: ``Immediate`` or ``WaitForFirstConsumer``.
        zones: The zones in which it creates volumes; None for all.
        is_default: Whether claims without a class get this one.
        created: Its creation time, RFC 3339; empty if unknown.
    """

    name: str
    provisioner: str = ""
    binding_mode: str = IMMEDIATE
    zones: tuple[str, ...] | None = None
    is_default: bool = False
    created: str = ""

    @property
    def namespace(self) -> str:
        """The empty namespace: classes belong to the whole cluster."""
        return ""

    @property
    def is_shared(self) -> bool:
        """Whether its volumes are known to belong to no zone."""
        return any(part in self.provisioner for part in SHARED)


def find_default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """
    Find the class of claims that name none: of several defaults the newest one.

    Source: kubernetes pkg/volume/util/storageclass.go ``GetDefaultClass``.
    """
    defaults = sorted((one for one in classes if one.is_default), key=lambda one: one.name)
    return max(defaults, key=lambda one: one.created, default=None)
