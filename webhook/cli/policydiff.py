"""``evenspread policy diff``: what a change of policies would do to a cluster."""

from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from typing import Any

import click

from webhook.audit.renderers.names import format_reference
from webhook.audit.report import AuditSeverity
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.garbage import pause_garbage_collection
from webhook.cli.inputs.cluster import ClusterReader, open_cluster
from webhook.cli.inputs.facts import (
    FactsSources,
    read_objects,
    resolve_namespace,
    takes_sources,
)
from webhook.cli.inputs.labelselectors import describe_selected
from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import WORKLOAD, Inputs
from webhook.cli.inputs.namespaces import require_namespace
from webhook.cli.inputs.policy import read_policy
from webhook.cli.inputs.policychange import GateOptions, PolicyChange, read_proposal
from webhook.cli.inputs.spreadpolicies import find_spread_policies
from webhook.cli.inputs.unknownnamespaces import note_unknown_namespaces
from webhook.cli.output import OutputFormat, write_document, write_stderr
from webhook.cli.policycomparison import PolicyComparison
from webhook.cli.progress import progress_bar
from webhook.cli.terminal import Terminal
from webhook.cli.views.policydiff import PolicyDiff, describe_policy_diff, show_policy_diff
from webhook.cli.workloadchanges import count_changes
from webhook.config.ownerselectors import OwnerSelector
from webhook.config.profilechanges import compare_profiles, compare_settings
from webhook.config.project import Project
from webhook.errors import ConfigError
from webhook.policy.model import GroupKind, LabelSelector

_NO_NODES = (
    "no Node is known, so that no pod was placed: name manifests of the cluster with --facts, or a "
    "live cluster with --context"
)
_NO_CONFIG = (
    "note: without --config, the profiles and settings of the server's configuration do not count"
)


@takes_sources
@pause_garbage_collection()
def diff(
    *,
    filename: tuple[str, ...],
    remove: tuple[str, ...],
    sources: FactsSources,
    namespace: str,
    selector: LabelSelector,
    output: OutputFormat,
    fail_on: AuditSeverity | None,
    project: Project | None,
    **policy_options: Any,
) -> ExitCode:
    """Compare the policies in force with the proposed ones, and show the difference."""
    requested = read_policy(project=project, **policy_options)
    proposed = Inputs(filename, project=project)
    proposal = read_proposal(proposed, remove)
    if proposed.problems:  # part of a change is another change
        proposed.report()
        return outcome(findings=False, unfinished=True)
    sources, inputs = sources.or_current_context(()), Inputs((), project=project)
    inside = resolve_namespace(namespace, sources)
    owners = requested.configuration.owner_selectors
    documents = list(read_objects(inputs, sources.paths, owners))
    gates = GateOptions(policy_options["feature_gates"], policy_options["allow_locked_gates"])
    in_force = find_spread_policies(inputs, sources.live)
    change = proposal.apply(requested, in_force, gates)
    owners = _join_owners(change)
    manifests = ManifestCluster(documents, owners, inputs, inside)
    with open_cluster(sources.live, manifests, owners, everywhere=not namespace) as cluster:
        comparison = PolicyComparison(change, cluster, selector)
        names = _find_namespaces(cluster, namespace)
        found = _compare(change, comparison, names)
        profiles = (*change.before.policy.profiles, *change.after.policy.profiles)
        notes = tuple(
            note_unknown_namespaces(
                profiles, names, lambda name: cluster.facts(name).namespace_labels(name)
            )
        )
    inputs.problems += comparison.problems
    if not comparison.workloads:
        where = ", ".join(sources.paths) or "the cluster"
        inputs.report_nothing(describe_selected(WORKLOAD, selector), where)
    if sources.live and not (requested.configuration.files or proposal.configuration):
        write_stderr(_NO_CONFIG)
    if comparison.lacks_nodes:
        write_stderr(_NO_NODES)
    for note in notes:
        write_stderr(note)
    _write(found, output)
    inputs.report()
    return outcome(findings=_exceeds(found, fail_on), unfinished=bool(inputs.problems))


def _join_owners(change: PolicyChange) -> tuple[OwnerSelector, ...]:
    """Join the custom kinds whose selectors count; the proposed path of a kind takes precedence."""
    found: dict[GroupKind, OwnerSelector] = {}
    for side in change:
        found |= {one.kind: one for one in side.configuration.owner_selectors}
    return tuple(found.values())


def _find_namespaces(cluster: ClusterReader, namespace: str) -> list[str]:
    """
    Find the namespaces to compare, sorted.

    Raises:
        ConfigError: The namespace does not exist, or it must be named.
    """
    if namespace:
        require_namespace(namespace, cluster.namespaces())
        return [namespace]
    known = cluster.namespaces()
    if not known and cluster.is_complete:
        raise ConfigError("is missing: the namespaces of the cluster may not be listed", "-n")
    return sorted(known)


def _compare(
    change: PolicyChange, comparison: PolicyComparison, namespaces: Collection[str]
) -> PolicyDiff:
    """Compare policies, and their effects on the workloads of some namespaces."""
    before, after = ((one.configuration, one.policy) for one in change)
    with _progress() as advance:
        workloads = tuple(one for name in namespaces for one in comparison.compare(name, advance))
    return PolicyDiff(
        profiles=tuple(compare_profiles(before, after)),
        settings=compare_settings(before, after),
        workloads=workloads,
        summary=count_changes(workloads, comparison.workloads),
    )


@contextmanager
def _progress() -> Generator[Callable[[int, int], None]]:
    """Show how many of the workloads found so far have been compared."""
    with progress_bar() as bar:
        task, total = bar.add_task("comparing", total=None), 0

        def advance(found: int, compared: int) -> None:
            nonlocal total
            total += found
            bar.update(task, total=total, advance=compared)

        yield advance


def _write(found: PolicyDiff, output: OutputFormat) -> None:
    match output:
        case OutputFormat.TABLE:
            show_policy_diff(found, Terminal())
        case OutputFormat.NAME:
            names = ((GroupKind(one.group, one.kind), one.name) for one in found.workloads)
            _write_names(format_reference(kind, name) for kind, name in names)
        case _:
            write_document(describe_policy_diff(found), output)


def _write_names(names: Iterable[str]) -> None:
    for name in dict.fromkeys(names):
        click.echo(name)


def _exceeds(found: PolicyDiff, limit: AuditSeverity | None) -> bool:
    """Whether the change makes a workload denied or Pending, or warned about if that is a limit."""
    if limit is None:
        return False
    warns = limit is AuditSeverity.WARN and any(one.warns for one in found.workloads)
    return warns or bool(found.summary.denied or found.summary.pending)
