"""``evenspread fix``: writes into manifests what the messages say."""

import sys
from typing import Any

import click
import msgspec

from webhook.audit.report import Weight
from webhook.audit.rulebook import RULEBOOK
from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.files import STDIN_SOURCE, Opened
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import asked_policy
from webhook.cli.output import Format, tell_problems, tell_skipped
from webhook.cli.terminal import Terminal
from webhook.cli.views import fixes
from webhook.errors import ConfigError, SourceError
from webhook.fix.atomic import replace_file
from webhook.fix.engine import FixOutcome, fix_files
from webhook.fix.evaluate import FixOptions
from webhook.fix.report import FixReport


def fix(
    *,
    filename: tuple[str, ...],
    strict: bool,
    diff: bool,
    cluster: str,
    output: Format,
    fail_on: Weight | None,
    rules: frozenset[str],
    **asked: Any,
) -> ExitCode:
    """Mend what is named, write it or show the difference, and tell what was done."""
    judged = asked_policy(**asked)
    surroundings = Inputs([cluster] if cluster else [])
    around = list(surroundings.objects())
    opened = Opened(filename, strict=strict)
    requested = FixOptions(judged.configuration, judged.policy, rules)
    fixed = fix_files(opened.texts, around, requested, as_read=diff)
    problems = [*opened.problems, *surroundings.problems, *fixed.problems]
    changed = [source for source, text in fixed.texts.items() if text != opened.texts[source]]
    if diff:
        for source in changed:
            before, after = opened.texts[source], fixed.texts[source]
            fixes.show_difference(fixes.difference(source, before, after))
    else:
        failed = _write(opened, fixed, changed)
        problems += failed.values()
        changed = [source for source in changed if source not in failed]
    report = FixReport(
        written=not diff,
        changed=tuple(changed),
        fixed=tuple(finding for finding in fixed.fixed if finding.source in changed),
        left=fixed.left,
    )
    _tell(report, output, apart=diff or opened.piped is not None)
    tell_problems(problems)
    tell_skipped([*opened.skipped, *surroundings.skipped])
    found = report.exceeds(fail_on) or (diff and bool(changed))
    return outcome(findings=found, unfinished=bool(problems))


def _write(opened: Opened, fixed: FixOutcome, changed: list[str]) -> dict[str, SourceError]:
    """Write what was changed, each file whole or not at all; gives what could not be written."""
    failed: dict[str, SourceError] = {}
    for source in changed:
        if source != STDIN_SOURCE:
            try:
                replace_file(opened.original(source), opened.encoded(source, fixed.texts[source]))
            except SourceError as error:
                failed[source] = error
    if opened.piped is not None:
        data = opened.piped
        if STDIN_SOURCE in changed:
            data = opened.encoded(STDIN_SOURCE, fixed.texts[STDIN_SOURCE])
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()  # before stderr tells what was done
    return failed


def _tell(report: FixReport, output: Format, *, apart: bool) -> None:
    """Write the report; to stderr if stdout is for something that a program reads."""
    if output is Format.JSON:
        click.echo(msgspec.json.encode(report).decode(), err=apart)
    else:
        fixes.show(report, Terminal(sys.stderr if apart else None))


def _format(_ctx: click.Context, _option: click.Parameter, chosen: str) -> Format:
    return Format(chosen)


def _rules(_ctx: click.Context, _option: click.Parameter, written: str) -> frozenset[str]:
    ids = {each.strip() for each in written.split(",")} - {""}
    unknown = sorted(ids - RULEBOOK.keys())
    if unknown:
        known = ", ".join(RULEBOOK)
        raise ConfigError(f"{unknown[0]!r} is no rule: write some of {known}", "--rules")
    return frozenset(ids)


command = Command(
    "fix",
    callback=fix,
    params=[
        options.filename("Manifests to mend"),
        options.strict(),
        click.Option(
            ["--diff"],
            is_flag=True,
            help="Show what would be changed, and write nothing; exit with 1 if there is anything.",
        ),
        options.cluster(),
        options.config(),
        options.scheduler_config(),
        *options.gates(),
        click.Option(
            ["--rules"],
            metavar="ID,...",
            default="",
            callback=_rules,
            help="Mend findings of these rules only, as TSC001,TSC107.",
        ),
        click.Option(
            ["-o", "--output"],
            type=click.Choice([str(Format.TABLE), str(Format.JSON)]),
            callback=_format,
            default=str(Format.TABLE),
            show_default=True,
            help="How to tell what was done.",
        ),
        options.weight(" that is left"),
    ],
    help=(
        "Write into manifests what the messages of audit and validate say, where a machine can "
        "decide it, and tell what is left. Everything else stays as it is to the byte: comments, "
        "order, quotes, indentation. What comes from the standard input goes to the standard "
        "output."
    ),
    examples=(
        "evenspread fix -f manifests/ --diff",
        "evenspread fix -f manifests/ --cluster cluster/ --config config.yaml",
        "evenspread fix -f web.yaml --rules TSC001,TSC107",
        "kubectl get deployment web -o yaml | evenspread fix -f - | kubectl apply -f -",
    ),
)
