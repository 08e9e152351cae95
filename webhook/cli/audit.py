"""``evenspread audit``: find problems in the workloads of a cluster, of files or of a snapshot."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from webhook.audit import baseline
from webhook.audit.comparison import AuditComparison
from webhook.audit.exemptions import ProjectExemptions
from webhook.audit.inventory import Inventory
from webhook.audit.merge import list_namespaces
from webhook.audit.references import TemplateReference
from webhook.audit.renderers import SARIF, WIDE, render_report
from webhook.audit.renderers.table import format_lines
from webhook.audit.rendering import FindingKey, RenderOptions, SuggestedFix
from webhook.audit.report import AuditReport, AuditSeverity
from webhook.audit.scan import AuditOptions, scan
from webhook.audit.snapshot import Snapshot, write_snapshot
from webhook.audit.templates import find_unknown
from webhook.cli.clock import current_time
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.garbage import keep_until_end, pause_garbage_collection
from webhook.cli.history import (
    compare_saved,
    compare_with,
    require_comparable,
    require_saved,
)
from webhook.cli.inputs.facts import (
    FactsSources,
    drop_project_files,
    resolve_namespace,
    takes_sources,
)
from webhook.cli.inputs.labelselectors import describe_selected
from webhook.cli.inputs.manifests import Inputs, name_judged
from webhook.cli.inputs.namespaces import require_namespace
from webhook.cli.inputs.notes import limit_notes
from webhook.cli.inputs.policy import apply_actions, read_policy
from webhook.cli.inputs.snapshots import read_snapshot
from webhook.cli.inputs.spreadpolicies import add_spread_policies
from webhook.cli.inputs.unknownclasses import note_unknown_classes
from webhook.cli.inputs.unknownnamespaces import note_unknown_namespaces
from webhook.cli.inputs.unknowntemplates import UNKNOWN_TEMPLATES, describe_unknown
from webhook.cli.output import TABLE, OutputTarget, write_stderr, write_text
from webhook.cli.progress import progress_bar
from webhook.cli.projectoptions import report_unused
from webhook.cli.ruleoptions import RuleSelection
from webhook.cli.terminal import Style, Terminal
from webhook.config.project import Project
from webhook.fix.evaluate import FixOptions
from webhook.fix.suggestions import suggest_fixes
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import SELECT_ALL


@takes_sources
@pause_garbage_collection()
def audit(
    *,
    filename: tuple[str, ...],
    strict: bool,
    sources: FactsSources,
    snapshot: str,
    save_snapshot: str,
    namespace: str,
    selector: LabelSelector,
    output: tuple[OutputTarget, ...],
    fail_on: AuditSeverity | None,
    rules: RuleSelection,
    exclude_rules: frozenset[str],
    since_baseline: str,
    since: str,
    report: str,
    project: Project | None,
    **policy_options: Any,
) -> ExitCode:
    """Run the audit and write every output."""
    requested = apply_actions(read_policy(project=project, **policy_options), project)
    configuration = requested.configuration
    known = baseline.load_baseline(since_baseline) if since_baseline else None
    exemptions = ProjectExemptions(project.exemptions if project else ())
    question = AuditOptions(
        requested.audit_policy,
        rules,
        namespace,
        exclude_rules,
        exemptions,
        strict=strict,
        labels=selector,
        now=current_time(),
    )
    if since or report:
        require_comparable(since, output, question, has_baseline=known is not None)
    if report:
        named = (*_list_own(filename, project), *sources.paths, snapshot)
        require_saved(named, is_live=sources.live is not None)
        comparison = compare_saved(since, report, question, output)
        return outcome(findings=comparison.exceeds(fail_on), unfinished=False)
    if sources.live or snapshot:
        filename, sources = drop_project_files(project, filename, sources)
    judged = configuration.pod_templates
    inputs = Inputs(filename, strict=strict, project=project, judged=judged)
    sources = sources.or_current_context((*filename, *filter(None, [snapshot])))
    collected = read_snapshot(inputs, sources, configuration, saved=snapshot, namespace=namespace)
    requested = add_spread_policies(requested, inputs, sources.live)
    configuration, policy = requested.configuration, requested.audit_policy
    if save_snapshot:
        write_snapshot(collected, save_snapshot)
    _require_namespace(namespace, collected, inputs)
    inventory = Inventory(collected, configuration.owner_selectors)
    question = dataclasses.replace(question, policy=policy)
    _warn_of_rules_off(rules.by_id - exclude_rules, policy)
    found = _scan(inventory, question)
    if not found.workloads:
        place = _describe_place(inputs, sources, snapshot, namespace)
        inputs.report_nothing(describe_selected(name_judged(judged), selector), place)
    if known is not None:
        found = baseline.remove_known_findings(found, known)
    fixes: Mapping[FindingKey, SuggestedFix] = {}
    if any(target.format == SARIF for target in output):
        inside = resolve_namespace(namespace, sources)
        options = FixOptions(configuration, policy, namespace=inside, now=question.now)
        fixes = suggest_fixes(inventory, found, options)
    render_options = RenderOptions(fail_on, fixes, tuple(inputs.problems))
    result = _write(found, output, render_options, since, question)
    inhabited = (workload.namespace for workload in found.workloads)
    for note in (
        *_note_unknown_templates(collected, namespace),
        *note_unknown_classes(inventory, namespace),
        *note_unknown_namespaces(policy.profiles, inhabited, inventory.cluster.namespace_labels),
    ):
        write_stderr(note)
    inputs.report()
    keep_until_end(collected, inventory, found)
    if project and filename == project.paths and _is_whole(question):
        report_unused(exemptions.unused)
    return outcome(findings=result.exceeds(fail_on), unfinished=bool(inputs.problems))


def _warn_of_rules_off(named: Iterable[str], policy: Policy) -> None:
    """Warn of named rules that are switched off, and find nothing."""
    for rule in sorted(named):
        if rule in policy.actions and policy.is_off(rule):
            write_stderr(f"warning: --rules: {rule} is off in the configuration or project file")


def _require_namespace(namespace: str, collected: Snapshot, inputs: Inputs) -> None:
    """Check that the namespace to audit exists; without one, do not list those that do."""
    if namespace:
        require_namespace(namespace, list_namespaces([collected]) | (inputs.namespaces - {""}))


def _note_unknown_templates(snapshot: Snapshot, namespace: str) -> Iterator[str]:
    """Write notes for references to templates that no source has."""
    notes = [
        describe_unknown(f"{_place_of(one)}{one.kind.kind} {one.namespace}/{one.name}", key)
        for one, key in find_unknown(snapshot)
        if namespace in ("", key.namespace)
    ]
    return limit_notes(notes, UNKNOWN_TEMPLATES)


def _place_of(reference: TemplateReference) -> str:
    origin = reference.origin
    return f"{origin.source}:{origin.line()}: " if origin else ""


def _is_whole(question: AuditOptions) -> bool:
    """Whether all objects are audited, by all rules."""
    is_part = question.namespace or question.rules or question.excluded
    return not is_part and question.labels == SELECT_ALL


def _describe_place(inputs: Inputs, sources: FactsSources, snapshot: str, namespace: str) -> str:
    """Name what was audited; empty for the files of ``-f``."""
    if inputs.paths and not namespace:
        return ""
    inside = f"namespace {namespace} of " if namespace else ""
    places = inputs.paths or tuple(filter(None, [snapshot, *sources.paths]))
    return f"{inside}{', '.join(places) or 'the cluster'}"


def _scan(inventory: Inventory, question: AuditOptions) -> AuditReport:
    with progress_bar() as bar:
        return scan(inventory, question, partial(bar.track, description="auditing"))


def _list_own(filename: tuple[str, ...], project: Project | None) -> tuple[str, ...]:
    """List the files that the user named, without those of the project file."""
    return () if project is not None and filename == project.paths else filename


def _write(
    report: AuditReport,
    output: Iterable[OutputTarget],
    render_options: RenderOptions,
    since: str,
    question: AuditOptions,
) -> AuditReport | AuditComparison:
    """Write the report, or its changes since an earlier one; returns what was written."""
    if since:
        return compare_with(since, report, question, output)
    for target in output:
        if not target.file and target.format in (TABLE, WIDE):
            Terminal().lines(
                [(text, Style[meaning.name]) for text, meaning in line]
                for line in format_lines(report, is_wide=target.format == WIDE)
            )
        else:
            write_text(render_report(report, target.format, render_options), target)
    return report
