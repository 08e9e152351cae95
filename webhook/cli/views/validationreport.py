"""
The response of kube-apiserver to the creation of an object, with lines of its file.

``ValidationReport`` is the entry point; ``webhook.cli.views.validation`` builds the reports.
"""

import msgspec

from webhook.policy.render import Rendered

CREATED = 201  # status code of kube-apiserver for a create that it accepts


class Cause(msgspec.Struct, frozen=True):
    """
    Why an object would be denied.

    Attributes:
        reason: As in ``causes[].reason`` of the API.
        message: As in ``causes[].message``.
        field: Path in the object, in the format of kube-apiserver.
        rule: Id of the rule; empty for a type error.
        line: Line of the field in its file, or of its parent if the field is missing; from 1.
        fix: What to write instead.
    """

    reason: str
    message: str
    field: str
    rule: str
    line: int
    fix: str


class ValidationNotice(msgspec.Struct, frozen=True):
    """A warning of the API server, or a field that it drops; attributes as in ``Cause``."""

    message: str
    field: str
    rule: str
    line: int
    fix: str


class ValidationReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The response to the creation of one object.

    Attributes:
        source: Its file, or ``stdin``.
        line: First line of the object, from 1.
        api_version: From the object, as are kind, namespace and name; empty if missing.
        judged: Whether its kind has a pod template.
        code: 201 if created, 422 if it breaks rules, 400 if it cannot be decoded.
        message: Why it would be denied, in one sentence; empty if created.
        causes: The reasons of a denial, one by one.
        warnings: Warnings of the API server, and reasons for which its pods are refused.
        dropped: Fields that the API server would drop, because their feature gate is off or its
            version does not know them.
        stored: The constraints that would be stored; empty if denied.
        exempted: Number of findings that a project exempts the object from; they are left out.
    """

    source: str
    line: int
    api_version: str
    kind: str
    namespace: str
    name: str
    judged: bool = False
    code: int = CREATED
    message: str = ""
    causes: tuple[Cause, ...] = ()
    warnings: tuple[ValidationNotice, ...] = ()
    dropped: tuple[ValidationNotice, ...] = ()
    stored: tuple[Rendered, ...] = ()
    exempted: int = 0

    @property
    def denied(self) -> bool:
        """Whether the object would be denied."""
        return self.code != CREATED

    @property
    def has_warnings(self) -> bool:
        """Whether there are warnings or dropped fields."""
        return bool(self.warnings or self.dropped)
