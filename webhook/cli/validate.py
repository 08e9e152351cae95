"""
``evenspread validate``: the API rules alone, with kube-apiserver's own wording.

For one version it shows findings as compilers do, for several it shows versions side by side.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import click
import msgspec

from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import asked_versions
from webhook.cli.output import Format, write
from webhook.cli.terminal import Terminal
from webhook.cli.views.abilities import abilities
from webhook.cli.views.findings import show
from webhook.cli.views.matrix import Matrix, as_document
from webhook.cli.views.reports import Report, reports_on
from webhook.errors import ConfigError
from webhook.policy.api.gates import Gates
from webhook.policy.api.versions import Span, Version
from webhook.policy.catalogue import CATALOGUE


class Tally:
    """How many objects there were of each sort; one that is denied at any version is denied."""

    def __init__(self) -> None:
        """Start with none."""
        self.judged = self.denied = self.doubtful = self.others = 0

    def count(self, reports: Sequence[Report]) -> None:
        """Count one object, by the reports of one or more versions."""
        denied = any(report.denied for report in reports)
        self.judged += reports[0].judged
        self.others += not reports[0].judged
        self.denied += denied
        self.doubtful += not denied and any(report.doubtful for report in reports)

    def summary(self, versions: Span) -> str:
        """Say it in one line."""
        objects = "object" if self.judged == 1 else "objects"
        others = f"; {self.others} without" if self.others else ""
        return (
            f"{self.judged} {objects} with a pod template, by the rules of Kubernetes {versions}: "
            f"{self.denied} denied, {self.doubtful} with warnings{others}"
        )


class View(Protocol):
    """How results are shown: one by one, or all when the last one is known."""

    def add(self, reports: Sequence[Report]) -> None:
        """Take the reports on one object, one of each version."""
        ...

    def end(self, summary: str) -> None:
        """Show what is left to show, and how many objects there were."""
        ...


class _Findings:
    """For people, about one version."""

    def __init__(self, gates: Gates, *, explained: bool) -> None:
        self._terminal, self._gates, self._explained = Terminal(), gates, explained

    def add(self, reports: Sequence[Report]) -> None:
        show(reports[0], self._terminal)

    def end(self, summary: str) -> None:
        if self._explained:
            self._terminal.line(abilities(self._gates))
        self._terminal.line(summary)


class _Matrix(Matrix):
    """For people, about several versions."""

    def end(self, summary: str) -> None:
        terminal = Terminal()
        self.show(terminal)
        terminal.line(summary)


class _Documents:
    """For programs."""

    def __init__(self, versions: Sequence[Version], output: Format) -> None:
        self._versions, self._output = versions, output

    def add(self, reports: Sequence[Report]) -> None:
        alone = len(reports) == 1
        write(
            msgspec.to_builtins(reports[0]) if alone else as_document(self._versions, reports),
            self._output,
        )

    def end(self, summary: str) -> None:
        """Leave counting to the program."""


def validate(
    *, filename: tuple[str, ...], strict: bool, output: Format, fail_on: str, **asked: Any
) -> ExitCode:
    """Judge every object by every version, in one pass, and say what kube-apiserver would."""
    configuration, servers = asked_versions(**asked)
    versions = [gates.version for gates in servers]
    inputs, tally = Inputs(filename, strict=strict), Tally()
    view = _view(output, servers, explained=bool(asked["kube_version"]))
    for document in inputs.objects():
        reports = reports_on(document, configuration.pod_templates, servers)
        tally.count(reports)
        view.add(reports)
    inputs.tell()
    view.end(tally.summary(Span(versions[0], versions[-1])))
    doubtful = tally.doubtful and fail_on == options.WARN
    return outcome(findings=bool(tally.denied or doubtful), unfinished=bool(inputs.problems))


def _view(output: Format, servers: Sequence[Gates], *, explained: bool) -> View:
    versions = [gates.version for gates in servers]
    if output is not Format.TABLE:
        return _Documents(versions, output)
    if len(servers) > 1:
        return _Matrix(versions)
    return _Findings(servers[0], explained=explained)


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
        *options.gates(versions=True),
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
        "version would when they are created, in its own words. Kinds without a pod template pass. "
        "A range of versions shows what an upgrade changes, side by side."
    ),
    examples=(
        "evenspread validate -f manifests/",
        "evenspread validate -f pod.yaml --kube-version 1.29 -o json",
        "evenspread validate -f manifests/ --kube-version 1.24..1.36",
        "helm template chart/ | evenspread validate -f - --fail-on warn",
        "evenspread validate --explain TSC006",
    ),
)


def explain(ids: str) -> str:
    """
    Explain rules.

    Args:
        ids: As messages name them: ``TSC001``, or several separated by commas.

    Raises:
        ConfigError: No rule has such an id.
    """
    return "\n\n".join(_explain_rule(rule.strip().upper()) for rule in ids.split(","))


def _explain_rule(rule: str) -> str:
    if rule not in CATALOGUE:
        known = ", ".join(sorted(each for each in CATALOGUE if each.isupper()))
        raise ConfigError(f"{rule!r} is no rule: choose among {known}", "--explain")
    entry = CATALOGUE[rule]
    return f"{rule}: {entry.title}\n  otherwise: {entry.effect}\n  instead:   {entry.fix}"
