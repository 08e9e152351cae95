"""``evenspread certs``: what is served, and trusted; ``certs rotate`` asks for it anew."""

import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from socket import create_connection
from typing import TypeVar

import click

from certs.api import ObjectClient
from certs.errors import AbsentError, PairError, StoreError
from certs.inject import Hooks
from certs.pem import read_certificates, read_der
from certs.probe import TIMEOUT_S
from certs.secret import SecretStore
from certs.serving import client_context
from certs.source import Subject
from webhook.cli import options
from webhook.cli.command import Command, Group
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.output import Format, write
from webhook.cli.terminal import Terminal
from webhook.cli.views.chains import (
    Bundle,
    Certificates,
    Served,
    Survey,
    as_document,
    leads_to,
    show,
)
from webhook.cluster.protocol import describe_error
from webhook.config.files import read_text
from webhook.errors import ApiError, ConfigError, SourceError

Found = TypeVar("Found")


def certs(
    *,
    state: str,
    tls_dir: str,
    address: str,
    kubeconfig: str,
    context: str,
    namespace: str,
    name: str,
    output: Format,
) -> ExitCode:
    """Look where it is asked for; in the cluster if nothing else is."""
    if click.get_current_context().invoked_subcommand:
        return ExitCode.FINE
    survey = Survey()
    for folder in filter(None, (state, tls_dir)):
        _look_into(Path(folder), survey)
    if address:
        survey.served.append(met(address))
    if kubeconfig or context or namespace or not (state or tls_dir or address):
        _ask(kubeconfig, context, lambda client: _look_up(client, namespace, name, survey))
    chains, now = survey.chains, _now()
    if output is Format.TABLE:
        show(survey, chains, now, Terminal())
    else:
        write(as_document(survey, chains, now), output)
    return outcome(findings=not all(each.trusted for each in chains), unfinished=False)


def rotate(*, kubeconfig: str, context: str, namespace: str, name: str, ca: bool) -> ExitCode:
    """Ask all replicas for new certificates, by an annotation of the Secret."""
    if not namespace:
        raise ConfigError("is needed: name that of the Secret", "--namespace")
    subject = Subject.CA if ca else Subject.LEAF

    async def ask(client: ObjectClient) -> str:
        secret = SecretStore(client, namespace, f"{name}-ca")
        stored = await secret.load()
        # Replicas compare it with the lives of certificates; the clock of this machine may be off.
        await secret.ask(subject, stored.server_now or _now())
        return secret.title

    title = _ask(kubeconfig, context, ask)
    Terminal().line(f"{title}: a new {subject} is asked for")
    return ExitCode.FINE


def _look_into(folder: Path, survey: Survey) -> None:
    """Look at a folder of ``--tls standalone`` or ``--tls files``."""
    leaf, authority = folder / "tls.crt", folder / "ca.crt"
    chain = read_certificates(read_text(str(leaf)).encode(), where=str(leaf))
    survey.served.append(Served(str(leaf), chain, partial(leads_to, chain)))
    if authority.exists():
        trusted = read_certificates(read_text(str(authority)).encode(), where=str(authority))
        survey.bundles.append(Bundle(str(authority), trusted))
    else:
        survey.notes.append(f"{authority}: is not there")


def met(address: str) -> Served:
    """Shake hands with a listener: once to see its leaf, once more for whatever may be trusted."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"cannot be {address!r}: write HOST:PORT", "--address")
    meet = partial(_meet, host.strip("[]"), int(port))
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    try:
        leaf = read_der(meet(anybody), where="what it shows")
    except (OSError, ValueError, PairError) as error:
        raise SourceError(address, f"shows no certificate: {describe_error(error)}") from error

    def trusted_by(trusted: Certificates) -> bool:
        try:
            return bool(trusted) and bool(meet(client_context(trusted)))
        except ssl.SSLCertVerificationError:
            return False
        except OSError as error:
            raise SourceError(address, f"is gone: {describe_error(error)}") from error

    return Served(address, (leaf,), trusted_by)


def _meet(host: str, port: int, context: ssl.SSLContext) -> bytes:
    with (
        create_connection((host, port), TIMEOUT_S) as plain,
        context.wrap_socket(plain) as wrapped,
    ):
        return wrapped.getpeercert(binary_form=True) or b""


async def _look_up(client: ObjectClient, namespace: str, name: str, survey: Survey) -> None:
    published = await Hooks(client, name).read()
    survey.bundles += [
        Bundle(f"{one.title} webhook {number}", bundle)
        for one in published.configurations
        for number, bundle in enumerate(one.bundles)
    ]
    survey.notes += [f"{title}: does not exist" for title in published.absent]
    if not survey.served:
        survey.notes.append("no replica was asked what it serves: name one by --address")
    if not namespace:
        survey.notes.append("the Secret was not read: say where it is by --namespace")
        return
    secret = SecretStore(client, namespace, f"{name}-ca")
    try:
        stored = await secret.load()
    except AbsentError as error:
        survey.notes.append(str(error))
        return
    survey.authorities.append(Bundle(secret.title, tuple(stored.trust.certificates.values())))
    survey.notes += filter(None, [stored.problem])


def _ask(
    kubeconfig: str, context: str, question: Callable[[ObjectClient], Awaitable[Found]]
) -> Found:
    """Ask an API server; what the error of a store comes from says what to do."""
    try:
        return apiserver.ask(kubeconfig, context, question)
    except StoreError as error:
        if isinstance(error.__cause__, ApiError):
            raise error.__cause__ from None
        raise


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # a command is where the clock is read


def _text(flags: list[str], metavar: str, words: str, default: str = "") -> click.Option:
    return click.Option(flags, metavar=metavar, default=default, help=words)


def _cluster() -> list[click.Option]:
    return [
        *options.reach(),
        _text(
            ["-n", "--namespace"],
            "NAME",
            "Namespace of the Secret; without it only the caBundles of a cluster are shown.",
        ),
        _text(["--name"], "NAME", "As for serve; the Secret is NAME-ca.", "evenspread"),
    ]


command = Group(
    "certs",
    callback=certs,
    invoke_without_command=True,
    params=[
        _text(["--state"], "FOLDER", "A folder of --tls standalone."),
        _text(["--tls-dir"], "FOLDER", "A folder of --tls files."),
        _text(["--address"], "HOST:PORT", "A listener to ask what it serves."),
        *_cluster(),
        options.output(),
    ],
    help=(
        "Show the certificates of the Secret, of a listener, of folders, and of the webhook "
        "configurations' caBundles. The exit code is 1 if a served one leads to no certificate "
        "of a bundle."
    ),
    commands=[
        Command(
            "rotate",
            callback=rotate,
            params=[
                *_cluster(),
                click.Option(["--ca"], is_flag=True, help="A new authority too, with overlap."),
            ],
            short_help="Ask for an early rotation.",
            help="Ask all replicas for new leaves, or a new authority, before they are due.",
            examples=("evenspread certs rotate -n evenspread --ca",),
        )
    ],
    examples=(
        "evenspread certs -n evenspread --address 127.0.0.1:8443",
        "evenspread certs --state .evenspread -o json",
    ),
)
