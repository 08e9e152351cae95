"""
An admission request, reduced to what the verdict depends on.

``webhook.admission.decode`` builds it from an AdmissionReview; nothing here decodes or judges.

Source: k8s.io/api admission/v1 ``AdmissionRequest``.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from webhook.policy.kinds import BUILT_IN_TEMPLATES, POD
from webhook.policy.model import Constraint, GroupKind, ObjectMeta, PodTemplate
from webhook.policy.paths import FieldPath
from webhook.policy.scaledown.binding import Binding

CREATE = "CREATE"
UPDATE = "UPDATE"

LONGEST_NAME = 253  # characters in the name of an object or namespace: a DNS subdomain, RFC 1123


class Hook(StrEnum):
    """The webhooks of objects: the first may patch, the second gets them after all patches."""

    MUTATE = "mutate"
    VALIDATE = "validate"


class BindHook(StrEnum):
    """The webhook of bindings of pods to nodes, which may patch them."""

    BIND = "bind"


AnyHook: TypeAlias = Hook | BindHook


BOTH = "both"

HOOK_CHOICES = {
    str(Hook.MUTATE): (Hook.MUTATE,),
    str(Hook.VALIDATE): (Hook.VALIDATE,),
    BOTH: (Hook.MUTATE, Hook.VALIDATE),
}
"""The value of an option -> the webhooks that are called, in this order."""


class AdmissionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    One admission request.

    Attributes:
        uid: Repeated in the response.
        kind: The kind of the object.
        operation: CREATE, UPDATE, DELETE or CONNECT.
        namespace: The namespace of the object; empty if the kind has no namespaces.
        name: Empty until the API server generates it from ``generateName``.
        sub_resource: Empty for a request about the object itself.
        dry_run: Whether the API server will store nothing, whatever the verdict.
        path: The path from the object to its pod template, or to a bare list of constraints; None
            for a kind without one.
        old_path: The path of the same template in the object that an update replaces; None if it
            is the same path.
        metadata: The metadata of the object; for a Pod that of its template.
        template: The requested pod template; None if the object has none.
        old: The pod template that an update replaces; None on a create.
        unreadable: The type error in an object of a custom kind; empty if there is none. The API
            server guarantees the types of built-in kinds.
        body: The undecoded review, for fields that are seldom needed; may be empty.
        old_unreadable: Whether the object that an update replaces has a type error too.
        binding: The binding of a pod to a node; None for any other object.
        siblings: Requests for the further pod templates of the object; they differ only in
            ``path``, ``template`` and ``old``.
    """

    uid: str
    kind: GroupKind
    operation: str
    namespace: str = ""
    name: str = ""
    sub_resource: str = ""
    dry_run: bool = False
    path: FieldPath | None = None
    old_path: FieldPath | None = None
    metadata: ObjectMeta | None = None
    template: PodTemplate | None = None
    old: PodTemplate | None = None
    unreadable: str = ""
    old_unreadable: bool = False
    body: bytes = b""
    binding: Binding | None = None
    siblings: tuple["AdmissionRequest", ...] = ()

    @property
    def creates_pod(self) -> bool:
        """Whether the request creates a Pod."""
        return self.kind == POD and self.operation == CREATE

    @property
    def built_in(self) -> bool:
        """Whether kube-apiserver itself validates the pod specification of this kind."""
        return self.kind in BUILT_IN_TEMPLATES

    @property
    def controlled(self) -> bool:
        """
        Whether a controller created this object from its own template.

        Such an object is never patched: its controller compares it with that template, and would
        create new objects endlessly.
        """
        return (
            self.kind != POD and self.metadata is not None and self.metadata.controller is not None
        )

    @property
    def shown_name(self) -> str:
        """
        The name for messages: ``generateName`` until the API server has generated a name.

        It has at most ``LONGEST_NAME`` characters, the length of the longest valid name.
        """
        name = self.name
        if not name and self.metadata is not None:
            name = self.metadata.name or self.metadata.generate_name
        return name[:LONGEST_NAME]

    @property
    def old_constraints(self) -> tuple[Constraint, ...] | None:
        """The constraints that an update replaces; None on a create."""
        return self.old.constraints if self.old else None
