"""``evenspread doctor``: check an installation, and advise how to repair it."""

import asyncio
import http.client
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from webhook import __version__
from webhook.cli.certs import fetch_served
from webhook.cli.clock import current_time
from webhook.cli.commands.doctor import SET_FAILURE_POLICY
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions, takes_server
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Style, Terminal
from webhook.config.durations import parse_duration
from webhook.doctor.client import DoctorClient
from webhook.doctor.collect import DoctorTarget, collect_installation
from webhook.doctor.dryrun import DEFAULT_PROBE_NAMESPACE
from webhook.doctor.findings import CheckResult, CheckState
from webhook.doctor.installation import Installation, Lookup, Replica
from webhook.doctor.table import run_checks
from webhook.doctor.wait import POLICIES, set_failure_policies, wait_answered
from webhook.errors import ConfigError, SourceError
from webhook.policy.advice.findings import count_of
from webhook.policy.request import Hook

PAGE_TIMEOUT_S = 5.0  # to read one page of a replica, which takes milliseconds

_HOOK_NAMES = {"mutating": Hook.MUTATE, "validating": Hook.VALIDATE}


@takes_server
def doctor(
    *,
    name: str,
    namespace: str,
    server: ServerOptions,
    probe_namespace: str,
    address: str,
    health: tuple[str, ...],
    wait: str,
    set_failure_policy: tuple[str, ...],
    output: OutputFormat,
) -> ExitCode:
    """Check an installation, or only wait until one answers."""
    policies = dict(map(_parse_policy, set_failure_policy))
    if policies and not wait:
        raise ConfigError(
            "requires --wait, so that nothing fails before a replica serves", SET_FAILURE_POLICY
        )
    call = partial(apiserver.call, server)
    if wait:
        probes = probe_namespace or DEFAULT_PROBE_NAMESPACE
        call(lambda api: _wait(DoctorClient(api), name, probes, wait, policies))
        return ExitCode.FINE
    leaf = fetch_served(address).chain[0] if address else None
    target = DoctorTarget(
        name, namespace, probe_namespace, leaf, tuple(map(_fetch_replica, health))
    )
    installation = call(
        lambda api: collect_installation(DoctorClient(api), target, current_time(), __version__)
    )
    results = run_checks(installation)
    if output is OutputFormat.TABLE:
        show(installation, results, Terminal())
    else:
        write_document(as_document(installation, results), output)
    problems = any(result.state is CheckState.PROBLEM for result in results)
    return outcome(findings=problems, unfinished=False)


async def _wait(
    client: DoctorClient, name: str, namespace: str, wait: str, policies: dict[Hook, str]
) -> None:
    patience = parse_duration(wait)
    if patience is None:
        raise ConfigError(f"{wait!r} is not a duration: write one such as 90s or 2m", "--wait")
    terminal = Terminal()
    answered = await wait_answered(
        client, namespace, time.monotonic, asyncio.sleep, patience.total_seconds()
    )
    for answer in dict.fromkeys(answered):
        terminal.line(f"evenspread {answer.version} {answer.replica} answered")
    for line in await set_failure_policies(client, name, policies):
        terminal.line(line)


def _parse_policy(text: str) -> tuple[Hook, str]:
    """Parse one value of ``--set-failure-policy``."""
    hook, _, policy = text.partition("=")
    if hook not in _HOOK_NAMES or policy not in POLICIES:
        raise ConfigError(
            f"{text!r} is not a policy: write one such as validating=Fail or mutating=Ignore",
            SET_FAILURE_POLICY,
        )
    return _HOOK_NAMES[hook], policy


def _fetch_replica(address: str) -> Replica:
    """Read the health and metrics pages of a replica."""
    pages = (Lookup(_fetch_page(address, path)) for path in ("/readyz?verbose", "/metrics"))
    return Replica(address, *pages)


def _fetch_page(address: str, path: str) -> str:
    connection = http.client.HTTPConnection(address, timeout=PAGE_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise SourceError(f"http://{address}{path}", f"cannot be read: {error}") from error
    finally:
        connection.close()


_STYLES = {
    CheckState.OK: Style.GOOD,
    CheckState.NOTE: Style.HINT,
    CheckState.PROBLEM: Style.BAD,
    CheckState.UNKNOWN: Style.DOUBTFUL,
}

_COLUMNS = {"state": 9, "id": 19}  # characters: the longest word, and a gap
_INDENT = " " * _COLUMNS["state"]


def as_document(installation: Installation, results: Sequence[CheckResult]) -> dict[str, Any]:
    """Convert the results to a document for JSON or YAML."""
    return {
        "name": installation.name,
        "namespace": installation.namespace,
        "version": installation.version,
        "kubernetes": installation.kubernetes,
        "checks": [
            {
                "id": result.id,
                "title": result.title,
                "state": result.state.value,
                "findings": [
                    {
                        "severity": finding.severity.value,
                        "message": finding.message,
                        "advice": finding.advice,
                    }
                    for finding in result.findings
                ],
                "notLookedAt": list(result.unreadable),
            }
            for result in results
        ],
    }


def show(installation: Installation, results: Sequence[CheckResult], terminal: Terminal) -> None:
    """Write a line for each check, with its findings and advice below."""
    where = f"{installation.namespace}/{installation.name}"
    terminal.line(
        "evenspread in ", (where, Style.PLACE), ", on Kubernetes ", installation.kubernetes
    )
    for result in results:
        state = result.state
        terminal.line(
            (f"{state:<{_COLUMNS['state']}}", _STYLES[state]),
            f"{result.id:<{_COLUMNS['id']}}",
            result.title,
        )
        for advice, findings in groupby(result.findings, lambda finding: finding.advice):
            for finding in findings:
                terminal.line(_INDENT, (finding.message, Style.PLACE))
            terminal.line(f"{_INDENT}-> ", (advice, Style.HINT))
        for hidden in result.unreadable:
            terminal.line(f"{_INDENT}not checked: {hidden}")
    terminal.line(f"{len(results)} checks: {', '.join(_format_counts(results))}")


def _format_counts(results: Sequence[CheckResult]) -> Iterator[str]:
    counts = Counter(result.state for result in results)
    for state in (CheckState.PROBLEM, CheckState.UNKNOWN, CheckState.NOTE, CheckState.OK):
        many = counts[state]
        is_noun = state in (CheckState.PROBLEM, CheckState.NOTE)
        if many:
            yield count_of(many, state) if is_noun else f"{many} {state}"
