"""
The certificate source that the settings choose, its metrics and its readiness.

``build_certificate`` builds one of the three sources of ``certs``; the rest of the server does not
need to know which one. ``admitted_clients`` reads which clients may call (mTLS).
"""

import asyncio
import math
import random
from datetime import timedelta
from pathlib import Path

from cryptography.x509 import Certificate

from certs.clients import Clients
from certs.files import file_source
from certs.inject import Hooks
from certs.issue import service_hosts
from certs.pem import read_certificates
from certs.rotate import SelfSource
from certs.secret import SecretStore
from certs.serving import LiveContext
from certs.source import CertificateSource, Notice, SourceEnvironment
from certs.standalone import standalone_source
from certs.state import Lifetimes
from webhook.config.filetext import read_text
from webhook.config.lifetimes import parse_lifetimes
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.server.context import ServerContext
from webhook.server.events import EventRecorder
from webhook.server.health import Conditions, ReadinessCondition
from webhook.telemetry.metrics import Metrics

CA_FILE = "ca.crt"
UNTRUSTED = "the webhook configurations do not trust it yet"


def build_certificate(
    context: ServerContext, live: LiveContext, events: EventRecorder | None
) -> CertificateSource:
    """
    Build the source that the settings choose, with its metrics; ``live`` gets its certificates.

    Args:
        events: Gets the problems; None without a cluster.

    Raises:
        ConfigError: The settings contradict each other.
    """
    metrics, log = context.metrics, context.log

    def report(notice: Notice) -> None:
        result = "success" if notice.ok else "failure"
        metrics.rotations.labels(notice.subject, result).inc()
        (log.info if notice.ok else log.warning)("certificate", message=notice.text)
        if events is not None and not notice.ok:
            events.record("CertificateProblem", notice.text, warning=True)

    environment = SourceEnvironment(
        clock=context.now, sleep=asyncio.sleep, report=report, jitter=random.random
    )
    source = _choose_source(context, live, environment)
    _expose(source, context.settings, metrics)
    return source


def _choose_source(
    context: ServerContext, live: LiveContext, environment: SourceEnvironment
) -> CertificateSource:
    settings, interval = context.settings, context.limits.certificate_poll
    match settings.certificate:
        case "standalone":
            folder = Path(settings.state)
            return standalone_source(folder, settings.address, live, environment, interval=interval)
        case "files":
            if not settings.tls_dir:
                raise ConfigError("is needed with --tls files: name the folder", "--tls-dir")
            trusts = Hooks(context.api, settings.name).trust if context.api else None
            folder = Path(settings.tls_dir)
            return file_source(folder, live, environment, interval=interval, trusts=trusts)
        case _:
            return _own_authority(context, live, environment)


def _own_authority(
    context: ServerContext, live: LiveContext, environment: SourceEnvironment
) -> SelfSource:
    settings, client, namespace = context.settings, context.api, context.namespace
    if client is None:
        problem = "self keeps its authority in a cluster: choose files or standalone"
        raise ConfigError(problem, "--tls")
    if not namespace:
        problem = "is needed outside of a pod; or try it without a cluster, by --standalone"
        raise ConfigError(problem, "--namespace")
    return SelfSource(
        live=live,
        secret=SecretStore(client, namespace, f"{settings.name}-ca"),
        hooks=Hooks(client, settings.name),
        hosts=service_hosts(settings.name, namespace),
        environment=environment,
        lifetimes=lifetimes(settings, context.configuration.ca_overlap),
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
    return Clients(authorities=read_certificates(pem, where=file), names=names)


def authority_file(settings: Settings) -> Path | None:
    """Find the CA file that clients on this machine need; None if there is none."""
    match settings.certificate:
        case "standalone":
            return Path(settings.state) / CA_FILE
        case "files" if (file := Path(settings.tls_dir) / CA_FILE).exists():
            return file
        case _:
            return None


def _expose(source: CertificateSource, settings: Settings, metrics: Metrics) -> None:
    """Let each scrape read the certificate metrics from a source."""
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
        absent = [f"{title} does not exist" for title in status.absent]
        detail = "; ".join(filter(None, (status.problem, *absent)))
    else:
        detail = UNTRUSTED if status.leaf else "there is none yet"
    return {"certificate": ReadinessCondition(status.ready, detail)}


def _expiry(certificate: Certificate | None) -> float:
    return certificate.not_valid_after_utc.timestamp() if certificate else 0.0
