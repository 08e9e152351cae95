"""
One admission request, as far as it concerns spreading: what judging starts from.

Source: k8s.io/api admission/v1 ``AdmissionRequest``.
"""

from enum import StrEnum

import msgspec

from webhook.policy.kinds import BUILT_IN_TEMPLATES, POD
from webhook.policy.model import Constraint, GroupKind, ObjectMeta, PodTemplate
from webhook.policy.paths import TemplatePath

CREATE = "CREATE"
UPDATE = "UPDATE"

LONGEST_NAME = 253  # characters of the name of an object or a namespace: a DNS subdomain, RFC 1123


class Hook(StrEnum):
    """The two webhooks: the first may patch, the second sees what all others made of the object."""

    MUTATE = "mutate"
    VALIDATE = "validate"


class AdmissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """
    One request.

    Attributes:
        uid: To be repeated in the answer.
        kind: Of the object.
        operation: CREATE, UPDATE, DELETE or CONNECT.
        namespace: Where the object is; empty if it is in none.
        name: Empty while the API server has not made it from ``generateName``.
        sub_resource: Empty if the object itself is meant.
        path: From the object to its pod template; None for a kind that has none.
        metadata: The object's own; of a Pod the same as its template's.
        template: As requested; None if the object has none.
        old: The one that an update replaces; None on a create.
        unreadable: What is wrong with the shape of a custom kind's object; empty if it could be
            read. The API server guarantees that of built-in kinds.
        body: The whole review as it came, for questions that are seldom asked; it may be empty.
        old_unreadable: Whether the object that an update replaces could not be read either.
    """

    uid: str
    kind: GroupKind
    operation: str
    namespace: str = ""
    name: str = ""
    sub_resource: str = ""
    path: TemplatePath | None = None
    metadata: ObjectMeta | None = None
    template: PodTemplate | None = None
    old: PodTemplate | None = None
    unreadable: str = ""
    old_unreadable: bool = False
    body: bytes = b""

    @property
    def creates_pod(self) -> bool:
        """Whether a Pod is created."""
        return self.kind == POD and self.operation == CREATE

    @property
    def built_in(self) -> bool:
        """Whether the kind is one whose pod specification kube-apiserver judges itself."""
        return self.kind in BUILT_IN_TEMPLATES

    @property
    def controlled(self) -> bool:
        """
        Whether a controller made this object from its own template.

        Such an object is never patched: its controller compares it with that template, and would
        make new ones without end.
        """
        return (
            self.kind != POD and self.metadata is not None and self.metadata.controller is not None
        )

    @property
    def shown_name(self) -> str:
        """
        The name for messages; the prefix that it will be made from while there is no other.

        At most ``LONGEST_NAME`` characters of it: longer ones are not valid.
        """
        name = self.name
        if not name and self.metadata is not None:
            name = self.metadata.name or self.metadata.generate_name
        return name[:LONGEST_NAME]

    @property
    def old_constraints(self) -> tuple[Constraint, ...] | None:
        """The list that an update replaces; None on a create."""
        return self.old.constraints if self.old else None
