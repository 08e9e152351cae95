"""``evenspread explain``: why a pod can or cannot be placed, and what change would place it."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from webhook.audit.renderers.names import format_reference
from webhook.cli.clock import current_time
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.garbage import pause_garbage_collection
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.facts import (
    FactsSources,
    drop_project_files,
    read_objects,
    resolve_namespace,
    takes_sources,
)
from webhook.cli.inputs.labelselectors import selects
from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.placementtargets import PlacementTarget, TargetOptions
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.inputs.rollingpods import prepare_rollout
from webhook.cli.inputs.selection import SubjectSelector
from webhook.cli.inputs.spreadpolicies import add_spread_policies
from webhook.cli.inputs.targets import TargetBuilder
from webhook.cli.output import OutputFormat, write_document, write_stderr
from webhook.cli.terminal import Terminal
from webhook.cli.views.explanation import SHORT_TABLES, WIDE_TABLES, TableLayout, show
from webhook.cli.views.explanationpage import render_page
from webhook.cli.views.rollout import show_forecast
from webhook.cli.whatif import WhatIfOptions, keep_supported, takes_what_if
from webhook.config.project import Project
from webhook.errors import ConfigError, SourceError
from webhook.explain.awaited import judge_for_all, note_untried
from webhook.explain.daemons import DaemonPods, roll_out_daemons
from webhook.explain.explanation import (
    Explanation,
    explain_daemons,
    explain_refusal,
)
from webhook.explain.explanation import explain as explain_placement
from webhook.explain.keynames import KeyNames
from webhook.explain.nodeedits import suppose_resources
from webhook.explain.rankedremoval import report_ranks
from webhook.explain.rollingupdate.report import RolloutForecast
from webhook.explain.rollingupdate.simulation import simulate as simulate_rollout
from webhook.explain.rollout import Rollout, count_lost, roll_out
from webhook.explain.scenario import Scale, ScenarioEdit
from webhook.manifests.files import SUFFIXES
from webhook.policy.escape import escape_json
from webhook.policy.kinds import POD
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import SELECT_ALL

_NO_NODES = (
    "these files contain no Node: name manifests of the cluster with --facts, or a live cluster "
    "with --context"
)


class ExplainResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """
    Result for one subject.

    Attributes:
        explanation: Of the pod; after a simulated rollout, of the next pod like it.
        what_if: The simulated replicas, if they were requested.
        rollout: The simulated rollout of a new revision, if it was requested.
        kept: Pods that stay Pending until they are deleted, since they are older than the template.
    """

    explanation: Explanation
    what_if: Rollout | None = None
    rollout: RolloutForecast | None = None
    kept: tuple[str, ...] = ()

    @property
    def is_bad(self) -> bool:
        """Whether a pod finds no node, or a rollout may stop; a what-if has no kept pods."""
        if self.rollout is not None:
            return self.rollout.can_stop
        if self.what_if is not None:
            return bool(self.what_if.pending)
        explanation = self.explanation
        needs_no_node = explanation.runs_on or explanation.phase or explanation.closed
        return bool(self.kept) or not (explanation.placeable or needs_no_node)


@takes_sources
@takes_what_if
@pause_garbage_collection()
def explain(
    *,
    subject: tuple[str, ...],
    filename: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    output: OutputFormat,
    sources: FactsSources,
    selector: LabelSelector,
    options: WhatIfOptions,
    scheduler_config: str,
    project: Project | None,
    **policy_options: Any,
) -> ExitCode:
    """Explain the placement of a pod, of the next pod of a workload, or of pods in manifests."""
    if sources.live:
        filename, sources = drop_project_files(project, filename, sources)
    if not (subject or filename) and selector == SELECT_ALL:
        raise ConfigError("nothing to explain: name a subject as pod/web-1, or a file with -f")
    _check_namespaces(namespace, selector, all_namespaces=all_namespaces)
    options.parse()  # reports errors before anything is read
    _check_words(subject)
    requested = read_policy(scheduler_config=scheduler_config, project=project, **policy_options)
    inputs = Inputs(filename, project=project)
    sources = sources.or_current_context(filename)
    try:
        with _open_subjects(inputs, sources, namespace, selector, requested) as subjects:
            requested = add_spread_policies(requested, inputs, sources.live)
            targets = _build_targets(
                replace(subjects, everywhere=all_namespaces),
                subject,
                requested,
                replaces_defaults=bool(scheduler_config),
                options=options,
            )
        targets, unsupported = keep_supported(targets, options)
        inputs.problems += unsupported
        inputs.problems += _list_unknown(targets, simulate=options.simulates)
        results = [_explain_target(target, options) for target in targets]
        if results:
            _write(results, targets, output)
    finally:
        inputs.report()
    has_nodes = any(target.situation.topology.nodes for target in targets)
    if targets and not (has_nodes or sources.live):
        write_stderr(_NO_NODES)
    return outcome(
        findings=any(result.is_bad for result in results), unfinished=bool(inputs.problems)
    )


def _check_words(words: Sequence[str]) -> None:
    """Check that no word is a file or folder, which -f names; a word names an object."""
    for word in words:
        path = Path(word)
        if path.is_file() and path.suffix in SUFFIXES:
            raise ConfigError("is a file: write -f before it", word)
        if word.endswith("/") and path.is_dir():
            raise ConfigError("is a folder: write -f before it", word)


def _check_namespaces(namespace: str, selector: LabelSelector, *, all_namespaces: bool) -> None:
    if all_namespaces and namespace:
        raise ConfigError("use -n or -A, not both", "-A")
    if all_namespaces and selector == SELECT_ALL:
        raise ConfigError("select with -l: objects are named within one namespace, with -n", "-A")


@contextmanager
def _open_subjects(
    inputs: Inputs,
    sources: FactsSources,
    namespace: str,
    selector: LabelSelector,
    requested: RequestedPolicy,
) -> Generator[SubjectSelector]:
    """Read the files, and open the cluster around them for the duration of a context."""
    owners = requested.configuration.owner_selectors
    documents = list(inputs.objects())
    inside = resolve_namespace(namespace, sources)
    known = [*read_objects(inputs, sources.paths, owners), *documents]
    manifests = ManifestCluster(known, owners, inputs, inside)
    chosen = [
        item
        for item in documents
        if namespace in ("", item.namespace or inside) and selects(selector, item.value)
    ]
    templates = requested.configuration.pod_templates
    with open_cluster(sources.live, manifests, owners) as reader:
        yield SubjectSelector(inputs, chosen, sources, templates, inside, reader, selector)


def _build_targets(
    subjects: SubjectSelector,
    words: Sequence[str],
    requested: RequestedPolicy,
    *,
    replaces_defaults: bool,
    options: WhatIfOptions,
) -> list[PlacementTarget]:
    """Build the targets of all subjects that words select and that can be explained."""
    builder = TargetBuilder(
        requested,
        subjects.cluster,
        TargetOptions(
            now=current_time().timestamp(),
            rolls_out=options.rolls_out,
            simulates=options.simulates,
            scale=options.scale,
        ),
        replaces=replaces_defaults,
    )
    targets: list[PlacementTarget] = []
    for item in subjects.select(words):
        with subjects.recorded_errors():
            targets.append(builder.build(item))
    return targets


def _list_unknown(targets: Sequence[PlacementTarget], *, simulate: bool) -> Iterator[SourceError]:
    """Yield a problem for each target whose pod template is not known; the answer is no promise."""
    for target in targets:
        revision = target.unknown if simulate else target.terms.revision
        if revision:
            yield SourceError(
                target.name,
                f"the pod template of revision {revision}, which new pods below the partition "
                "have, is not known: name the file of its ControllerRevision with --facts",
            )


def _explain_target(target: PlacementTarget, options: WhatIfOptions) -> ExplainResult:
    situation, present = target.situation, target.present
    edits = suppose_resources(options.parse(situation.names), situation)
    if target.refused:
        return ExplainResult(explain_refusal(target.subject, target.refused))
    if options.rolls_out:
        return _forecast_rollout(target, edits, options.scale)
    if target.daemon is not None:
        return _explain_daemon_set(target, target.daemon, edits, simulate=options.simulates)
    if not options.simulates:
        explained = explain_placement(
            situation, target.subject, target.runs_on, target.caveats, target.terms
        )
        return ExplainResult(explained, kept=target.terms.kept)
    replicas = target.replicas if options.scale is None else options.scale
    if target.terms.closed:
        replicas = max(replicas - count_lost(edits, present, target.running), 0)
    edits = edits if options.scale is None else (*edits, Scale(options.scale))
    rollout, end, awaiting = roll_out(present, edits, replicas, target.running, target.pods)
    rollout = report_ranks(
        rollout, present, target.running, target.pods, configured=target.keeps_spread
    )
    like = "the next pod like " if target.kind == POD else ""
    explained = explain_placement(
        end, f"after that, {like}{target.subject}", "", target.caveats, target.terms.of_new_pods
    )
    changes = judge_for_all(explained.changes, end, rollout.pending, awaiting)
    notes = (
        *target.terms.notes,
        *filter(None, [target.terms.kept_note]),
        *_note_unknown(target.unknown),
        *rollout.notes,
        *note_untried(changes),
    )
    rollout = msgspec.structs.replace(rollout, notes=notes)
    explained = msgspec.structs.replace(explained, changes=changes)
    return ExplainResult(explained, rollout, kept=target.terms.kept)


def _note_unknown(revision: str) -> Iterator[str]:
    if revision:
        yield (
            f"the pod template of revision {revision} is not known: new pods below the partition "
            "are placed with the present template"
        )


def _forecast_rollout(
    target: PlacementTarget, edits: tuple[ScenarioEdit, ...], scale: int | None
) -> ExplainResult:
    """Simulate the rollout of a new revision, and explain the pod at its end."""
    setup, edits = prepare_rollout(target, edits, scale)
    forecast, end = simulate_rollout(setup, edits)
    when = "after that" if forecast.finishes else "there"
    explained = explain_placement(
        end, f"{when}, {target.subject}", "", target.caveats, target.terms.of_new_pods
    )
    return ExplainResult(explained, rollout=forecast)


def _explain_daemon_set(
    target: PlacementTarget, pods: DaemonPods, edits: tuple[ScenarioEdit, ...], *, simulate: bool
) -> ExplainResult:
    if not simulate:
        explained = explain_daemons(target.situation, target.subject, pods, target.caveats)
        return ExplainResult(explained)
    rollout, end, after = roll_out_daemons(target.situation, edits, pods)
    rollout = msgspec.structs.replace(rollout, notes=target.terms.notes)
    explained = explain_daemons(end, f"after that, {target.subject}", after, target.caveats)
    return ExplainResult(explained, rollout)


def _write(
    results: Sequence[ExplainResult], targets: Sequence[PlacementTarget], output: OutputFormat
) -> None:
    names = [target.situation.names for target in targets]
    match output:
        case OutputFormat.NAME:
            for result, target in zip(results, targets, strict=True):
                if result.is_bad:
                    click.echo(format_reference(target.kind, target.name.rpartition("/")[2]))
        case OutputFormat.JSON:
            for result in results:
                click.echo(escape_json(msgspec.json.encode(result).decode()))
        case OutputFormat.YAML:
            for result in results:
                document = msgspec.json.decode(msgspec.json.encode(result))
                write_document(document, OutputFormat.YAML)
        case OutputFormat.HTML:
            answers = [(one.explanation, one.what_if or one.rollout) for one in results]
            literal = frozenset[str]().union(*(one.literal for one in names))
            titles = [target.name for target in targets]
            click.echo(render_page(answers, titles, KeyNames(literal)), nl=False)
        case _:
            _show(results, names, WIDE_TABLES if output is OutputFormat.WIDE else SHORT_TABLES)


def _show(results: Sequence[ExplainResult], names: Sequence[KeyNames], layout: TableLayout) -> None:
    terminal = Terminal()
    for result, keys in zip(results, names, strict=True):
        if result.rollout is not None:
            show_forecast(result.rollout, terminal, keys)
        show(result.explanation, result.what_if, terminal, layout, keys)
