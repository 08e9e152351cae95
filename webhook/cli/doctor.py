"""``evenspread doctor``: check an installation, and advise how to repair it."""

import asyncio
import http.client
import time
from datetime import UTC, datetime

import click
from cryptography import x509

from webhook import __version__
from webhook.cli import options
from webhook.cli.certs import fetch_served
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Terminal
from webhook.cli.views import doctor as doctor_view
from webhook.config.durations import parse_duration
from webhook.doctor.client import DoctorClient
from webhook.doctor.collect import DoctorTarget, collect_installation
from webhook.doctor.dryrun import DEFAULT_PROBE_NAMESPACE
from webhook.doctor.findings import CheckState
from webhook.doctor.installation import Lookup, Replica
from webhook.doctor.table import run_checks
from webhook.doctor.wait import POLICIES, set_failure_policies, wait_answered
from webhook.errors import ConfigError, SourceError
from webhook.policy.request import Hook

WAIT = "2m"  # a replica is ready in seconds, but its image may have to be pulled
PAGE_TIMEOUT_S = 5.0  # to read one page of a replica, which takes milliseconds

_HOOK_NAMES = {"mutating": Hook.MUTATE, "validating": Hook.VALIDATE}


def doctor(
    *,
    name: str,
    namespace: str,
    kubeconfig: str,
    context: str,
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
        raise ConfigError("requires --wait, so that nothing fails before a replica serves", _SET)
    if wait:
        return apiserver.call(
            kubeconfig,
            context,
            lambda api: _wait(
                DoctorClient(api), name, probe_namespace or DEFAULT_PROBE_NAMESPACE, wait, policies
            ),
        )
    target = DoctorTarget(
        name, namespace, probe_namespace, _fetch_leaf(address), tuple(map(_fetch_replica, health))
    )
    installation = apiserver.call(
        kubeconfig,
        context,
        lambda api: collect_installation(DoctorClient(api), target, _now(), __version__),
    )
    results = run_checks(installation)
    if output is OutputFormat.TABLE:
        doctor_view.show(installation, results, Terminal())
    else:
        write_document(doctor_view.as_document(installation, results), output)
    problems = any(result.state is CheckState.PROBLEM for result in results)
    return outcome(findings=problems, unfinished=False)


async def _wait(
    client: DoctorClient, name: str, namespace: str, wait: str, policies: dict[Hook, str]
) -> ExitCode:
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
    return ExitCode.FINE


def _parse_policy(text: str) -> tuple[Hook, str]:
    """Parse one value of ``--set-failure-policy``."""
    hook, _, policy = text.partition("=")
    if hook not in _HOOK_NAMES or policy not in POLICIES:
        raise ConfigError(
            f"{text!r} is not a policy: write one such as validating=Fail or mutating=Ignore", _SET
        )
    return _HOOK_NAMES[hook], policy


_SET = "--set-failure-policy"


def _fetch_leaf(address: str) -> x509.Certificate | None:
    return fetch_served(address).chain[0] if address else None


def _fetch_replica(address: str) -> Replica:
    """Read the health and metrics pages of a replica."""
    return Replica(
        address,
        Lookup(_fetch_page(address, "/readyz?verbose")),
        Lookup(_fetch_page(address, "/metrics")),
    )


def _fetch_page(address: str, path: str) -> str:
    connection = http.client.HTTPConnection(address, timeout=PAGE_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise SourceError(f"http://{address}{path}", f"cannot be read: {error}") from error
    finally:
        connection.close()


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # a command is where the clock is read


command = Command(
    "doctor",
    callback=doctor,
    params=[
        options.text(
            ["-n", "--namespace"],
            "NAME",
            "Namespace of the Deployment. Default: that of the Service that the webhooks call.",
        ),
        options.text(["--name"], "NAME", "Name of the installation, as for serve.", "evenspread"),
        *options.api_server(),
        options.text(
            ["--probe-namespace"],
            "NAME",
            "Namespace for dry-run Pods. Default: one that the webhooks match.",
        ),
        options.text(
            ["--address"], "HOST:PORT", "Admission port of a replica, to check its certificate."
        ),
        click.Option(
            ["--health"],
            multiple=True,
            metavar="HOST:PORT",
            help="Health port of a replica, instead of the API server's proxy. May be repeated.",
        ),
        click.Option(
            ["--wait"],
            is_flag=False,
            flag_value=WAIT,
            default="",
            metavar="[DURATION]",
            help="Skip the checks and wait until a replica answers for both webhooks. "
            f"Default: {WAIT}.",
        ),
        click.Option(
            [_SET],
            multiple=True,
            metavar="HOOK=POLICY",
            help="After --wait, set the failurePolicy, for example validating=Fail. "
            "May be repeated.",
        ),
        options.output(),
    ],
    help=(
        "Check an installation: registration, certificates, reachability, permissions and health "
        "of the replicas. Each problem comes with advice. What your permissions hide is listed "
        "and does not count as a problem. The exit code is 1 if there is a problem. The checks "
        "change nothing: Pods are only created as dry runs."
    ),
    examples=(
        "evenspread doctor",
        "evenspread doctor -n evenspread --address 127.0.0.1:8443 -o json",
        "evenspread doctor --wait 5m --set-failure-policy validating=Fail",
    ),
)
