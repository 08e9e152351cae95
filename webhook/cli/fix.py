"""``evenspread fix``: fix findings of audit and validate in the manifests themselves."""

import re
import sys
from difflib import unified_diff
from typing import Any

import click
import msgspec

from webhook.audit.report import AuditSeverity
from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.manifests import STDIN_SOURCE, InputFiles
from webhook.cli.inputs.policy import read_policy
from webhook.cli.output import OutputFormat
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import style_of
from webhook.errors import SourceError
from webhook.fix.atomic import replace_file
from webhook.fix.engine import FixOutcome, fix_files
from webhook.fix.evaluate import FixOptions
from webhook.fix.report import FixReport
from webhook.manifests.files import encode
from webhook.policy.advice.findings import count_of
from webhook.policy.escape import escape_json, printable


def fix(
    *,
    filename: tuple[str, ...],
    strict: bool,
    diff: bool,
    cluster: str,
    output: OutputFormat,
    fail_on: AuditSeverity | None,
    rules: frozenset[str],
    **policy_options: Any,
) -> ExitCode:
    """Fix the manifests, write them or show the diff, and report the result."""
    requested = read_policy(**policy_options)
    files = InputFiles(filename, strict=strict)
    others = list(files.cluster_objects(cluster))
    scope = FixOptions(requested.configuration, requested.policy, rules)
    result = fix_files(files.texts, others, scope, as_read=diff)
    files.problems += result.problems
    changed = [source for source, text in result.texts.items() if text != files.texts[source]]
    if diff:
        for source in changed:
            show_difference(source, files.texts[source], result.texts[source])
    else:
        failed = _write_files(files, result, changed)
        files.problems += failed.values()
        changed = [source for source in changed if source not in failed]
    report = FixReport(
        written=not diff,
        changed=tuple(changed),
        fixed=tuple(fixed for fixed in result.fixed if fixed.source in changed),
        left=result.left,
    )
    _write_report(report, output, to_stderr=diff or files.piped is not None)
    files.report()
    findings = report.exceeds(fail_on) or (diff and bool(changed))
    return outcome(findings=findings, unfinished=bool(files.problems))


def _write_files(
    files: InputFiles, result: FixOutcome, changed: list[str]
) -> dict[str, SourceError]:
    """Replace changed files atomically; return source -> error for files that failed."""
    failed: dict[str, SourceError] = {}
    piped = files.piped
    for source in changed:
        original = files.originals[source]
        data = encode(result.texts[source], original.data)
        if source == STDIN_SOURCE:
            piped = data
            continue
        try:
            replace_file(original, data)
        except SourceError as error:
            failed[source] = error
    if piped is not None:
        sys.stdout.buffer.write(piped)
        sys.stdout.buffer.flush()  # before the report on stderr
    return failed


def _write_report(report: FixReport, output: OutputFormat, *, to_stderr: bool) -> None:
    """Write the report; to stderr if stdout carries a diff or a manifest."""
    if output is OutputFormat.JSON:
        click.echo(escape_json(msgspec.json.encode(report).decode()), err=to_stderr)
    else:
        show(report, Terminal(sys.stderr if to_stderr else None))


_line = re.compile(r"[^\n]*\n|[^\n]+").findall
_NO_NEWLINE = "\n\\ No newline at end of file\n"


def show(report: FixReport, terminal: Terminal) -> None:
    """Write the result of every finding, and the totals."""
    for fixed in report.fixed:
        place, rule = f"{fixed.source}:{fixed.line}", (fixed.rule, Style.GOOD)
        terminal.line((place, Style.PLACE), ": ", rule, f" {fixed.object}: {fixed.wrote}")
    for left in report.left:
        place, rule = f"{left.source}:{left.line}", (left.rule, Style.DOUBTFUL)
        problem = f" {left.object}: {left.field}: {left.problem}"
        terminal.line((place, Style.PLACE), ": ", rule, problem)
        terminal.line(f"    left: {left.reason}")
    findings = count_of(len(report.fixed), "finding")
    done = "fixed" if report.written else "would be fixed"
    files = count_of(len(report.changed), "file")
    terminal.line(f"{findings} {done} in {files}, {len(report.left)} left")


def show_difference(source: str, before: str, after: str) -> None:
    """Write a unified diff for ``patch``: with colours on a terminal, as bytes elsewhere."""
    name = printable(source)
    lines = unified_diff(_line(before), _line(after), name, name)
    text = "".join(line if line.endswith("\n") else f"{line}{_NO_NEWLINE}" for line in lines)
    if sys.stdout.isatty():
        Terminal().lines([(line, style_of(line))] for line in text.split("\n")[:-1])
    else:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()  # before the report on stderr


command = Command(
    "fix",
    callback=fix,
    params=[
        options.filename("Manifests to fix"),
        options.STRICT,
        click.Option(
            ["--diff"],
            is_flag=True,
            help="Show the changes as a diff and write nothing; exit with 1 if there are any.",
        ),
        options.CLUSTER,
        *options.POLICY,
        options.rules("Fix findings of only these rules, for example TSC001,TSC107."),
        options.output((OutputFormat.TABLE, OutputFormat.JSON), "Output format of the report."),
        options.fail_on(options.AUDIT_LEVELS, " left"),
    ],
    help=(
        "Fix findings of audit and validate in manifests if the fix preserves what the author "
        "evidently intended, and list the other findings. Everything else stays unchanged, "
        "including comments, order, quotes and indentation. Manifests from the standard input are "
        "written to the standard output."
    ),
    examples=(
        "evenspread fix -f manifests/ --diff",
        "evenspread fix -f manifests/ --cluster cluster/ --config config.yaml",
        "evenspread fix -f web.yaml --rules TSC001,TSC107",
        "kubectl get deployment web -o yaml | evenspread fix -f - | kubectl apply -f -",
    ),
)
