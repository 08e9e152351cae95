"""
What kube-apiserver would answer to the creation of an object in a file, with places in that file.

Judging is done in ``webhook.policy.api.apiserver``; here its answer becomes a report for people and
programs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from webhook.cli.inputs.templates import template_in
from webhook.cli.views.catalogue import fix_of
from webhook.manifests import Document, mistype
from webhook.policy import render
from webhook.policy.api import apiserver, fieldgates
from webhook.policy.api.apiserver import Request
from webhook.policy.api.fielderrors import aggregate
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gates, Stage
from webhook.policy.api.rules import RuleViolation
from webhook.policy.api.warnings import ApiWarning
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import (
    CONSTRAINTS_IN_POD,
    FieldPath,
    TemplatePath,
    constraints_field,
    format_path,
    parse_path,
)
from webhook.policy.render import Rendered
from webhook.policy.verdict import BAD_REQUEST, UNPROCESSABLE

CREATED = 201  # what kube-apiserver answers to a create that it accepts

TYPE_INVALID = "FieldValueTypeInvalid"  # apimachinery meta/v1 CauseTypeTypeInvalid


class Cause(msgspec.Struct, frozen=True):
    """
    Why an object would be refused.

    Attributes:
        reason: As in ``causes[].reason`` of the API.
        message: As in ``causes[].message``.
        field: Its path in the object, as kube-apiserver writes it.
        rule: The rule's id; empty for a wrong type.
        line: Where it stands in its file, or what it should stand in; from 1.
        fix: What to write instead.
    """

    reason: str
    message: str
    field: str
    rule: str
    line: int
    fix: str


class Remark(msgspec.Struct, frozen=True):
    """What the API server would warn about, in its words, or drop in silence; as in ``Cause``."""

    message: str
    field: str
    rule: str
    line: int
    fix: str


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The answer to one object.

    Attributes:
        source: Its file, or ``stdin``.
        line: Where it starts, from 1.
        api_version: As it stands in the object; so are the next three, empty if they do not.
        judged: Whether it is of a kind that holds a pod template.
        code: 201, 422 if it breaks rules, 400 if a value has a wrong type.
        message: Why it would be refused, in one sentence; empty if it would not.
        causes: The same, one by one.
        warnings: What it would be warned about.
        dropped: What the API server would take away: feature gates that are off, or a version that
            does not know the field.
        stored: The constraint list that is left to be stored; empty if it would be refused.
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
    warnings: tuple[Remark, ...] = ()
    dropped: tuple[Remark, ...] = ()
    stored: tuple[Rendered, ...] = ()

    @property
    def denied(self) -> bool:
        """Whether the object would be refused."""
        return self.code != CREATED

    @property
    def doubtful(self) -> bool:
        """Whether there is anything to warn about."""
        return bool(self.warnings or self.dropped)


def report_on(
    document: Document, templates: Mapping[GroupKind, TemplatePath], gates: Gates
) -> Report:
    """
    Judge one object as one API server does.

    Args:
        document: The object.
        templates: Where each kind with a pod template holds it.
        gates: Of the API server to answer like.
    """
    return reports_on(document, templates, (gates,))[0]


def reports_on(
    document: Document, templates: Mapping[GroupKind, TemplatePath], servers: Sequence[Gates]
) -> list[Report]:
    """
    Judge one object as several API servers do.

    Args:
        document: The object; it is decoded once.
        templates: Where each kind with a pod template holds it.
        servers: The gates of each API server to answer like.

    Returns:
        A report for each API server.
    """
    kind = GroupKind(group_of(document.api_version), document.kind)
    path = templates.get(kind)
    if path is None:
        return [_report(document)] * len(servers)
    try:
        template = template_in(document.value, path)
    except msgspec.ValidationError as error:
        return [_mistyped(document, error)] * len(servers)
    request = Request(kind=kind, path=path, template=template)
    if template is None or not template.constraints:
        return [_report(document, judged=True)] * len(servers)
    return [_answered(document, request, gates) for gates in servers]


def _answered(document: Document, request: Request, gates: Gates) -> Report:
    answer = apiserver.predict_response(request, gates)
    place = _Places(document, request.path)
    refused = bool(answer.findings)
    return _report(
        document,
        judged=True,
        code=UNPROCESSABLE if refused else CREATED,
        message=_invalid(request.kind, document.name, answer.findings),
        causes=tuple(causes(document, request.path, answer.findings)),
        warnings=tuple(_warned(caution, place) for caution in answer.warned),
        dropped=tuple(_dropped(drop, place, gates) for drop in answer.drops),
        stored=() if refused else tuple(map(render.constraint, answer.stored)),
    )


def causes(
    document: Document, path: TemplatePath, findings: list[RuleViolation]
) -> Iterator[Cause]:
    """
    Find the places of findings.

    Args:
        document: The object they are about.
        path: Where it holds its pod template.
        findings: What is wrong with its constraints.
    """
    place = _Places(document, path)
    for finding in findings:
        reason, message, field = finding.error.reason, finding.error.message, finding.error.field
        yield Cause(reason, message, field, finding.rule, place.line(field), fix_of(finding.rule))


def _mistyped(document: Document, error: msgspec.ValidationError) -> Report:
    """Report a value of the wrong type: such an object is not even decoded."""
    found = mistype(error, document.value)
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


class _Places:
    """Lines of fields that kube-apiserver names."""

    def __init__(self, document: Document, path: TemplatePath) -> None:
        self._document = document
        self._list: FieldPath = (*path, *CONSTRAINTS_IN_POD)
        self.at = constraints_field(path)

    def line(self, field: str) -> int:
        """Find the line of a field at or below the list, or of what it should stand in."""
        return self._document.line((*self._list, *parse_path(field.removeprefix(self.at))))


def _warned(caution: ApiWarning, place: _Places) -> Remark:
    field = caution.text.partition(": ")[0]
    return Remark(caution.text, field, caution.rule, place.line(field), fix_of(caution.rule))


def _dropped(drop: DroppedField, place: _Places, gates: Gates) -> Remark:
    field = place.at if drop.entry is None else f"{place.at}[{drop.entry}].{drop.field}"
    why, setting = fieldgates.why_held_back(drop.gate, gates), gates.settings[drop.gate]
    source = f" ({setting.source})" if setting.stage is not Stage.ABSENT else ""
    message = f"{field}: dropped, since {why}{source}"
    return Remark(message, field, "TSC111", place.line(field), fix_of("TSC111"))


def _invalid(kind: GroupKind, name: str, findings: list[RuleViolation]) -> str:
    if not findings:
        return ""
    return f'{kind} "{name}" is invalid: {aggregate([each.error for each in findings])}'


def _report(document: Document, **answer: Any) -> Report:
    return Report(
        source=document.source,
        line=document.line(),
        api_version=document.api_version,
        kind=document.kind,
        namespace=document.namespace,
        name=document.name,
        **answer,
    )
