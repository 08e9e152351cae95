"""``evenspread doctor``: looks at an installation as an on-call would, and says what to do."""

import asyncio
import http.client
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TypeVar

import click
from cryptography import x509

from webhook import __version__
from webhook.cli import options
from webhook.cli.certs import met
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.output import Format, write
from webhook.cli.terminal import Terminal
from webhook.cli.views import diagnosis
from webhook.config.durations import parse_duration
from webhook.doctor.client import Asker
from webhook.doctor.collect import Asked, gather
from webhook.doctor.dryrun import DEFAULT
from webhook.doctor.findings import State
from webhook.doctor.installation import Replica, Seen
from webhook.doctor.table import examine
from webhook.doctor.wait import POLICIES, set_failure_policies, wait_answered
from webhook.errors import ConfigError, SourceError
from webhook.policy.request import Hook

Found = TypeVar("Found")

WAIT = "2m"  # a replica is ready in seconds, but its image may have to be pulled
TIMEOUT_S = 5.0  # of a page of a replica

HOOKS = {"mutating": Hook.MUTATE, "validating": Hook.VALIDATE}


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
    output: Format,
) -> ExitCode:
    """Look at an installation; or only wait for one."""
    policies = dict(map(_policy, set_failure_policy))
    if policies and not wait:
        raise ConfigError("needs --wait, so that nothing fails before a replica serves", _SET)
    if wait:
        return apiserver.ask(
            kubeconfig,
            context,
            lambda api: _wait(Asker(api), name, probe_namespace or DEFAULT, wait, policies),
        )
    asked = Asked(name, namespace, probe_namespace, _leaf(address), tuple(map(_replica, health)))
    installation = apiserver.ask(
        kubeconfig, context, lambda api: gather(Asker(api), asked, _now(), __version__)
    )
    results = examine(installation)
    if output is Format.TABLE:
        diagnosis.show(installation, results, Terminal())
    else:
        write(diagnosis.as_document(installation, results), output)
    problems = any(each.state is State.PROBLEM for each in results)
    return outcome(findings=problems, unfinished=False)


async def _wait(
    asker: Asker, name: str, namespace: str, wait: str, policies: dict[Hook, str]
) -> ExitCode:
    patience = parse_duration(wait)
    if patience is None:
        raise ConfigError(f"cannot be {wait!r}: write a duration such as 90s or 2m", "--wait")
    terminal = Terminal()
    answered = await wait_answered(
        asker, namespace, time.monotonic, asyncio.sleep, patience.total_seconds()
    )
    for each in dict.fromkeys(answered):
        terminal.line(f"evenspread {each.version} {each.replica} answered")
    for line in await set_failure_policies(asker, name, policies):
        terminal.line(line)
    return ExitCode.FINE


def _policy(text: str) -> tuple[Hook, str]:
    """Read one of ``--set-failure-policy``."""
    hook, _, policy = text.partition("=")
    if hook not in HOOKS or policy not in POLICIES:
        raise ConfigError(f"cannot be {text!r}: write validating=Fail or mutating=Ignore", _SET)
    return HOOKS[hook], policy


_SET = "--set-failure-policy"


def _leaf(address: str) -> x509.Certificate | None:
    return met(address).chain[0] if address else None


def _replica(address: str) -> Replica:
    """Ask a replica itself."""
    return Replica(
        address, Seen(_page(address, "/readyz?verbose")), Seen(_page(address, "/metrics"))
    )


def _page(address: str, path: str) -> str:
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise SourceError(f"http://{address}{path}", f"cannot be read: {error}") from error
    finally:
        connection.close()


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # a command is where the clock is read


def _text(flags: Iterable[str], metavar: str, words: str, default: str = "") -> click.Option:
    return click.Option(list(flags), metavar=metavar, default=default, help=words)


command = Command(
    "doctor",
    callback=doctor,
    params=[
        _text(
            ["-n", "--namespace"],
            "NAME",
            "Namespace of the Deployment; that of the Service that is called if not given.",
        ),
        _text(["--name"], "NAME", "As for serve.", "evenspread"),
        *options.reach(),
        _text(
            ["--probe-namespace"],
            "NAME",
            "Where pods are tried (dry runs); one that the webhooks are called for if not given.",
        ),
        _text(["--address"], "HOST:PORT", "A replica's admission port, to see what it serves."),
        click.Option(
            ["--health"],
            multiple=True,
            metavar="HOST:PORT",
            help="A replica's health port, instead of the API server's proxy. May be repeated.",
        ),
        click.Option(
            ["--wait"],
            is_flag=False,
            flag_value=WAIT,
            default="",
            metavar="[DURATION]",
            help=f"Only wait, {WAIT} if not given, until a replica answers for both webhooks.",
        ),
        click.Option(
            [_SET],
            multiple=True,
            metavar="HOOK=POLICY",
            help="With --wait: then set it, as validating=Fail. May be repeated.",
        ),
        options.output(),
    ],
    help=(
        "Look at an installation as an on-call would: is everything registered, trusted, reached, "
        "allowed and well? What may not be looked at is said, and is no problem. The exit code is "
        "1 if there is a problem. Nothing is changed: pods are only tried, by dry runs."
    ),
    examples=(
        "evenspread doctor",
        "evenspread doctor -n evenspread --address 127.0.0.1:8443 -o json",
        "evenspread doctor --wait 5m --set-failure-policy validating=Fail",
    ),
)
