"""
Report on an object of a file: kube-apiserver's response to its creation, with lines of the file.

Entry point: ``reports_on``. ``webhook.policy.api.predict`` decides; this
module adds lines and fixes.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.manifests import Document, find_type_mismatch
from webhook.policy import render
from webhook.policy.api import fieldgates, predict
from webhook.policy.api.fielderrors import aggregate
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gates, Stage
from webhook.policy.api.predict import Request
from webhook.policy.api.rules import ApiViolation
from webhook.policy.catalogue import CATALOGUE, TYPE_INVALID
from webhook.policy.model import GroupKind, PodTemplate, group_of
from webhook.policy.paths import (
    CONSTRAINTS_IN_POD,
    TemplatePath,
    constraints_field,
    format_path,
    parse_path,
)
from webhook.policy.render import Rendered
from webhook.policy.verdict import BAD_REQUEST, UNPROCESSABLE

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
        code: 201 if created, 422 if it breaks rules, 400 if a value has a wrong type.
        message: Why it would be denied, in one sentence; empty if created.
        causes: The reasons of a denial, one by one.
        warnings: Warnings of the API server.
        dropped: Fields that the API server would drop, because their feature gate is off or its
            version does not know them.
        stored: The constraints that would be stored; empty if denied.
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

    @property
    def denied(self) -> bool:
        """Whether the object would be denied."""
        return self.code != CREATED

    @property
    def has_warnings(self) -> bool:
        """Whether there are warnings or dropped fields."""
        return bool(self.warnings or self.dropped)


def reports_on(
    document: Document, templates: Mapping[GroupKind, TemplatePath], servers: Sequence[Gates]
) -> list[ValidationReport]:
    """
    Report how several API servers would respond to the creation of an object.

    Args:
        document: The object; it is decoded once.
        templates: Path of the pod template of each kind that has one.
        servers: Feature gates of each API server; the result has one report for each.
    """
    kind = GroupKind(group_of(document.api_version), document.kind)
    path = templates.get(kind)
    if path is None:
        return [_report(document)] * len(servers)
    try:
        template = _decode_template(document.value, path)
    except msgspec.ValidationError as error:
        return [_report_type_error(document, error)] * len(servers)
    request = Request(kind=kind, path=path, template=template)
    if template is None or not template.constraints:
        return [_report(document, judged=True)] * len(servers)
    return [_report_answer(document, request, gates) for gates in servers]


def _report_answer(document: Document, request: Request, gates: Gates) -> ValidationReport:
    answer = predict.predict_response(request, gates)
    notice = partial(_build_notice, document, request.path)
    accepted = _report(
        document,
        judged=True,
        warnings=tuple(notice(warning.rule, warning.text) for warning in answer.warned),
        dropped=tuple(
            notice("TSC111", _describe_drop(drop, constraints_field(request.path), gates))
            for drop in answer.drops
        ),
        stored=tuple(map(render.constraint, answer.stored)),
    )
    if not answer.findings:
        return accepted
    problem = aggregate([finding.error for finding in answer.findings])
    return replace(
        accepted,
        code=UNPROCESSABLE,
        message=f'{request.kind} "{document.name}" is invalid: {problem}',
        causes=tuple(causes(document, request.path, answer.findings)),
        stored=(),
    )


def causes(document: Document, path: TemplatePath, findings: list[ApiViolation]) -> Iterator[Cause]:
    """Yield the cause of a denial for each finding; ``path`` is that of the pod template."""
    for finding in findings:
        error, fix = finding.error, CATALOGUE[finding.rule].fix
        line = _find_line(document, path, error.field)
        yield Cause(error.reason, error.message, error.field, finding.rule, line, fix)


def _report_type_error(document: Document, error: msgspec.ValidationError) -> ValidationReport:
    """Report a type error: kube-apiserver cannot decode such an object."""
    found = find_type_mismatch(error, document.value)
    field = format_path(found.path) or document.kind
    line = document.line(found.path)
    fix = next((fix for end, fix in _TYPE_FIXES.items() if found.problem.endswith(end)), "")
    version, kind = document.api_version, document.kind
    return _report(
        document,
        judged=True,
        code=BAD_REQUEST,
        message=f'{kind} in version "{version}" cannot be handled as a {kind}: '
        f"{field}: {found.problem}",
        causes=(Cause(TYPE_INVALID, found.problem, field, "", line, fix or _EXPECTED),),
    )


_EXPECTED = "write a value of the expected type"
_TYPE_FIXES = {
    "expected an integer, got a string": "write the number without quotes",
    "expected a string, got an integer": "write the value in quotes",
    "expected a string, got a number": "write the value in quotes",
    "expected a string, got a boolean": "write the value in quotes",
    "expected a list, got an object": "start each entry of the list with a dash",
    "expected an object, got a list": "leave out the dash: there is only one",
    "expected an integer <= 2147483647": "write a smaller number: the API has 32 bits for it",
}


def _find_line(document: Document, path: TemplatePath, field: str) -> int:
    """Find the line of a field at or below the list, or of its parent if it is missing."""
    below = parse_path(field.removeprefix(constraints_field(path)))
    return document.line((*path, *CONSTRAINTS_IN_POD, *below))


def _build_notice(
    document: Document, path: TemplatePath, rule: str, message: str
) -> ValidationNotice:
    field = message.partition(": ")[0]
    line = _find_line(document, path, field)
    return ValidationNotice(message, field, rule, line, CATALOGUE[rule].fix)


def _describe_drop(drop: DroppedField, at: str, gates: Gates) -> str:
    field = at if drop.entry is None else f"{at}[{drop.entry}].{drop.field}"
    why, setting = fieldgates.explain_disabled_gate(drop.gate, gates), gates.settings[drop.gate]
    source = f" ({setting.source})" if setting.stage is not Stage.ABSENT else ""
    return f"{field}: dropped, since {why}{source}"


def _report(document: Document, **answer: Any) -> ValidationReport:
    return ValidationReport(
        source=document.source,
        line=document.line(),
        api_version=document.api_version,
        kind=document.kind,
        namespace=document.namespace,
        name=document.name,
        **answer,
    )


def _decode_template(value: Any, path: TemplatePath) -> PodTemplate | None:
    """
    Decode the pod template at a path of an object.

    Raises:
        msgspec.ValidationError: A value in the template, or on its path, has a wrong type.
    """
    held: Any = msgspec.convert(value, _holder(path))
    for _ in path:
        held = held.inner if held is not None else None
    template: PodTemplate | None = held
    return template


@cache
def _holder(path: TemplatePath) -> Any:
    """Define the type of an object of which only the pod template is decoded."""
    holder: Any = PodTemplate | None
    for member in reversed(path):
        fields = [("inner", holder, None)]
        holder = msgspec.defstruct("Holder", fields, rename={"inner": member}) | None
    return holder
