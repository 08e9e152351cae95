"""
Report on an object of a file: kube-apiserver's response to its creation, with lines of the file.

``reports_on`` is the entry point. ``webhook.policy.api.predict`` decides; this module adds lines
and fixes.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.audit.strict import drop_exempted, find_strict_errors
from webhook.cli.views.validationreport import Cause, ValidationNotice, ValidationReport
from webhook.manifests import Document, find_type_mismatches
from webhook.manifests.type_errors import TypeMismatch
from webhook.policy import render
from webhook.policy.api import fieldgates, predict
from webhook.policy.api.fielderrors import BAD_REQUEST, UNPROCESSABLE, aggregate
from webhook.policy.api.fieldgates import DroppedField
from webhook.policy.api.gates import Gates, Stage
from webhook.policy.api.patches import withhold_entries
from webhook.policy.api.predict import PredictedResponse, Request
from webhook.policy.api.rules import ApiViolation
from webhook.policy.api.schema import StrictFinding
from webhook.policy.catalogue import CATALOGUE, TYPE_INVALID
from webhook.policy.corrections import suggest_correction, suggest_type
from webhook.policy.model import GroupKind, PodTemplate
from webhook.policy.paths import (
    FieldPath,
    constraints_field,
    constraints_path,
    format_path,
    parse_path,
)
from webhook.policy.places import TemplatePlaces, find_places, template_at


def reports_on(
    document: Document,
    templates: Mapping[GroupKind, TemplatePlaces],
    servers: Sequence[Gates],
    *,
    strict: bool = False,
    not_exemptible: frozenset[str] = frozenset(),
    exempt: frozenset[str] = frozenset(),
) -> list[ValidationReport]:
    """
    Report how several API servers would respond to the creation of an object.

    Args:
        document: The object; it is decoded once.
        templates: Where the objects of each kind hold pod templates.
        servers: Feature gates of each API server; the result has one report for each.
        strict: Whether unknown and duplicate fields deny the object, as with kubectl, and so do
            constraints for which its pods are refused.
        not_exemptible: Rules from which no annotation exempts.
        exempt: Rules from which a project exempts the object.
    """
    places = templates.get(document.group_kind)
    if places is None:
        return [_report(document)] * len(servers)
    found = drop_exempted(find_strict_errors(document, places), document, not_exemptible)
    kept = tuple(finding for finding in found if finding.rule not in exempt)
    return [
        _add_strict_findings(report, kept, strict=strict)
        for report in (
            _leave_out(report, exempt, len(found) - len(kept))
            for report in _report_responses(document, places, servers, strict=strict)
        )
    ]


def report_strict_errors(
    document: Document,
    places: TemplatePlaces,
    *,
    strict: bool,
    not_exemptible: frozenset[str] = frozenset(),
) -> ValidationReport | None:
    """Report only the unknown and duplicate fields of an object; None if it has none."""
    found = drop_exempted(find_strict_errors(document, places), document, not_exemptible)
    if not found:
        return None
    return _add_strict_findings(_report(document, judged=True), found, strict=strict)


def _report_responses(
    document: Document, places: TemplatePlaces, servers: Sequence[Gates], *, strict: bool
) -> list[ValidationReport]:
    """Report the responses of API servers that ignore unknown fields."""
    kind = document.group_kind
    value, withheld = withhold_entries(document.value, places)
    try:
        found = [
            (path, template_at(value, path, PodTemplate)) for path in find_places(value, places)
        ]
    except msgspec.ValidationError:
        errors = find_type_mismatches(value, partial(_decode_templates, places))
        return [_report_type_errors(document, errors)] * len(servers)
    stored = predict.is_stored_object(value)
    requests = [
        Request(
            kind=kind,
            path=path,
            template=template,
            stored=stored,
            unjudged=withheld.get(path, frozenset()),
        )
        for path, template in found
        if template is not None and template.constraints
    ]
    if not requests:
        return [_report(document, judged=True)] * len(servers)
    return [_report_answer(document, requests, gates, strict=strict) for gates in servers]


def _leave_out(report: ValidationReport, exempt: frozenset[str], others: int) -> ValidationReport:
    """Leave out the notices of exempt rules, and count them beside other findings."""
    if not exempt:
        return report
    warnings, dropped = (
        tuple(notice for notice in notices if notice.rule not in exempt)
        for notices in (report.warnings, report.dropped)
    )
    left_out = len(report.warnings) + len(report.dropped) - len(warnings) - len(dropped)
    return replace(report, warnings=warnings, dropped=dropped, exempted=left_out + others)


def _decode_templates(places: TemplatePlaces, value: Any) -> None:
    for path in find_places(value, places):
        template_at(value, path, PodTemplate)


def _add_strict_findings(
    report: ValidationReport, found: Sequence[StrictFinding], *, strict: bool
) -> ValidationReport:
    """
    Add unknown and duplicate fields: as warnings, or as the causes of a denial.

    Source: apimachinery runtime error.go ``strictDecodingError``.
    """
    if not found:
        return report
    if not strict:
        notices = (
            ValidationNotice(one.problem, one.field, one.rule, one.line, _fix_of(one))
            for one in found
        )
        return replace(report, warnings=(*notices, *report.warnings))
    causes = (
        Cause(TYPE_INVALID, one.problem, one.field, one.rule, one.line, _fix_of(one))
        for one in found
    )
    problem = f"strict decoding error: {', '.join(one.message for one in found)}"
    message = report.message if report.code == BAD_REQUEST else _describe_undecodable(report)
    return replace(
        report,
        code=BAD_REQUEST,
        message=message if report.code == BAD_REQUEST else f"{message}: {problem}",
        causes=(*causes, *report.causes),
        stored=(),
    )


def _fix_of(finding: StrictFinding) -> str:
    return finding.instead.removeprefix("# ")


def _report_answer(
    document: Document, requests: Sequence[Request], gates: Gates, *, strict: bool
) -> ValidationReport:
    """Report the answer about an object, from those about each of its pod templates."""
    answers = [(request, predict.predict_response(request, gates)) for request in requests]
    notice = partial(_build_notice, document)
    accepted = _report(
        document,
        judged=True,
        warnings=tuple(
            notice(request.path, *warning)
            for request, answer in answers
            for warning in _list_warnings(request, answer, strict=strict)
        ),
        dropped=tuple(
            notice(request.path, "TSC111", _describe_drop(drop, request.path, gates))
            for request, answer in answers
            for drop in answer.drops
        ),
        stored=tuple(render.constraint(item) for _, answer in answers for item in answer.stored),
    )
    denying = [
        (request, [*answer.findings, *(answer.refused if strict else ())])
        for request, answer in answers
    ]
    errors = [finding.error for _, findings in denying for finding in findings]
    if not errors:
        return accepted
    return replace(
        accepted,
        code=UNPROCESSABLE,
        message=f'{requests[0].kind} "{document.name}" is invalid: {aggregate(errors)}',
        causes=tuple(
            cause
            for request, findings in denying
            for cause in causes(document, request.path, findings, request.template)
        ),
        stored=(),
    )


def _list_warnings(
    request: Request, answer: PredictedResponse, *, strict: bool
) -> Iterator[tuple[str, str, str]]:
    """
    Yield rule, text and fix of each warning; an empty fix stands for that of the rule.

    kube-apiserver does not warn of pods that it refuses.
    """
    at = constraints_field(request.path)
    for violation in () if strict else answer.refused:
        fix = suggest_correction(violation, request.template, at)
        yield violation.rule, str(violation.error), fix
    for warning in answer.warned:
        yield warning.rule, warning.text, ""


def causes(
    document: Document,
    path: FieldPath,
    findings: list[ApiViolation],
    template: PodTemplate | None,
) -> Iterator[Cause]:
    """Yield the cause of a denial for each finding about the pod template at a path."""
    at = constraints_field(path)
    for finding in findings:
        error, fix = finding.error, suggest_correction(finding, template, at)
        line = _find_line(document, path, error.field)
        yield Cause(error.reason, error.message, error.field, finding.rule, line, fix)


def _report_type_errors(document: Document, errors: Sequence[TypeMismatch]) -> ValidationReport:
    """Report values of wrong types: kube-apiserver cannot decode such an object."""
    causes = tuple(_build_type_cause(document, error) for error in errors)
    report = _report(document, judged=True, code=BAD_REQUEST, causes=causes)
    problem = f"{causes[0].field}: {causes[0].message}"  # kube-apiserver reports the first one
    return replace(report, message=f"{_describe_undecodable(report)}: {problem}")


def _build_type_cause(document: Document, error: TypeMismatch) -> Cause:
    field, line = format_path(error.path) or document.kind, document.line(error.path)
    fix = suggest_type(error.problem, field)
    return Cause(TYPE_INVALID, error.problem, field, "", line, fix)


def _describe_undecodable(report: ValidationReport) -> str:
    """Name kind and version, without a group. Source: apiserver ``transformDecodeError``."""
    kind, version = report.kind, report.api_version.rpartition("/")[2]
    return f'{kind} in version "{version}" cannot be handled as a {kind}'


def _find_line(document: Document, path: FieldPath, field: str) -> int:
    """Find the line of a field at or below the list, or of its parent if it is missing."""
    below = parse_path(field.removeprefix(constraints_field(path)))
    return document.line((*constraints_path(path), *below))


def _build_notice(
    document: Document, path: FieldPath, rule: str, message: str, fix: str = ""
) -> ValidationNotice:
    """Build a notice; without a fix, with the general one of the rule."""
    field = message.partition(": ")[0]
    line = _find_line(document, path, field)
    return ValidationNotice(message, field, rule, line, fix or CATALOGUE[rule].fix)


def _describe_drop(drop: DroppedField, path: FieldPath, gates: Gates) -> str:
    at = constraints_field(path)
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
