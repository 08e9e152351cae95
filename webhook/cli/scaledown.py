"""``evenspread scaledown``: show the pods with ranks, and remove the ranks from a cluster."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.facts import FactsSources, takes_sources
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.rankedpods import RankedPods, read_ranked_pods
from webhook.cli.output import OutputFormat, report_problems, write_document, write_stderr
from webhook.cli.progress import progress_bar
from webhook.cli.terminal import Terminal
from webhook.cli.views.ranks import show_ranks
from webhook.cluster.labelledpods import LabelledPod, list_labelled_pods, remove_rank
from webhook.cluster.protocol import ApiClient
from webhook.errors import ApiError, ConfigError, SourceError
from webhook.policy.advice.findings import count_of
from webhook.policy.model import LabelSelector
from webhook.policy.scaledown.domainranks import DomainRanks, summarize_ranks
from webhook.policy.scaledown.removal import CostKind
from webhook.policy.selectors import matches

MOST_FAILED = 10  # pods that are refused in a namespace, or unanswered; more have the same reason


class RankRemovalReport(NamedTuple):
    """
    The result of a removal.

    Attributes:
        changed: The pods that lost their label, by the kind of their costs.
        gone: Number of pods that were deleted, or lost the label, meanwhile.
        problems: Pods that could not be changed.
        left: Number of pods that were not tried, by the namespace with too many problems; empty if
            the API server does not answer.
    """

    changed: Mapping[CostKind, int]
    gone: int = 0
    problems: Sequence[SourceError] = ()
    left: Mapping[str, int] = {}


@takes_sources
def scaledown(
    *,
    filename: tuple[str, ...],
    remove: bool,
    dry_run: bool,
    namespace: str,
    selector: LabelSelector,
    sources: FactsSources,
    output: OutputFormat,
) -> ExitCode:
    """Show the pods with the label, or remove their ranks and labels from the cluster."""
    if dry_run and not remove:
        raise ConfigError("requires --remove: nothing else changes the cluster", "--dry-run")
    if remove:
        if filename or sources.paths:
            raise ConfigError("changes the live cluster: leave out -f, -k and --facts", "--remove")
        server = sources.live or ServerOptions()
        return _remove(server, namespace, selector, output, dry_run=dry_run)
    inputs = Inputs(filename)
    try:
        read = read_ranked_pods(inputs, sources.or_current_context(filename), namespace)
        _show(list(_summarize(read, selector)), output)
    finally:
        inputs.report()
    return outcome(findings=False, unfinished=bool(inputs.problems))


def _remove(
    server: ServerOptions,
    namespace: str,
    selector: LabelSelector,
    output: OutputFormat,
    *,
    dry_run: bool,
) -> ExitCode:
    async def work(client: ApiClient) -> RankRemovalReport:
        pods = await list_labelled_pods(client, namespace, selector)
        return _plan(pods) if dry_run else await _remove_all(client, pods)

    report = apiserver.call(server, work)
    _write_report(report, output, dry_run=dry_run)
    report_problems(report.problems)
    for left, number in report.left.items():
        place = f" in {left}" if left else ""
        write_stderr(f"error: {count_of(number, 'more pod')}{place} not tried after these errors")
    return outcome(findings=False, unfinished=bool(report.problems))


def _plan(pods: Sequence[LabelledPod]) -> RankRemovalReport:
    return RankRemovalReport(Counter(pod.cost for pod in pods))


async def _remove_all(client: ApiClient, pods: Sequence[LabelledPod]) -> RankRemovalReport:
    """
    Remove the ranks of pods, one after the other, to be no load to the API server.

    Too many problems end it in their namespace, or everywhere if the API server does not answer. A
    pod that changes all the time ends nothing, since its author could keep the ranks of others.
    """
    changed, gone, problems = Counter[CostKind](), 0, list[SourceError]()
    failed, left = Counter[str](), Counter[str]()
    with progress_bar() as bar:
        for pod in bar.track(pods, description="removing ranks"):
            namespace = pod.metadata.namespace
            ended = [place for place in ("", namespace) if failed[place] >= MOST_FAILED]
            if ended:
                left[ended[0]] += 1
                continue
            try:
                if await remove_rank(client, pod, asyncio.sleep):
                    changed[pod.cost] += 1
                else:
                    gone += 1
            except ApiError as error:
                problems.append(SourceError(f"pod {namespace}/{pod.metadata.name}", str(error)))
                if error.status != HTTPStatus.CONFLICT:
                    failed["" if _is_unanswered(error) else namespace] += 1
    return RankRemovalReport(changed, gone, problems, left)


def _is_unanswered(error: ApiError) -> bool:
    """Whether the API server would treat a pod of another namespace in the same way."""
    return error.status in (
        0,
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.SERVICE_UNAVAILABLE,
    )


def _write_report(report: RankRemovalReport, output: OutputFormat, *, dry_run: bool) -> None:
    pods, ranks = sum(report.changed.values()), report.changed.get(CostKind.RANK, 0)
    foreign = report.changed.get(CostKind.FOREIGN, 0)
    if output is not OutputFormat.TABLE:
        document = {
            "dryRun": dry_run,
            "labels": pods,
            "ranks": ranks,
            "keptCosts": foreign,
            "gone": report.gone,
            "failed": len(report.problems),
            "notTried": sum(report.left.values()),
        }
        write_document(document, output)
        return
    verb = "would remove" if dry_run else "removed"
    kept = f"; left {count_of(foreign, 'cost')} of other clients" if foreign else ""
    line = f"{verb} {count_of(ranks, 'rank')} and {count_of(pods, 'label')}{kept}"
    Terminal().line(line)


_Workload = tuple[str, str, str]
"""Namespace, kind and name of a controller; kind and name are empty without one."""


def _group(pods: Iterable[LabelledPod]) -> Mapping[_Workload, list[LabelledPod]]:
    groups: defaultdict[_Workload, list[LabelledPod]] = defaultdict(list)
    for pod in pods:
        owner = pod.controller
        groups[pod.metadata.namespace, owner.kind, owner.name].append(pod)
    return dict(sorted(groups.items()))


class _ControllerRanks(msgspec.Struct, frozen=True, rename="camel"):
    """The pods of a controller with the label: selected ones, and all of them by domain."""

    namespace: str
    kind: str
    name: str
    pods: int
    ranked: int
    unranked: int
    other_costs: int
    domains: list[DomainRanks]


def _summarize(read: RankedPods, selector: LabelSelector) -> Iterator[_ControllerRanks]:
    for (namespace, kind, name), pods in _group(read.pods).items():
        selected = [pod for pod in pods if matches(selector, pod.metadata.labels or {})]
        if not selected:
            continue
        count = Counter(pod.cost for pod in selected)
        ranked = (pod.ranked for pod in pods if pod.ranked is not None)
        domains = summarize_ranks(ranked, read.nodes.label)
        yield _ControllerRanks(
            namespace=namespace,
            kind=kind,
            name=name,
            pods=len(selected),
            ranked=count[CostKind.RANK],
            unranked=count[CostKind.NONE],
            other_costs=count[CostKind.FOREIGN],
            domains=domains,
        )


def _show(rows: Sequence[_ControllerRanks], output: OutputFormat) -> None:
    if output is not OutputFormat.TABLE:
        write_document({"controllers": msgspec.to_builtins(rows)}, output)
        return
    terminal = Terminal()
    if not rows:
        terminal.line("no pod has the label evenspread.io/scale-down: keep-spread")
        return
    headings = ("namespace", "controller", "pods", "ranked", "unranked", "other costs")
    terminal.table(headings, map(_format_row, rows))
    for row in rows:
        if row.ranked:
            show_ranks(f"{_name(row)} in {row.namespace}", row.domains, terminal)


def _format_row(row: _ControllerRanks) -> Sequence[str]:
    numbers = (row.pods, row.ranked, row.unranked, row.other_costs)
    return row.namespace, _name(row), *map(str, numbers)


def _name(row: _ControllerRanks) -> str:
    return f"{row.kind}/{row.name}" if row.kind else "-"
