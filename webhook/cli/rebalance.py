"""``evenspread rebalance``: the fewest evictions after which constraints hold."""

from typing import Any

import click
from click.core import ParameterSource

from webhook.cli.applyplan import apply_plan, confirm, report_end
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.garbage import pause_garbage_collection
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import FactsSources, takes_sources
from webhook.cli.inputs.livescope import LiveScope
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import read_policy
from webhook.cli.inputs.rebalancescope import (
    RebalanceRequest,
    find_missing_namespaces,
    read_files,
    read_request,
)
from webhook.cli.output import OutputFormat, write_document, write_stderr
from webhook.cli.progress import progress_bar
from webhook.cli.terminal import Terminal
from webhook.cli.views.evictionscript import format_script
from webhook.cli.views.rebalance import show_plan
from webhook.cli.views.rebalancedocument import describe_plan
from webhook.cluster.protocol import ApiClient
from webhook.cluster.rebalancing import PlannedScope, RebalancingLimits, end_for_rollout
from webhook.errors import ConfigError, SourceError
from webhook.rebalance.plan import RebalancePlan, plan_rebalance


@takes_sources
def rebalance(
    *,
    workload: tuple[str, ...],
    filename: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    sources: FactsSources,
    apply: bool,
    yes: bool,
    wave: int,
    timeout: float,
    output: OutputFormat,
    **gate_options: Any,
) -> ExitCode:
    """Plan the evictions, write the plan, and carry it out with ``--apply``."""
    sources = sources.or_current_context(filename)
    if sources.live and (filename or sources.paths):
        raise ConfigError("plans for one cluster: leave out -f, -k and --facts", "--live")
    if apply:
        _check_apply(sources, output, has_scope=bool(workload or namespace or all_namespaces))
    else:
        _refuse_idle_options()
    gates = read_policy(config="", **gate_options).gates
    request = read_request(workload, namespace, sources, gates, all_namespaces=all_namespaces)
    if sources.live is None:
        return _plan_files(filename, sources, request, output)
    planned, unknown = _plan_live(sources.live, request)
    plan = planned.plan
    is_table, evictions = output is OutputFormat.TABLE, len(plan.steps)
    if is_table or not apply:
        _write(plan, unknown, output)
    if not apply or (is_table and not evictions):
        return outcome(findings=not plan.restores_all, unfinished=False)
    if evictions:
        end = end_for_rollout(planned)
        if end is not None:
            return report_end(end, (), output)
        confirm(evictions, yes=yes)
    limits = RebalancingLimits(evictions, wave, timeout)
    return apply_plan(sources.live, request, limits, output)


def _refuse_idle_options() -> None:
    """Refuse options on the command line that have an effect with ``--apply`` only."""
    context = click.get_current_context()
    for name in ("yes", "wave", "timeout"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ConfigError("requires --apply: nothing else evicts pods", f"--{name}")


def _check_apply(sources: FactsSources, output: OutputFormat, *, has_scope: bool) -> None:
    if sources.live is None:
        raise ConfigError("changes the live cluster: leave out -f, -k and --facts", "--apply")
    if not has_scope:
        raise ConfigError("requires KIND/NAME, -n NAME, or -A for all namespaces", "--apply")
    if output is OutputFormat.SCRIPT:
        raise ConfigError("evicts the pods itself: leave out -o script", "--apply")


@pause_garbage_collection()
def _plan_files(
    filename: tuple[str, ...],
    sources: FactsSources,
    request: RebalanceRequest,
    output: OutputFormat,
) -> ExitCode:
    inputs = Inputs(filename)
    try:
        found = read_files(inputs, sources, request.namespace)
        scope = request.find_scope(found)
        inputs.problems += find_missing_namespaces(scope, found)
    finally:
        inputs.report()
    plan, problems = plan_rebalance(*scope), tuple(inputs.problems)
    if not problems:
        _write(plan, (), output)
    elif output is not OutputFormat.SCRIPT:
        _write(plan.without_proof(), problems, output)
    return outcome(findings=not plan.restores_all, unfinished=bool(problems))


def _plan_live(
    server: ServerOptions, request: RebalanceRequest
) -> tuple[PlannedScope, tuple[SourceError, ...]]:
    """Plan a live cluster; return the plan, and the kinds that it does not consider."""

    async def read(client: ApiClient) -> tuple[PlannedScope, tuple[SourceError, ...]]:
        with progress_bar() as bar:
            task = bar.add_task("reading the cluster", total=None)

            def report(kind: str, number: int) -> None:
                bar.update(task, description=f"{kind}s", completed=number)

            scope = LiveScope(client, request, report)
            planned = await scope.plan()
        return planned, tuple(scope.found.unknown)

    planned, unknown = apiserver.call(server, read)
    for problem in unknown:
        write_stderr(f"warning: not considered: {problem}")
    return planned, unknown


def _write(plan: RebalancePlan, unknown: tuple[SourceError, ...], output: OutputFormat) -> None:
    match output:
        case OutputFormat.SCRIPT:
            click.echo(format_script(plan), nl=False)
        case OutputFormat.TABLE:
            show_plan(plan, Terminal())
        case _:
            write_document(describe_plan(plan, tuple(map(str, unknown))), output)
