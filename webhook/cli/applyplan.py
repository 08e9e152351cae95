"""``evenspread rebalance --apply``: ask, evict, and report each replacement: ``apply_plan``."""

import sys
import time
from collections.abc import Sequence

import click
import msgspec

from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.livescope import LiveScope
from webhook.cli.inputs.rebalancescope import RebalanceRequest
from webhook.cli.output import OutputFormat, write_document, write_stderr
from webhook.cli.progress import progress_bar
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.rebalance import summarize_plan
from webhook.cli.views.rebalancedocument import describe_plan
from webhook.cluster.protocol import ApiClient
from webhook.cluster.rebalancing import (
    AppliedEviction,
    Rebalancing,
    RebalancingEnd,
    RebalancingLimits,
)
from webhook.errors import ApiError, ConfigError
from webhook.policy.advice.findings import count_of


def confirm(evictions: int, *, yes: bool) -> None:
    """
    Ask on the terminal whether to evict pods.

    Raises:
        ConfigError: There is no terminal, and no ``--yes``.
        click.Abort: The user declines, or presses Ctrl-C.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("is missing: there is no terminal to ask on", "--yes")
    click.confirm(f"evict {count_of(evictions, 'pod')}?", abort=True, err=True)


def apply_plan(
    server: ServerOptions,
    request: RebalanceRequest,
    limits: RebalancingLimits,
    output: OutputFormat,
) -> ExitCode:
    """Evict pods until the constraints hold, and report each of them."""
    evicted: list[AppliedEviction] = []
    end = apiserver.call(server, lambda client: _run(client, request, limits, output, evicted))
    return report_end(end, evicted, output)


def report_end(
    end: RebalancingEnd, evicted: Sequence[AppliedEviction], output: OutputFormat
) -> ExitCode:
    """Report the result, and why it ended before all was done."""
    if output is not OutputFormat.TABLE:
        write_document(_describe(end, evicted), output)
    elif end.stop is None:
        done = f"{count_of(len(evicted), 'pod')} replaced; {summarize_plan(end.plan)}"
        Terminal().line((done, Style.PLACE))
    if end.stop is not None:
        detail = f": {end.detail}" if end.detail else ""
        write_stderr(f"error: stopped, since {end.stop}{detail}")
    return outcome(findings=not end.plan.restores_all, unfinished=end.stop is not None)


async def _run(
    client: ApiClient,
    request: RebalanceRequest,
    limits: RebalancingLimits,
    output: OutputFormat,
    evicted: list[AppliedEviction],
) -> RebalancingEnd:
    import asyncio  # noqa: PLC0415  # it takes 20 ms, which a plan alone does not need

    terminal = Terminal()
    with progress_bar() as bar:
        task = bar.add_task("evicting pods", total=limits.evictions)

        def report(eviction: AppliedEviction) -> None:
            evicted.append(eviction)
            bar.update(task, advance=1)
            if output is OutputFormat.TABLE:
                bar.stop()  # both may be on one terminal
                _report(eviction, terminal)
                bar.start()

        scope = LiveScope(client, request)
        run = Rebalancing(scope, limits, time.monotonic, asyncio.sleep, report)
        try:
            return await run.run()
        except (asyncio.CancelledError, ApiError):  # Ctrl-C, or the API server does not answer
            tried = count_of(run.tried, "eviction")
            ready = count_of(len(evicted), "replacement")
            write_stderr(f"stopped after {tried} with {ready} ready: plan again")
            raise


def _report(eviction: AppliedEviction, terminal: Terminal) -> None:
    doubt = "" if eviction.planned else ", which was not planned"
    terminal.line(
        f"evicted {eviction.namespace}/{eviction.pod} on {eviction.node}: {eviction.replacement} "
        f"is ready on {eviction.target}",
        (doubt, Style.DOUBTFUL),
    )


def _describe(end: RebalancingEnd, evicted: Sequence[AppliedEviction]) -> dict[str, object]:
    return {
        "evicted": [msgspec.to_builtins(eviction) for eviction in evicted],
        "stopped": None if end.stop is None else f"{end.stop}",
        "detail": end.detail,
        "plan": describe_plan(end.plan),
    }
