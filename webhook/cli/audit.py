"""``evenspread audit``: what is wrong with the workloads of a cluster, of files, of a snapshot."""

from collections.abc import Iterable, Sequence
from typing import Any

import click

from webhook.audit import baseline
from webhook.audit.inventory import AuditSubject, Inventory
from webhook.audit.renderers import AUDIT_FORMATS, render_report
from webhook.audit.renderers.table import TextStyle, format_lines
from webhook.audit.report import AuditReport, AuditSeverity
from webhook.audit.scan import AuditOptions, scan
from webhook.audit.snapshot import Snapshot, write_snapshot
from webhook.cli import options, outputs
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.garbage import uncollected
from webhook.cli.inputs.audit import Reach, gather, progress
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import asked_policy
from webhook.cli.outputs import Output
from webhook.cli.terminal import Style, Terminal
from webhook.config import Configuration
from webhook.errors import ConfigError
from webhook.policy.catalogue import CATALOGUE

_STYLES = {
    TextStyle.PLAIN: Style.PLAIN,
    TextStyle.PLACE: Style.PLACE,
    TextStyle.BAD: Style.BAD,
    TextStyle.DOUBTFUL: Style.DOUBTFUL,
    TextStyle.GOOD: Style.GOOD,
    TextStyle.HINT: Style.HINT,
}


@uncollected()
def audit(
    *,
    filename: tuple[str, ...],
    strict: bool,
    cluster: str,
    snapshot: str,
    save_snapshot: str,
    kubeconfig: str,
    context: str,
    namespace: str,
    all_namespaces: bool,
    output: tuple[Output, ...],
    fail_on: AuditSeverity | None,
    rules: frozenset[str],
    since_baseline: str,
    **asked: Any,
) -> ExitCode:
    """Audit what is asked for, and write every output."""
    if namespace and all_namespaces:
        raise ConfigError("say -n or -A, not both", "-A")
    judged = asked_policy(**asked)
    configuration = judged.configuration
    known = baseline.load_baseline(since_baseline) if since_baseline else None
    inputs = Inputs(filename, strict=strict)
    reach = Reach(kubeconfig, context, namespace)
    gathered = gather(inputs, cluster, snapshot, configuration, reach)
    if save_snapshot:
        write_snapshot(gathered, save_snapshot)
    question = AuditOptions(
        policy=judged.policy,
        actions=configuration.actions,
        not_exemptible=configuration.not_exemptible,
        rules=rules,
        namespaces=frozenset(filter(None, [namespace])),
    )
    report = _scan(gathered, question, configuration)
    if known is not None:
        report = baseline.remove_known_findings(report, known)
    for each in output:
        _write(report, each, fail_on)
    inputs.tell()
    return outcome(findings=report.exceeds(fail_on), unfinished=bool(inputs.problems))


def _scan(gathered: Snapshot, question: AuditOptions, configuration: Configuration) -> AuditReport:
    inventory = Inventory(gathered, configuration.owner_selectors)
    with progress() as bar:

        def shown(items: Sequence[AuditSubject]) -> Iterable[AuditSubject]:
            return bar.track(items, description="auditing")

        return scan(inventory, gathered.unreadable, question, shown)


def _write(report: AuditReport, output: Output, threshold: AuditSeverity | None) -> None:
    if not output.file and output.format == outputs.TABLE:
        Terminal().lines(
            [(text, _STYLES[meaning]) for text, meaning in line] for line in format_lines(report)
        )
        return
    outputs.save(render_report(report, output.format, threshold), output)


def _rules(_ctx: click.Context, _option: click.Parameter, written: str) -> frozenset[str]:
    ids = {each.strip() for each in written.split(",")} - {""}
    unknown = sorted(ids - CATALOGUE.keys())
    if unknown:
        raise ConfigError(
            f"{unknown[0]!r} is no rule: write some of {', '.join(CATALOGUE)}", "--rules"
        )
    return frozenset(ids)


def _path(flags: Sequence[str], metavar: str, words: str) -> click.Option:
    return click.Option(flags, type=click.Path(), metavar=metavar, default="", help=words)


command = Command(
    "audit",
    callback=audit,
    params=[
        options.filename("Manifests to audit, instead of a cluster", required=False),
        options.strict(),
        options.cluster(),
        _path(["--snapshot"], "FILE", "Audit what --save-snapshot wrote, instead of a cluster."),
        _path(
            ["--save-snapshot"], "FILE", "Write all that is audited to one file, for a later run."
        ),
        *options.reach(),
        click.Option(
            ["-n", "--namespace"], metavar="NAME", default="", help="Audit this namespace only."
        ),
        click.Option(["-A", "--all-namespaces"], is_flag=True, help="Audit all: the default."),
        options.config(),
        options.scheduler_config(),
        *options.gates(),
        click.Option(
            ["--rules"],
            metavar="ID,...",
            default="",
            callback=_rules,
            help="Rules to ask, as TSC101,TSC110; all if not given.",
        ),
        _path(
            ["--since-baseline"],
            "FILE",
            "Tell only what is new since a report that -o json=FILE wrote.",
        ),
        outputs.outputs(AUDIT_FORMATS),
        options.weight(),
    ],
    help=(
        "Find what is wrong with the workloads of a cluster, of manifests, or of a snapshot of "
        "either: constraints that break the rules of the API, that do not do what they seem to, "
        "that are missing; pods that are uneven. Nothing is changed."
    ),
    examples=(
        "evenspread audit -f manifests/ --config config.yaml",
        "evenspread audit --context prod -o table -o html=spread.html --save-snapshot prod.json.gz",
        "evenspread audit --snapshot prod.json.gz -o json --fail-on never",
        "helm template chart/ | evenspread audit -f - -o sarif=spread.sarif --fail-on warn",
    ),
)
