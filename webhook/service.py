"""
The composition root of ``evenspread serve``: one order to start, one order to stop.

Configuration, certificate, facts, listeners; then the server is ready. It owns the clocks. For now
it serves without a cluster only, ``--standalone``.
"""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import NamedTuple, TypeAlias

import uvloop
from cryptography.x509 import Certificate

from certs.serving import LiveContext
from certs.source import CertificateSource, Notice, Outside
from certs.standalone import standalone_source
from webhook import __version__
from webhook.cluster.lookup import Cluster
from webhook.cluster.manifests import load_cluster
from webhook.config import Configuration, advise
from webhook.config.settings import Settings
from webhook.drain import Stop, drain
from webhook.endpoint import bind, listening, require_c_parser
from webhook.errors import ConfigError, EvenspreadError
from webhook.health import Condition, Health
from webhook.limits import Limits
from webhook.logs import Format, Lines, Log, libraries_heard, make_log
from webhook.metrics import Metrics
from webhook.policy.profiles import Policy
from webhook.policy.versions import NEWEST, parse_version
from webhook.reload import Asked, Follower, read_policy
from webhook.server import Admission, Grounds, Observers
from webhook.verdictlog import VerdictLog

IPV6 = 6

STARTING, SERVING, STOPPING = "starting", "serving", "stopping"

STANDALONE = "standalone"  # where the certificate comes from, a label of its metrics


class Ready(NamedTuple):
    """
    A server that serves.

    Attributes:
        url: Scheme, host and port of the admission listener.
        ca: The file that its clients have to trust.
        health: Scheme, host and port of the health listener.
    """

    url: str
    ca: Path
    health: str


Console: TypeAlias = Callable[[str], object]
Greet: TypeAlias = Callable[[Ready], object]


def welcome(ready: Ready) -> list[str]:
    """Say where a server is, and how to try it."""
    trust = f"--cacert {ready.ca} -H 'Content-Type: application/json'"
    return [
        f"evenspread {__version__} serves on {ready.url}, its health on {ready.health}",
        f"try it: curl {trust} --data-binary @review.json {ready.url}/mutate",
    ]


def run(settings: Settings, console: Console, greet: Greet | None = None) -> None:
    """
    Serve until a signal comes.

    Args:
        settings: What to serve.
        console: Takes lines for the person who started it.
        greet: Called once, in a thread of its own, when the server is ready.

    Raises:
        ConfigError: Settings or files are wrong, or an address cannot be listened on.
        CertError: There is no certificate to serve.
        ParserError: aiohttp is installed without its C parser.
    """
    uvloop.run(serve(settings, console, greet))


async def serve(
    settings: Settings,
    console: Console,
    greet: Greet | None = None,
    *,
    limits: Limits | None = None,
    stop: Stop | None = None,
) -> None:
    """Do what ``run`` does, in an event loop that runs."""
    require_c_parser()
    if not settings.standalone:
        raise ConfigError("is needed: serving for a cluster is not built yet", "--standalone")
    limits, stop = limits or Limits(), stop or Stop(os._exit)
    with _logging(settings) as (log, verdicts):
        parts = await _build(settings, limits, log, verdicts)
        stop.listen()
        with _bound(settings) as (callers, probes):
            ready = Ready(
                f"https://{_place(callers[0])}",
                Path(settings.state) / "ca.crt",
                f"http://{_place(probes[0])}",
            )
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(each()) for each in parts.background]
                async with listening(parts.health, probes), listening(parts.admission, callers):
                    parts.phase.name = SERVING
                    tasks.append(group.create_task(_welcome(ready, console, greet, log)))
                    gc.freeze()  # what is there by now stays, and need not be looked at again
                    await _until_left(parts, stop, log)
                for task in tasks:
                    task.cancel()
        log.info("stopped")


async def _until_left(parts: "_Parts", stop: Stop, log: Log) -> None:
    """Wait for a signal, then until the API servers have left, if they are waited for."""
    await stop.wait()
    log.info("stopping", patient=stop.patient)
    parts.phase.name = STOPPING
    admission = parts.admission
    admission.draining = True
    if stop.patient:
        await drain(lambda: admission.last_call, admission.clock, admission.limits)


class _Phase:
    """How far the life of the server has come."""

    def __init__(self) -> None:
        self.name = STARTING

    def check(self) -> Condition:
        return Condition(self.name == SERVING, self.name)


class _Parts(NamedTuple):
    """Everything that was built; ``background`` runs as long as it serves."""

    admission: Admission
    health: Health
    phase: _Phase
    background: tuple[Callable[[], Coroutine[None, None, None]], ...]


async def _build(settings: Settings, limits: Limits, log: Log, verdicts: VerdictLog) -> _Parts:
    """Build everything in the order in which it has to be there."""
    metrics, phase, live = Metrics(), _Phase(), LiveContext()
    asked = _asked(settings)
    configuration, policy = read_policy(asked)
    certificate = _certificate(settings, live, metrics, log)
    await certificate.start()
    facts = _facts(settings, configuration, metrics, log)
    admission = Admission(
        Grounds(policy, facts), limits, Observers(metrics, log, verdicts), live.context
    )

    def enforce(policy: Policy) -> None:
        admission.grounds = admission.grounds._replace(policy=policy)
        metrics.in_force(__version__, policy)
        for sentence in advise(policy, facts):
            log.warning("advice", says=sentence)

    enforce(policy)
    for sentence in configuration.notices:
        log.warning("configuration", says=sentence)
    follower = Follower(asked, configuration, enforce, metrics, log)
    checks = {
        "configuration": lambda: _in_force(follower),
        "certificate": lambda: _served(certificate),
        "facts": lambda: Condition(ok=True, detail=f"{_count(facts)} objects from files"),
        "server": phase.check,
    }
    return _Parts(
        admission,
        Health(checks, metrics, limits),
        phase,
        (certificate.run, follower.run, partial(_cut_stalled, admission)),
    )


@contextmanager
def _bound(settings: Settings) -> Generator[tuple[list[socket], list[socket]]]:
    """Take both ports, and give them back."""
    with ExitStack() as taken:
        callers = [taken.enter_context(each) for each in bind(settings.address, settings.port)]
        probes = bind(settings.address, settings.health_port)
        yield callers, [taken.enter_context(each) for each in probes]


@contextmanager
def _logging(settings: Settings) -> Generator[tuple[Log, VerdictLog]]:
    lines = Lines(sys.stderr.buffer, asyncio.get_running_loop().call_soon)
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    how = Format(settings.log_format)
    log = make_log(how, lines, _now, level)
    try:
        with libraries_heard(log):
            yield log, VerdictLog(how, lines, _now, level)
    finally:
        lines.write()


def _now() -> datetime:
    return datetime.now(UTC)


def _asked(settings: Settings) -> Asked:
    version = parse_version(settings.kube_version) if settings.kube_version else NEWEST
    return Asked(
        settings.config,
        settings.scheduler_config,
        settings.feature_gates,
        version,
        settings.allow_locked_gates,
    )


def _certificate(
    settings: Settings, live: LiveContext, metrics: Metrics, log: Log
) -> CertificateSource:
    def report(notice: Notice) -> None:
        result = "success" if notice.ok else "failure"
        metrics.rotations.labels(notice.subject, result).inc()
        (log.info if notice.ok else log.warning)("certificate", says=notice.text)

    outside = Outside(clock=_now, sleep=asyncio.sleep, report=report)
    source = standalone_source(Path(settings.state), settings.address, live, outside)
    leaf, authority = (metrics.expiry.labels(each, STANDALONE) for each in ("leaf", "ca"))
    leaf.set_function(lambda: _expiry(source.status.leaf))
    authority.set_function(lambda: _expiry(next(iter(source.status.authorities[-1:]), None)))
    return source


def _expiry(certificate: Certificate | None) -> float:
    return certificate.not_valid_after_utc.timestamp() if certificate else 0.0


def _served(certificate: CertificateSource) -> Condition:
    status = certificate.status
    return Condition(status.ready, status.problem)


def _in_force(follower: Follower) -> Condition:
    """A newer version that is wrong is told, but the one in force goes on."""
    return Condition(
        ok=True, detail="" if follower.valid else "the files were changed, and are wrong"
    )


def _facts(settings: Settings, configuration: Configuration, metrics: Metrics, log: Log) -> Cluster:
    """
    Read the cluster from files.

    A document that cannot be read is told in the log; the others still count.
    """
    if settings.cluster and not Path(settings.cluster).exists():
        raise ConfigError(f"there is no file or folder {settings.cluster!r}", "--cluster")
    paths = [settings.cluster] if settings.cluster else []
    loaded = load_cluster(paths, owners=configuration.owner_selectors)
    for problem in loaded.problems:
        log.warning("unreadable", says=str(problem))
    for kind, size in _sizes(loaded.cluster):
        metrics.cache_objects.labels(kind).set(size)
    return loaded.cluster


def _sizes(cluster: Cluster) -> Iterator[tuple[str, int]]:
    yield "Service", len(cluster.service_store)
    yield "Namespace", len(cluster.namespace_store)
    yield "Node", len(cluster.node_store)
    for (_, kind), store in cluster.owner_stores.items():
        yield kind, len(store)
    for custom, store in cluster.custom_stores.items():
        yield str(custom), len(store)


def _count(cluster: Cluster) -> int:
    return sum(size for _, size in _sizes(cluster))


async def _cut_stalled(admission: Admission) -> None:
    while True:
        await asyncio.sleep(admission.limits.stalled_reply)
        admission.cut_stalled()


async def _welcome(ready: Ready, console: Console, greet: Greet | None, log: Log) -> None:
    for line in welcome(ready):
        console(line)
    if greet is None:
        return
    try:
        await asyncio.to_thread(greet, ready)
    except EvenspreadError as error:
        log.warning("greeting", says=str(error))


def _place(listener: socket) -> str:
    """The host and port that a client on this machine connects to."""
    host, port = listener.getsockname()[:2]
    address = ip_address(host)
    if address.is_unspecified:
        return f"localhost:{port}"
    return f"[{host}]:{port}" if address.version == IPV6 else f"{host}:{port}"
