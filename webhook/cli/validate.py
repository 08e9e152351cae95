"""
``evenspread validate``: check manifests against the API rules, with kube-apiserver's messages.

One version gives findings with file and line; several versions give a table side by side.
"""

from collections.abc import Sequence
from typing import Any

import click

from webhook.audit.report import AuditSeverity
from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import read_policy_versions
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Terminal
from webhook.cli.views.findings import Matrix, as_document, describe_support, show
from webhook.cli.views.validation import ValidationReport, reports_on
from webhook.errors import ConfigError
from webhook.policy.advice.findings import count_of
from webhook.policy.api.versions import Version, VersionRange
from webhook.policy.catalogue import CATALOGUE


class ObjectCounts:
    """Counts of objects; an object that any version denies counts as denied."""

    def __init__(self) -> None:
        """Start at zero."""
        self.checked = self.denied = self.warned = self.others = 0

    def count(self, reports: Sequence[ValidationReport]) -> None:
        """Count one object by its reports, one per version."""
        denied = any(report.denied for report in reports)
        self.checked += reports[0].judged
        self.others += not reports[0].judged
        self.denied += denied
        self.warned += not denied and any(report.has_warnings for report in reports)

    def summary(self, versions: Sequence[Version]) -> str:
        """Format the counts as one line."""
        others = f"; {self.others} without" if self.others else ""
        return (
            f"{count_of(self.checked, 'object')} with a pod template, by the rules of Kubernetes "
            f"{VersionRange(versions[0], versions[-1])}: {self.denied} denied, "
            f"{self.warned} with warnings{others}"
        )


def validate(
    *,
    filename: tuple[str, ...],
    strict: bool,
    output: OutputFormat,
    fail_on: AuditSeverity,
    **policy_options: Any,
) -> ExitCode:
    """Validate every object against every version, in one pass."""
    configuration, servers = read_policy_versions(**policy_options)
    versions = [gates.version for gates in servers]
    inputs, counts = Inputs(filename, strict=strict), ObjectCounts()
    matrix, terminal = Matrix(versions), Terminal()
    for document in inputs.objects():
        reports = reports_on(document, configuration.pod_templates, servers)
        counts.count(reports)
        if output is not OutputFormat.TABLE:
            write_document(as_document(versions, reports), output)
        elif len(servers) == 1:
            show(reports[0], terminal)
        else:
            matrix.add(reports)
    inputs.report()
    if output is OutputFormat.TABLE:
        matrix.show(terminal)
        if len(servers) == 1 and policy_options["kube_version"]:
            terminal.line(describe_support(servers[0]))
        terminal.line(counts.summary(versions))
    warned = counts.warned and fail_on is AuditSeverity.WARN
    return outcome(findings=bool(counts.denied or warned), unfinished=bool(inputs.problems))


def _explain(ctx: click.Context, _: click.Parameter, ids: str | None) -> None:
    if ids is not None:
        click.echo("\n\n".join(_explain_rule(rule.strip().upper()) for rule in ids.split(",")))
        ctx.exit()


def _explain_rule(rule: str) -> str:
    if rule not in CATALOGUE:
        known = ", ".join(sorted(rule for rule in CATALOGUE if rule.isupper()))
        raise ConfigError(f"{rule!r} is not a rule: use one of {known}", "--explain")
    entry = CATALOGUE[rule]
    return f"{rule}: {entry.title}\n  otherwise: {entry.effect}\n  instead:   {entry.fix}"


command = Command(
    "validate",
    callback=validate,
    params=[
        options.filename("Manifests to check"),
        options.STRICT,
        *options.gates(versions=True),
        options.CONFIG,
        options.output(),
        options.fail_on(),
        click.Option(
            ["--explain"],
            metavar="ID",
            is_eager=True,
            expose_value=False,
            callback=_explain,
            help="Explain rules, for example TSC001 or TSC004,TSC006, and exit.",
        ),
    ],
    help=(
        "Check the topologySpreadConstraints of manifests against the API rules of a Kubernetes "
        "version, with the messages of its kube-apiserver. Pods and objects with a pod template "
        "are checked; other objects are ignored. For a range of versions, the results are shown "
        "side by side."
    ),
    examples=(
        "evenspread validate -f manifests/",
        "evenspread validate -f pod.yaml --kube-version 1.29 -o json",
        "evenspread validate -f manifests/ --kube-version 1.24..1.36",
        "helm template chart/ | evenspread validate -f - --fail-on warn",
        "evenspread validate --explain TSC006",
    ),
)
