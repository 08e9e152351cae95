"""``evenspread fix``: fix findings of audit and validate in the manifests themselves."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from webhook.audit.exemptions import ProjectExemptions
from webhook.audit.report import SEVERITY_RANKS, AuditSeverity
from webhook.audit.templates import list_templates
from webhook.cli.clock import current_time
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.facts import FactsSources, resolve_namespace, takes_sources
from webhook.cli.inputs.kustomize import KustomizeFolder
from webhook.cli.inputs.manifests import STDIN_SOURCE, InputFiles, name_judged
from webhook.cli.inputs.namespaces import require_namespace
from webhook.cli.inputs.policy import apply_actions, read_policy
from webhook.cli.inputs.snapshots import read_context
from webhook.cli.inputs.spreadpolicies import add_spread_policies
from webhook.cli.output import OutputFormat
from webhook.cli.ruleoptions import RuleSelection
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import style_of
from webhook.config.project import Project
from webhook.errors import ConfigError, SourceError
from webhook.fix.atomic import replace_file
from webhook.fix.difference import format_difference
from webhook.fix.engine import FixOutcome, fix_files
from webhook.fix.evaluate import FixOptions
from webhook.fix.report import FixReport, describe_unwritten
from webhook.manifests import format_yaml
from webhook.manifests.files import encode
from webhook.policy.advice.findings import count_of
from webhook.policy.escape import escape_json, printable
from webhook.policy.model import LabelSelector


@takes_sources
def fix(
    *,
    filename: tuple[str, ...],
    strict: bool,
    diff: bool,
    level: AuditSeverity,
    namespace: str,
    selector: LabelSelector,
    sources: FactsSources,
    output: OutputFormat,
    fail_on: AuditSeverity | None,
    rules: RuleSelection,
    exclude_rules: frozenset[str],
    project: Project | None,
    **policy_options: Any,
) -> ExitCode:
    """Fix the manifests, write them or show the diff, and report the result."""
    if not diff:
        _require_files(filename)
    requested = apply_actions(read_policy(project=project, **policy_options), project)
    configuration = requested.configuration
    judged = configuration.pod_templates
    files = InputFiles(filename, strict=strict, project=project, judged=judged)
    inside = resolve_namespace(namespace, sources)
    if sources.live is None:
        require_namespace(namespace, {name or inside for name in files.namespaces})
    others = read_context(files, sources, configuration, inside)
    requested = add_spread_policies(requested, files, sources.live)
    configuration = requested.configuration
    scope = FixOptions(
        configuration,
        requested.audit_policy,
        rules,
        rules.by_id,
        level,
        exclude_rules,
        ProjectExemptions(project.exemptions if project else ()),
        inside,
        strict=strict,
        only=namespace,
        labels=selector,
        now=current_time(),
    )
    result = fix_files(files.texts, others, scope)
    files.problems += result.problems
    report = _carry_out(files, result, diff=diff)
    is_table = output is OutputFormat.TABLE
    if report.diff and is_table:
        show_diff(report.diff)
    has_manifest = files.piped is not None and not diff
    _write_report(report, output, to_stderr=has_manifest or (diff and is_table))
    if files.kinds.isdisjoint(judged):
        files.report_nothing(name_judged(judged))
    files.note_unknown_templates(list_templates(others), namespace)
    files.report()
    findings = report.exceeds(fail_on) or (diff and bool(report.changed))
    return outcome(findings=findings, unfinished=bool(files.problems))


def _require_files(paths: Sequence[str]) -> None:
    for path in paths:
        if isinstance(path, KustomizeFolder):
            raise ConfigError(
                "cannot be written, as kustomize builds it: add --diff to see the changes, write "
                f"-f {path} to fix the files of the folder, or pipe: {path.source} | evenspread "
                "fix -f -",
                "-k",
            )


def _carry_out(files: InputFiles, result: FixOutcome, *, diff: bool) -> FixReport:
    """Write the changed files, or compare them; findings of files that are not written are left."""
    changed = [source for source, text in result.texts.items() if text != files.texts[source]]
    done = changed if diff else _write_files(files, result, changed)
    failed = frozenset(changed).difference(done)
    unwritten = (describe_unwritten(one) for one in result.fixed if one.source in failed)
    differences = (
        format_difference(printable(source), files.texts[source], result.texts[source])
        for source in done
    )
    return FixReport(
        written=not diff,
        changed=tuple(done),
        fixed=tuple(fixed for fixed in result.fixed if fixed.source in done),
        left=(*unwritten, *result.left_as_read(done if diff else failed)),
        diff="".join(differences) if diff else msgspec.UNSET,
    )


def _write_files(files: InputFiles, result: FixOutcome, changed: Sequence[str]) -> list[str]:
    """Replace changed files atomically, record errors, and return the sources of the others."""
    written: list[str] = []
    piped = files.piped
    for source in changed:
        original = files.originals[source]
        data = encode(result.texts[source], original.data)
        try:
            if source == STDIN_SOURCE:
                piped = data
            else:
                replace_file(original, data)
        except SourceError as error:
            files.problems.append(error)
        else:
            written.append(source)
    if piped is not None:
        sys.stdout.buffer.write(piped)
        sys.stdout.buffer.flush()  # before the report on stderr
    return written


def _write_report(report: FixReport, output: OutputFormat, *, to_stderr: bool) -> None:
    """Write the report; to stderr if stdout has the manifest, or the diff."""
    match output:
        case OutputFormat.JSON:
            click.echo(escape_json(msgspec.json.encode(report).decode()), err=to_stderr)
        case OutputFormat.YAML:
            document = msgspec.json.decode(msgspec.json.encode(report))
            click.echo(f"---\n{format_yaml(document)}", nl=False, err=to_stderr)
        case OutputFormat.NAME:
            for name in dict.fromkeys(fixed.resource for fixed in report.fixed):
                click.echo(name, err=to_stderr)
        case _:
            show(report, Terminal(sys.stderr if to_stderr else None))


def show(report: FixReport, terminal: Terminal) -> None:
    """
    Write the result of every finding, and the totals.

    Findings below the requested level are only counted.
    """
    for fixed in report.fixed:
        place, rule = f"{fixed.source}:{fixed.line}", (fixed.rule, Style.GOOD)
        terminal.line((place, Style.PLACE), ": ", rule, f" {fixed.object}: {fixed.wrote}")
    listed = [left for left in report.left if not left.below_level]
    for left in listed:
        place, rule = f"{left.source}:{left.line}", (left.rule, Style.DOUBTFUL)
        field = "" if left.field in left.problem else f" {left.field}:"
        problem = f" {left.object}:{field} {left.problem}"
        terminal.line((place, Style.PLACE), ": ", rule, problem)
        terminal.line(f"    left: {left.reason}")
    findings = count_of(len(report.fixed), "finding")
    done = "fixed" if report.written else "would be fixed"
    files = count_of(len(report.changed), "file")
    terminal.line(f"{findings} {done} in {files}, {len(listed)} left{_count_below(report)}")


def _count_below(report: FixReport) -> str:
    """Count the findings below the level, the most severe first, and those that have a fix."""
    below = [left for left in report.left if left.below_level]
    if not below:
        return ""
    by_level = Counter(left.severity for left in below)
    counts = [f"{by_level[level]} of level {level}" for level in AuditSeverity if by_level[level]]
    lowest = max(by_level, key=lambda level: SEVERITY_RANKS[level])
    fixes = sum(left.has_fix for left in below)
    effect = f"fixes {fixes}" if fixes else "lists them"
    return f"; {' and '.join(counts)} not considered (--level {lowest} {effect})"


def show_diff(text: str) -> None:
    """Write a diff: with colours on a terminal, as bytes elsewhere."""
    if sys.stdout.isatty():
        Terminal().lines([(line, style_of(line))] for line in text.split("\n")[:-1])
    else:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()  # before the report on stderr
