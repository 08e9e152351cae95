"""``evenspread audit``: what is wrong with the workloads of a cluster, of files, of a snapshot."""

from collections.abc import Iterable, Sequence
from typing import Any

import click

from webhook.audit import baseline
from webhook.audit.inventory import Audited, Inventory
from webhook.audit.renderers import FORMATS, render
from webhook.audit.renderers.table import Meaning, lines
from webhook.audit.report import Report, Weight
from webhook.audit.rulebook import RULEBOOK
from webhook.audit.scan import Question, scan
from webhook.audit.snapshot import Snapshot, save
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

_STYLES = {
    Meaning.PLAIN: Style.PLAIN,
    Meaning.PLACE: Style.PLACE,
    Meaning.BAD: Style.BAD,
    Meaning.DOUBTFUL: Style.DOUBTFUL,
    Meaning.GOOD: Style.GOOD,
    Meaning.HINT: Style.HINT,
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
    fail_on: Weight | None,
    rules: frozenset[str],
    since_baseline: str,
    **asked: Any,
) -> ExitCode:
    """Audit what is asked for, and write every output."""
    if namespace and all_namespaces:
        raise ConfigError("say -n or -A, not both", "-A")
    judged = asked_policy(**asked)
    configuration = judged.configuration
    known = baseline.load(since_baseline) if since_baseline else None
    inputs = Inputs(filename, strict=strict)
    reach = Reach(kubeconfig, context, namespace)
    gathered = gather(inputs, cluster, snapshot, configuration, reach)
    if save_snapshot:
        save(gathered, save_snapshot)
    question = Question(
        policy=judged.policy,
        actions=configuration.actions,
        not_exemptible=configuration.not_exemptible,
        rules=rules,
        namespaces=frozenset(filter(None, [namespace])),
    )
    report = _scan(gathered, question, configuration)
    if known is not None:
        report = baseline.without_known(report, known)
    for each in output:
        _write(report, each, fail_on)
    inputs.tell()
    return outcome(findings=report.exceeds(fail_on), unfinished=bool(inputs.problems))


def _scan(gathered: Snapshot, question: Question, configuration: Configuration) -> Report:
    inventory = Inventory(gathered, configuration.owner_selectors)
    with progress() as bar:

        def shown(items: Sequence[Audited]) -> Iterable[Audited]:
            return bar.track(items, description="auditing")

        return scan(inventory, gathered.unreadable, question, shown)


def _write(report: Report, output: Output, threshold: Weight | None) -> None:
    if not output.file and output.format == outputs.TABLE:
        Terminal().lines(
            [(text, _STYLES[meaning]) for text, meaning in line] for line in lines(report)
        )
        return
    outputs.save(render(report, output.format, threshold), output)


def _rules(_ctx: click.Context, _option: click.Parameter, written: str) -> frozenset[str]:
    ids = {each.strip() for each in written.split(",")} - {""}
    unknown = sorted(ids - RULEBOOK.keys())
    if unknown:
        raise ConfigError(
            f"{unknown[0]!r} is no rule: write some of {', '.join(RULEBOOK)}", "--rules"
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
        outputs.outputs(FORMATS),
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
