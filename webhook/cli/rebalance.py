"""``evenspread rebalance``: the fewest evictions after which constraints hold."""

import click

from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import FactsSources, takes_sources
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import read_policy
from webhook.cli.inputs.rebalancescope import RebalanceRequest, read_files, read_request
from webhook.cli.inputs.snapshots import progress_bar
from webhook.cli.output import OutputFormat, write_document, write_stderr
from webhook.cli.terminal import Terminal
from webhook.cli.views.evictionscript import format_script
from webhook.cli.views.rebalance import show_plan
from webhook.cli.views.rebalancedocument import describe_plan
from webhook.cluster.protocol import ApiClient
from webhook.cluster.scheduling.planningobjects import PlanningObjects, list_planning_objects
from webhook.errors import ConfigError
from webhook.rebalance.plan import RebalancePlan, plan_rebalance


@takes_sources
def rebalance(
    *,
    workload: tuple[str, ...],
    filename: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    sources: FactsSources,
    kube_version: str,
    feature_gates: str,
    allow_locked_gates: bool,
    output: OutputFormat,
) -> ExitCode:
    """Plan the evictions, and write the plan."""
    sources = sources.or_current_context(filename)
    if sources.live and (filename or sources.paths):
        raise ConfigError("plans for one cluster: leave out -f, -k and --facts", "--live")
    gates = read_policy(
        kube_version=kube_version,
        feature_gates=feature_gates,
        allow_locked_gates=allow_locked_gates,
        config="",
    ).gates
    request = read_request(workload, namespace, sources, gates, all_namespaces=all_namespaces)
    inputs = Inputs(filename)
    try:
        found = _read(inputs, sources, request)
        plan = plan_rebalance(*request.find_scope(found))
        _write(plan, found, output)
    finally:
        inputs.report()
    return outcome(
        findings=not all(result.holds for result in plan.goals), unfinished=bool(inputs.problems)
    )


def _read(inputs: Inputs, sources: FactsSources, request: RebalanceRequest) -> PlanningObjects:
    if sources.live is None:
        return read_files(inputs, sources, request.namespace)
    found = _list(sources.live, request.namespace)
    for problem in found.unknown:
        write_stderr(f"warning: not considered: {problem}")
    return found


def _list(server: ServerOptions, namespace: str) -> PlanningObjects:
    async def read(client: ApiClient) -> PlanningObjects:
        with progress_bar() as bar:
            task = bar.add_task("reading the cluster", total=None)

            def report(kind: str, number: int) -> None:
                bar.update(task, description=f"{kind}s", completed=number)

            return await list_planning_objects(client, namespace, report)

    return apiserver.call(server, read)


def _write(plan: RebalancePlan, found: PlanningObjects, output: OutputFormat) -> None:
    match output:
        case OutputFormat.SCRIPT:
            click.echo(format_script(plan), nl=False)
        case OutputFormat.TABLE:
            show_plan(plan, Terminal())
        case _:
            write_document(describe_plan(plan, tuple(map(str, found.unknown))), output)
