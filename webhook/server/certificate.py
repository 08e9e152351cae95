"""
Which certificate the server serves, of the three ways that ``certs`` knows, and how it is shown.

The settings decide. All three look the same from here on. They also decide who may call (mTLS).
"""

import math
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography.x509 import Certificate

from certs.api import ObjectClient
from certs.clients import Clients
from certs.files import file_source
from certs.inject import Hooks
from certs.issue import service_hosts
from certs.polling import nobody_asked
from certs.probe import listener_probe
from certs.rotate import SelfSource
from certs.secret import SecretStore
from certs.serving import LiveContext
from certs.situation import Lifetimes
from certs.source import CertificateSource, Outside
from certs.standalone import standalone_source
from webhook.config.files import read_text
from webhook.config.lifetimes import parse_lives
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.server.health import Conditions, ReadinessCondition
from webhook.telemetry.metrics import Metrics

CA_FILE = "ca.crt"
UNTRUSTED = "the webhook configurations do not trust it yet"
ABSENT = "{} does not exist"


class CertificateContext(NamedTuple):
    """
    What a certificate is made for.

    Attributes:
        client: Of the cluster; None: there is none.
        namespace: Of the CA's Secret; empty if nobody said.
        overlap: How long an old CA stays trusted beside a new one.
        listener: Host and port where this machine reaches the admission listener.
        poll: Seconds between two looks at a folder.
    """

    client: ObjectClient | None
    namespace: str
    overlap: timedelta
    listener: tuple[str, int]
    poll: float


def certificate_source(
    settings: Settings, live: LiveContext, outside: Outside, around: CertificateContext
) -> CertificateSource:
    """
    Make the source that the settings ask for.

    Args:
        live: Where it puts certificates.

    Raises:
        ConfigError: The settings do not fit together.
    """
    client, namespace = around.client, around.namespace
    match settings.certificate:
        case "standalone":
            folder = Path(settings.state)
            return standalone_source(folder, settings.address, live, outside, interval=around.poll)
        case "files":
            if not settings.tls_dir:
                raise ConfigError("is needed with --tls files: name the folder", "--tls-dir")
            trusts = Hooks(client, settings.name).trust if client else nobody_asked
            folder = Path(settings.tls_dir)
            return file_source(folder, live, outside, interval=around.poll, trusts=trusts)
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
                outside=outside,
                lifetimes=lifetimes(settings, around.overlap),
                probe=listener_probe(*around.listener),
            )


def lifetimes(settings: Settings, overlap: timedelta) -> Lifetimes:
    """
    Tell how long certificates of our own authority live.

    Raises:
        ConfigError: Lives and overlap do not go together.
    """
    asked = Lifetimes(overlap=overlap, **parse_lives(settings.test_lifetimes))
    if asked.problem:
        where = "--test-lifetimes" if settings.test_lifetimes else "caOverlap"
        raise ConfigError(asked.problem, where)
    return asked


def admitted_clients(settings: Settings) -> Clients | None:
    """
    Read who may call; None: whoever can connect. A new file counts from the next start on.

    Raises:
        ConfigError: The settings do not fit together, or the file cannot be read.
        PairError: It holds no certificate.
    """
    file, written = settings.client_ca, settings.client_names
    names = frozenset(each.strip() for each in written.split(",")) - {""}
    if written and not file:
        problem = "no certificate is asked for without --client-ca: name the file of the CA"
        raise ConfigError(problem, "--client-names")
    if written and not names:  # they would stand for any name
        raise ConfigError("names nobody: write a name, or leave it out", "--client-names")
    if not file:
        return None
    try:
        pem = read_text(file).encode()
    except ConfigError as error:
        raise ConfigError(error.problem, "--client-ca") from error
    return Clients.parse(pem, names, where=file)


def authority_file(settings: Settings) -> Path | None:
    """Give the file that clients on this machine have to trust; None if there is none."""
    match settings.certificate:
        case "standalone":
            return Path(settings.state) / CA_FILE
        case "files":
            file = Path(settings.tls_dir) / CA_FILE
            return file if file.exists() else None
        case "self":
            return None


def show(source: CertificateSource, settings: Settings, metrics: Metrics) -> None:
    """Let the metrics be read from a source."""
    leaf, authority = (metrics.expiry.labels(each, settings.certificate) for each in ("leaf", "ca"))
    leaf.set_function(lambda: _expiry(source.status.leaf))
    authority.set_function(lambda: _expiry(next(iter(source.status.authorities[-1:]), None)))
    metrics.in_sync.set_function(
        lambda: math.nan if source.status.in_sync is None else float(source.status.in_sync)
    )


def check(source: CertificateSource) -> Conditions:
    """Tell how a source stands."""
    status = source.status
    if status.ready or status.problem:
        detail = "; ".join(filter(None, (status.problem, *map(ABSENT.format, status.absent))))
    else:
        detail = UNTRUSTED if status.leaf else "there is none yet"
    return {"certificate": ReadinessCondition(status.ready, detail)}


def _expiry(certificate: Certificate | None) -> float:
    return certificate.not_valid_after_utc.timestamp() if certificate else 0.0
