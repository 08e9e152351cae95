"""``evenspread scaledown``: show the pods with ranks in a cluster, and remove the ranks."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions, takes_server
from webhook.cli.inputs.snapshots import progress_bar
from webhook.cli.output import OutputFormat, report_problems, write_document, write_stderr
from webhook.cli.terminal import Terminal
from webhook.cluster.labelledpods import LabelledPod, list_labelled_pods, remove_rank
from webhook.cluster.protocol import ApiClient
from webhook.errors import ApiError, ConfigError, SourceError
from webhook.policy.advice.findings import count_of
from webhook.policy.model import LabelSelector
from webhook.policy.scaledown.removal import CostKind

MOST_FAILED = 10  # pods that cannot be changed; more have the same reason, such as a right


class RankRemovalReport(NamedTuple):
    """
    The result of a removal.

    Attributes:
        changed: The pods that lost their label, by the kind of their costs.
        gone: Number of pods that were deleted, or lost the label, meanwhile.
        problems: Pods that could not be changed.
        left: Number of pods that were not tried, because there were too many problems.
    """

    changed: Mapping[CostKind, int]
    gone: int = 0
    problems: Sequence[SourceError] = ()
    left: int = 0


@takes_server
def scaledown(
    *,
    remove: bool,
    dry_run: bool,
    namespace: str,
    selector: LabelSelector,
    server: ServerOptions,
    output: OutputFormat,
) -> ExitCode:
    """Show the labelled pods of the cluster, or remove their ranks and labels."""
    if dry_run and not remove:
        raise ConfigError("requires --remove: nothing else changes the cluster", "--dry-run")

    async def work(client: ApiClient) -> tuple[list[LabelledPod], RankRemovalReport | None]:
        pods = await list_labelled_pods(client, namespace, selector)
        if not remove:
            return pods, None
        return pods, _plan(pods) if dry_run else await _remove_all(client, pods)

    pods, report = apiserver.call(server, work)
    if report is None:
        _show(_count(pods), output)
        return ExitCode.FINE
    _write_report(report, output, dry_run=dry_run)
    report_problems(report.problems)
    if report.left:
        write_stderr(f"error: {count_of(report.left, 'more pod')} not tried after these errors")
    return outcome(findings=False, unfinished=bool(report.problems))


def _plan(pods: Sequence[LabelledPod]) -> RankRemovalReport:
    return RankRemovalReport(Counter(pod.cost for pod in pods))


async def _remove_all(client: ApiClient, pods: Sequence[LabelledPod]) -> RankRemovalReport:
    """Remove the ranks of pods, one after the other, to be no load to the API server."""
    changed, gone, problems = Counter[CostKind](), 0, list[SourceError]()
    with progress_bar() as bar:
        for pod in bar.track(pods, description="removing ranks"):
            try:
                if await remove_rank(client, pod, asyncio.sleep):
                    changed[pod.cost] += 1
                else:
                    gone += 1
            except ApiError as error:
                name = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
                problems.append(SourceError(name, str(error)))
            if len(problems) == MOST_FAILED:
                break
    left = len(pods) - changed.total() - gone - len(problems)
    return RankRemovalReport(changed, gone, problems, left)


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
            "notTried": report.left,
        }
        write_document(document, output)
        return
    verb = "would remove" if dry_run else "removed"
    kept = f"; left {count_of(foreign, 'cost')} of other clients" if foreign else ""
    line = f"{verb} {count_of(ranks, 'rank')} and {count_of(pods, 'label')}{kept}"
    Terminal().line(line)


_Workload = tuple[str, str, str]
"""Namespace, kind and name of a controller; kind and name are empty without one."""


def _count(pods: Sequence[LabelledPod]) -> Mapping[_Workload, Counter[CostKind]]:
    counts: defaultdict[_Workload, Counter[CostKind]] = defaultdict(Counter)
    for pod in pods:
        owner = pod.controller
        counts[pod.metadata.namespace, owner.kind, owner.name][pod.cost] += 1
    return dict(sorted(counts.items()))


def _show(counts: Mapping[_Workload, Counter[CostKind]], output: OutputFormat) -> None:
    rows: list[dict[str, Any]] = [
        {
            "namespace": namespace,
            "kind": kind,
            "name": name,
            "pods": count.total(),
            "ranked": count[CostKind.RANK],
            "unranked": count[CostKind.NONE],
            "otherCosts": count[CostKind.FOREIGN],
        }
        for (namespace, kind, name), count in counts.items()
    ]
    if output is not OutputFormat.TABLE:
        write_document({"controllers": rows}, output)
    elif not rows:
        Terminal().line("no pod has the label evenspread.io/scale-down: keep-spread")
    else:
        headings = ("namespace", "controller", "pods", "ranked", "unranked", "other costs")
        Terminal().table(headings, map(_format_row, rows))


def _format_row(row: Mapping[str, Any]) -> Sequence[str]:
    name = f"{row['kind']}/{row['name']}" if row["kind"] else "-"
    numbers = (str(row[key]) for key in ("pods", "ranked", "unranked", "otherCosts"))
    return row["namespace"], name, *numbers
