"""
``evenspread validate``: check manifests against the API rules, with kube-apiserver's messages.

One version gives findings with file and line; several versions give a table side by side.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from webhook.audit.renderers.names import format_name
from webhook.audit.report import AuditSeverity
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.garbage import pause_garbage_collection
from webhook.cli.inputs.labelselectors import describe_selected, selects
from webhook.cli.inputs.manifests import Inputs, name_judged
from webhook.cli.inputs.namespaces import put_into_namespace, require_namespace
from webhook.cli.inputs.policy import check_exemptions, read_policy_versions
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Terminal
from webhook.cli.views.findings import Matrix, as_document, describe_support, show
from webhook.cli.views.validation import reports_on
from webhook.cli.views.validationreport import ValidationReport
from webhook.config.project import Project
from webhook.manifests import Document
from webhook.policy.advice.findings import count_of
from webhook.policy.api.versions import Version, VersionRange
from webhook.policy.model import LabelSelector
from webhook.policy.paths import find_value, is_object


class ObjectCounts:
    """Counts of objects; an object that any version denies counts as denied."""

    def __init__(self) -> None:
        """Start at zero."""
        self.checked = self.denied = self.warned = self.others = self.exempted = 0

    def count(self, reports: Sequence[ValidationReport]) -> None:
        """Count one object by its reports, one per version."""
        denied = any(report.denied for report in reports)
        self.checked += reports[0].judged
        self.others += not reports[0].judged
        self.exempted += max(report.exempted for report in reports)
        self.denied += denied
        self.warned += not denied and any(report.has_warnings for report in reports)

    def summary(self, versions: Sequence[Version], what: str) -> str:
        """Format the counts as one line, of objects that ``what`` names."""
        have = "has" if self.others == 1 else "have"
        others = f"; {count_of(self.others, 'other object')} {have} none" if self.others else ""
        if self.exempted:
            others += f"; {count_of(self.exempted, 'finding')} exempted"
        supported = VersionRange(versions[0], versions[-1])
        return (
            f"{count_of(self.checked, 'object')}{what.removeprefix('object')}, by the rules of "
            f"Kubernetes {supported}: {self.denied} denied, {self.warned} with warnings only"
            f"{others}"
        )


@pause_garbage_collection()
def validate(
    *,
    filename: tuple[str, ...],
    strict: bool,
    output: OutputFormat,
    fail_on: AuditSeverity,
    namespace: str,
    selector: LabelSelector,
    project: Project | None,
    **policy_options: Any,
) -> ExitCode:
    """Validate every object against every version, in one pass."""
    configuration, servers = read_policy_versions(project=project, **policy_options)
    if project is not None:
        check_exemptions(project, configuration)
    versions = [gates.version for gates in servers]
    judged = configuration.pod_templates
    inputs = Inputs(filename, strict=strict, project=project, judged=judged)
    counts = ObjectCounts()
    matrix, terminal = Matrix(versions), Terminal()
    is_table = output in (OutputFormat.TABLE, OutputFormat.WIDE)
    for document in _choose(inputs, namespace, selector):
        reports = reports_on(
            document,
            configuration.pod_templates,
            servers,
            strict=strict,
            not_exemptible=configuration.not_exemptible,
            exempt=_list_exempt(document, project),
        )
        counts.count(reports)
        if not is_table:
            _write(reports, versions, output)
        elif len(servers) == 1:
            show(reports[0], terminal, is_wide=output is OutputFormat.WIDE)
        else:
            matrix.add(reports)
    if not counts.checked:
        inputs.report_nothing(describe_selected(name_judged(judged), selector))
    inputs.note_unknown_templates(namespace=namespace)
    inputs.report()
    if is_table:
        matrix.show(terminal)
        if len(servers) == 1 and policy_options["kube_version"]:
            terminal.line(describe_support(servers[0]))
        terminal.line(counts.summary(versions, name_judged(judged)))
    warned = counts.warned and fail_on is AuditSeverity.WARN
    return outcome(findings=bool(counts.denied or warned), unfinished=bool(inputs.problems))


def _list_exempt(document: Document, project: Project | None) -> frozenset[str]:
    """List the rules from which the project exempts an object."""
    if project is None or not project.exemptions:
        return frozenset()
    written = find_value(document.value, ("metadata", "labels"))
    labels = written if is_object(written) else {}
    named = document.kind, document.namespace, document.name
    covering = (one.rules for one in project.exemptions if one.covers(*named, labels))
    return frozenset[str]().union(*covering)


def _write(
    reports: Sequence[ValidationReport], versions: Sequence[Version], output: OutputFormat
) -> None:
    """Write the reports on one object for programs, or its name if there are findings."""
    if output is not OutputFormat.NAME:
        write_document(as_document(versions, reports), output)
    elif any(report.denied or report.has_warnings for report in reports):
        click.echo(format_name(reports[0].api_version, reports[0].kind, reports[0].name))


def _choose(inputs: Inputs, namespace: str, selector: LabelSelector) -> Iterator[Document]:
    """Yield the objects that ``-n`` and ``-l`` select, in the namespace of ``-n``."""
    documents = inputs.objects()
    known: set[str] = set()
    for document in put_into_namespace(documents, namespace) if namespace else documents:
        known.add(document.namespace)
        is_inside = not namespace or document.namespace in ("", namespace)
        if is_inside and selects(selector, document.value):
            yield document
    require_namespace(namespace, known - {""})
