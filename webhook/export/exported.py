"""The result of an export: Kubernetes objects, and what they do not do."""

from typing import Any, TypeAlias

import msgspec

from webhook.policy.model import GroupKind

Manifest: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON values, its members in the order in which they are written."""

ADMISSION_GROUP = "admissionregistration.k8s.io"
EXPORT_LABEL = "evenspread.io/export"
"""Label of exported objects; its value is the form, ``map`` or ``vap``."""

MUTATING_POLICY = GroupKind(ADMISSION_GROUP, "MutatingAdmissionPolicy")
VALIDATING_POLICY = GroupKind(ADMISSION_GROUP, "ValidatingAdmissionPolicy")
VALIDATING_BINDING = GroupKind(ADMISSION_GROUP, "ValidatingAdmissionPolicyBinding")
MUTATING_BINDING = GroupKind(ADMISSION_GROUP, "MutatingAdmissionPolicyBinding")


PLURALS = {
    MUTATING_POLICY.kind: "mutatingadmissionpolicies",
    MUTATING_BINDING.kind: "mutatingadmissionpolicybindings",
    VALIDATING_POLICY.kind: "validatingadmissionpolicies",
    VALIDATING_BINDING.kind: "validatingadmissionpolicybindings",
}
"""Kind -> its name in request paths."""


class Omission(msgspec.Struct, frozen=True):
    """
    A part of the policy that exported objects do not do.

    Attributes:
        subject: The part, such as ``profile 'web'``.
        reason: What is different and why, a sentence without its full stop.
    """

    subject: str
    reason: str

    def __str__(self) -> str:
        """Put the subject before the reason."""
        return f"{self.subject}: {self.reason}"


class Export(msgspec.Struct, frozen=True):
    """
    Objects and omissions.

    Attributes:
        manifests: In the order in which they are applied; may be empty.
        omissions: In the order of the policy, general ones last.
    """

    manifests: tuple[Manifest, ...] = ()
    omissions: tuple[Omission, ...] = ()
