"""``evenspread certs``: show served and trusted certificates, and request new ones."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from socket import create_connection
from typing import Any, TypeVar

from certs.api import ObjectClient
from certs.errors import AbsentError, PairError, StoreError
from certs.inject import Hooks
from certs.pem import read_certificates, read_der
from certs.secret import RotationRequest, SecretStore, request_time
from certs.serving import client_context
from webhook.cli.clock import current_time
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions, takes_server
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Terminal
from webhook.cli.views.certificates import (
    CertificateReport,
    Certificates,
    ServedChain,
    TrustBundle,
    as_document,
    leads_to,
    show,
)
from webhook.cluster.protocol import describe_error
from webhook.config.filetext import read_text
from webhook.errors import ApiError, ConfigError, SourceError

T = TypeVar("T")

START_S = 60
"""Longest wait for a replica to record a revocation: it reads every 3 s, or 30 s after errors."""

TIMEOUT_S = 5.0  # timeout of a connection to a listener; equals the server's limit for a handshake


@takes_server
def certs(
    *,
    state: str,
    tls_dir: str,
    address: str,
    server: ServerOptions,
    namespace: str,
    name: str,
    output: OutputFormat,
) -> ExitCode:
    """Collect certificates from the given places, or from the cluster if none is given."""
    report = CertificateReport()
    for folder in filter(None, (state, tls_dir)):
        _read_folder(Path(folder), report)
    if address:
        report.served.append(fetch_served(address))
    if server.is_named or namespace or not (state or tls_dir or address):
        _call(server, lambda client: _read_cluster(client, namespace, name, report))
    chains, now = report.chains, current_time()
    if output is OutputFormat.TABLE:
        show(report, chains, now, Terminal())
    else:
        write_document(as_document(report, chains, now), output)
    return outcome(findings=not all(chain.trusted for chain in chains), unfinished=False)


@takes_server
def rotate(*, ca: bool, **place: Any) -> ExitCode:
    """Request new certificates from all replicas, with an annotation of the Secret."""
    kind, request = ("ca", RotationRequest.CA) if ca else ("leaf", RotationRequest.LEAF)
    Terminal().line(f"{_request(request, **place)}: a new {kind} is requested")
    return ExitCode.FINE


@takes_server
def revoke(**place: Any) -> ExitCode:
    """Revoke the CA, with an annotation of the Secret, and wait until a replica has read it."""
    title = _request(RotationRequest.REVOKE, **place)
    Terminal().line(
        f"{title}: the CA is revoked. A new CA signs within 30 s, and the old one leaves every "
        "caBundle within 2 minutes"
    )
    return ExitCode.FINE


def _request(request: RotationRequest, *, server: ServerOptions, namespace: str, name: str) -> str:
    """Annotate the Secret, and return its title."""
    if not namespace:
        raise ConfigError("is required: name the namespace of the Secret", "--namespace")
    secret_name = f"{name}-ca"

    async def annotate(client: ObjectClient) -> str:
        secret = SecretStore(client, namespace, secret_name)
        stored = await secret.load()
        # Replicas compare the time with certificate lifetimes; this machine's clock may be off.
        at = request_time(stored.server_now or current_time())
        await secret.request_rotation(request, at)
        if request is RotationRequest.REVOKE:
            await await_revocation(secret, at, asyncio.sleep)
        return secret.title

    return _call(server, annotate)


async def await_revocation(
    secret: SecretStore, at: datetime, sleep: Callable[[float], Awaitable[object]]
) -> None:
    """
    Wait until a replica has recorded the revocation.

    Raises:
        SourceError: None did; nothing is revoked.
    """
    for _ in range(START_S):
        recorded = (await secret.load()).trust.revocation
        if recorded is not None and recorded.at >= at:
            return
        await sleep(1)
    raise SourceError(
        secret.title,
        f"no replica has started the revocation within {START_S} s: run a replica, which then "
        "starts it, and repeat the command; with certificate.mode files, no replica uses this "
        "Secret: renew the CA where the certificate is issued",
    )


def _read_folder(folder: Path, report: CertificateReport) -> None:
    """Read the certificates in a folder of ``--tls standalone`` or ``--tls files``."""
    leaf, authority = folder / "tls.crt", folder / "ca.crt"
    chain = read_certificates(read_text(str(leaf)).encode(), where=str(leaf))
    report.served.append(ServedChain(str(leaf), chain, partial(leads_to, chain)))
    if authority.exists():
        trusted = read_certificates(read_text(str(authority)).encode(), where=str(authority))
        report.bundles.append(TrustBundle(str(authority), trusted))
    else:
        report.notes.append(f"{authority}: does not exist")


def fetch_served(address: str) -> ServedChain:
    """
    Connect to a listener and read its leaf certificate.

    The result connects again for every bundle that it is checked against.

    Raises:
        ConfigError: The address is not HOST:PORT.
        SourceError: The listener cannot be reached, or serves no certificate.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"{address!r} is not an address: write HOST:PORT", "--address")
    connect = partial(_read_leaf, host.strip("[]"), int(port))
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    try:
        leaf = read_der(connect(unverified), where="the served certificate")
    except (OSError, ValueError, PairError) as error:
        raise SourceError(address, f"serves no certificate: {describe_error(error)}") from error

    def trusted_by(trusted: Certificates) -> bool:
        try:
            return bool(trusted) and bool(connect(client_context(trusted)))
        except ssl.SSLCertVerificationError:
            return False
        except OSError as error:
            raise SourceError(
                address, f"does not answer any more: {describe_error(error)}"
            ) from error

    return ServedChain(address, (leaf,), trusted_by)


def _read_leaf(host: str, port: int, context: ssl.SSLContext) -> bytes:
    with (
        create_connection((host, port), TIMEOUT_S) as plain,
        context.wrap_socket(plain) as wrapped,
    ):
        return wrapped.getpeercert(binary_form=True) or b""


async def _read_cluster(
    client: ObjectClient, namespace: str, name: str, report: CertificateReport
) -> None:
    published = await Hooks(client, name).read()
    report.bundles += [
        TrustBundle(f"{configuration.title} webhook {number}", bundle)
        for configuration in published.configurations
        for number, bundle in enumerate(configuration.bundles)
    ]
    report.notes += [f"{title}: does not exist" for title in published.absent]
    if not report.served:
        report.notes.append("no served certificate was checked: name a replica with --address")
    if not namespace:
        report.notes.append("the Secret was not read: name its namespace with --namespace")
        return
    secret = SecretStore(client, namespace, f"{name}-ca")
    try:
        stored = await secret.load()
    except AbsentError as error:
        report.notes.append(str(error))
        return
    report.authorities.append(TrustBundle(secret.title, stored.trust.trusted))
    report.notes += filter(None, [stored.problem])


def _call(server: ServerOptions, action: Callable[[ObjectClient], Awaitable[T]]) -> T:
    """Call an API server; prefer its error, which has advice, to that of the store."""
    try:
        return apiserver.call(server, action)
    except StoreError as error:
        if isinstance(error.__cause__, ApiError):
            raise error.__cause__ from None
        raise
