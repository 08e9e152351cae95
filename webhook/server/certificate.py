"""
The certificate source that the settings choose, its metrics and its readiness.

``certificate_source`` builds one of the three sources of ``certs``; the rest of the server does not
need to know which one. ``admitted_clients`` reads which clients may call (mTLS).
"""

import math
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cryptography.x509 import Certificate

from certs.api import ObjectClient
from certs.clients import Clients
from certs.files import file_source
from certs.inject import Hooks
from certs.issue import service_hosts
from certs.polling import unknown_trust
from certs.probe import listener_probe
from certs.rotate import SelfSource
from certs.secret import SecretStore
from certs.serving import LiveContext
from certs.source import CertificateSource, SourceEnvironment
from certs.standalone import standalone_source
from certs.state import Lifetimes
from webhook.config.durations import parse_lifetimes
from webhook.config.files import read_text
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.server.health import Conditions, ReadinessCondition
from webhook.telemetry.metrics import Metrics

CA_FILE = "ca.crt"
UNTRUSTED = "the webhook configurations do not trust it yet"
FILE_MISSING = "{} does not exist"


@dataclass(frozen=True, slots=True)
class CertificateContext:
    """
    What a certificate source needs besides the settings.

    Attributes:
        client: The client of the API server; None without a cluster.
        namespace: The namespace of the CA's Secret; empty if unknown.
        overlap: How long an old CA stays trusted beside a new one.
        listener: Host and port at which this machine reaches the admission listener.
        poll: Seconds between two checks of a folder.
    """

    client: ObjectClient | None
    namespace: str
    overlap: timedelta
    listener: tuple[str, int]
    poll: float


def certificate_source(
    settings: Settings,
    live: LiveContext,
    environment: SourceEnvironment,
    context: CertificateContext,
) -> CertificateSource:
    """
    Build the source that the settings choose.

    Args:
        live: The TLS context that receives certificates.

    Raises:
        ConfigError: The settings contradict each other.
    """
    client, namespace = context.client, context.namespace
    match settings.certificate:
        case "standalone":
            folder = Path(settings.state)
            return standalone_source(
                folder, settings.address, live, environment, interval=context.poll
            )
        case "files":
            if not settings.tls_dir:
                raise ConfigError("is needed with --tls files: name the folder", "--tls-dir")
            trusts = Hooks(client, settings.name).trust if client else unknown_trust
            folder = Path(settings.tls_dir)
            return file_source(folder, live, environment, interval=context.poll, trusts=trusts)
        case "self":
            if client is None:
                raise ConfigError(
                    "self keeps its authority in a cluster: choose files or standalone", "--tls"
                )
            if not namespace:
                problem = "is needed outside of a pod; or try it without a cluster, by --standalone"
                raise ConfigError(problem, "--namespace")
            return SelfSource(
                live=live,
                secret=SecretStore(client, namespace, f"{settings.name}-ca"),
                hooks=Hooks(client, settings.name),
                hosts=service_hosts(settings.name, namespace),
                environment=environment,
                lifetimes=lifetimes(settings, context.overlap),
                probe=listener_probe(*context.listener),
            )


def lifetimes(settings: Settings, overlap: timedelta) -> Lifetimes:
    """
    Choose the lifetimes of certificates of our own CA.

    Raises:
        ConfigError: Lifetimes and overlap contradict each other.
    """
    chosen = Lifetimes(overlap=overlap, **parse_lifetimes(settings.test_lifetimes))
    if chosen.problem:
        where = "--test-lifetimes" if settings.test_lifetimes else "caOverlap"
        raise ConfigError(chosen.problem, where)
    return chosen


def admitted_clients(settings: Settings) -> Clients | None:
    """
    Read which clients may call; None admits all. A changed file takes effect at the next start.

    Raises:
        ConfigError: The settings contradict each other, or the file cannot be read.
        PairError: The file holds no certificate.
    """
    file, written = settings.client_ca, settings.client_names
    names = frozenset(name.strip() for name in written.split(",")) - {""}
    if written and not file:
        problem = "needs --client-ca: name the file of the CA of client certificates"
        raise ConfigError(problem, "--client-names")
    if written and not names:  # no name at all would admit any name
        raise ConfigError("contains no name: write one, or leave it out", "--client-names")
    if not file:
        return None
    try:
        pem = read_text(file).encode()
    except ConfigError as error:
        raise ConfigError(error.problem, "--client-ca") from error
    return Clients.parse(pem, names, where=file)


def authority_file(settings: Settings) -> Path | None:
    """Find the CA file that clients on this machine need; None if there is none."""
    match settings.certificate:
        case "standalone":
            return Path(settings.state) / CA_FILE
        case "files":
            file = Path(settings.tls_dir) / CA_FILE
            return file if file.exists() else None
        case "self":
            return None


def expose_certificate(source: CertificateSource, settings: Settings, metrics: Metrics) -> None:
    """Read the certificate metrics from a source at each scrape."""
    leaf, authority = (metrics.expiry.labels(kind, settings.certificate) for kind in ("leaf", "ca"))
    leaf.set_function(lambda: _expiry(source.status.leaf))
    authority.set_function(lambda: _expiry(next(iter(source.status.authorities[-1:]), None)))
    metrics.in_sync.set_function(
        lambda: math.nan if source.status.in_sync is None else float(source.status.in_sync)
    )


def check_certificate(source: CertificateSource) -> Conditions:
    """Report the readiness of a source."""
    status = source.status
    if status.ready or status.problem:
        detail = "; ".join(filter(None, (status.problem, *map(FILE_MISSING.format, status.absent))))
    else:
        detail = UNTRUSTED if status.leaf else "there is none yet"
    return {"certificate": ReadinessCondition(status.ready, detail)}


def _expiry(certificate: Certificate | None) -> float:
    return certificate.not_valid_after_utc.timestamp() if certificate else 0.0
