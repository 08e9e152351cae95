"""``evenspread validate``: the API rules alone, with kube-apiserver's own wording."""

from typing import Any

import click
import msgspec

from webhook.cli import options
from webhook.cli.asked import asked_policy
from webhook.cli.catalogue import explain
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.findings import show
from webhook.cli.inputs import Inputs
from webhook.cli.output import Format, write
from webhook.cli.reports import Report, report_on
from webhook.cli.terminal import Terminal
from webhook.policy.versions import Version


class Tally:
    """How many objects there were of each sort."""

    def __init__(self) -> None:
        """Start with none."""
        self.judged = self.denied = self.doubtful = self.others = 0

    def count(self, report: Report) -> None:
        """Count one object."""
        self.judged += report.judged
        self.others += not report.judged
        self.denied += report.denied
        self.doubtful += report.doubtful and not report.denied

    def summary(self, version: Version) -> str:
        """Say it in one line."""
        objects = "object" if self.judged == 1 else "objects"
        others = f"; {self.others} without" if self.others else ""
        return (
            f"{self.judged} {objects} with a pod template, by the rules of Kubernetes {version}: "
            f"{self.denied} denied, {self.doubtful} with warnings{others}"
        )


def validate(
    *, filename: tuple[str, ...], strict: bool, output: Format, fail_on: str, **asked: Any
) -> ExitCode:
    """Judge every object, and say what kube-apiserver would."""
    configuration, gates = asked_policy(**asked)
    inputs, tally = Inputs(filename, strict=strict), Tally()
    terminal = Terminal() if output is Format.TABLE else None
    for document in inputs.objects():
        report = report_on(document, configuration.pod_templates, gates)
        tally.count(report)
        if terminal is None:
            write(msgspec.to_builtins(report), output)
        else:
            show(report, terminal)
    inputs.tell()
    if terminal is not None:
        terminal.line(tally.summary(gates.version))
    doubtful = tally.doubtful and fail_on == options.WARN
    return outcome(findings=bool(tally.denied or doubtful), unfinished=bool(inputs.problems))


def _explain(ctx: click.Context, _: click.Parameter, ids: str | None) -> None:
    if ids is not None:
        click.echo(explain(ids))
        ctx.exit()


command = Command(
    "validate",
    callback=validate,
    params=[
        options.filename("Manifests to check"),
        options.strict(),
        *options.gates(),
        options.config(),
        options.output(),
        options.fail_on(),
        click.Option(
            ["--explain"],
            metavar="ID",
            is_eager=True,
            expose_value=False,
            callback=_explain,
            help="Explain rules, as TSC001 or TSC004,TSC006, and exit.",
        ),
    ],
    help=(
        "Check manifests by the API rules of topologySpreadConstraints, as kube-apiserver of a "
        "version would when they are created, in its own words. Kinds without a pod template pass."
    ),
    examples=(
        "evenspread validate -f manifests/",
        "evenspread validate -f pod.yaml --kube-version 1.29 -o json",
        "helm template chart/ | evenspread validate -f - --fail-on warn",
        "evenspread validate --explain TSC006",
    ),
)
