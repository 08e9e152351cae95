"""
The composition root of ``evenspread serve``: the order of start and stop.

The order of start is configuration, health listener, certificate, caches, admission listener. The
health listener starts early because a kubelet must see that a server is alive while it waits for
its cluster. ``build`` builds the parts; only this module reads the wall clock, and passes it on.
"""

import asyncio
import ctypes
import gc
import logging
import os
import ssl
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import TypeAlias

import uvloop

from webhook import __version__
from webhook.cluster.caches import Start
from webhook.cluster.protocol import describe_error
from webhook.config.files import load
from webhook.config.settings import Settings
from webhook.errors import EvenspreadError
from webhook.server.allocator import RecordReader, limit_fragmentation
from webhook.server.apiserver import connect_api_server
from webhook.server.build import Server, build
from webhook.server.certificate import authority_file
from webhook.server.context import ServerContext
from webhook.server.health import Health, Phase, Readiness
from webhook.server.http.drain import StopRequest, drain
from webhook.server.http.limits import Limits
from webhook.server.http.listener import bind, listening
from webhook.server.http.parser import require_c_parser
from webhook.server.loop import Loop
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import Log, LogFormat, Throttle, forward_library_logs, make_log


@dataclass(frozen=True, slots=True)
class ServerAddresses:
    """
    Where a running server is reached, and with which certificates.

    Attributes:
        url: Scheme, host and port of the admission listener.
        ca: The CA file that clients on this machine need; None if there is none.
        health: Scheme, host and port of the health listener.
        client_ca: The file of the CA that client certificates must come from; empty if clients
            need none.
    """

    url: str
    ca: Path | None
    health: str
    client_ca: str = ""


Console: TypeAlias = Callable[[str], object]
Greet: TypeAlias = Callable[[ServerAddresses], object]
Sockets: TypeAlias = list[socket]

_now = partial(datetime.now, UTC)


def format_greeting(at: ServerAddresses) -> list[str]:
    """Write the addresses of a server, and a command that calls it."""
    lines = [f"evenspread {__version__} serves on {at.url}, its health on {at.health}"]
    if at.ca is not None:
        whose = f", with a certificate of {at.client_ca}" if at.client_ca else ""
        certificate = " --cert client.crt --key client.key" if at.client_ca else ""
        flags = f"--cacert {at.ca}{certificate} -H 'Content-Type: application/json'"
        lines.append(f"try it{whose}: curl {flags} --data-binary @review.json {at.url}/mutate")
    return lines


def run(
    settings: Settings,
    console: Console,
    greet: Greet | None = None,
    *,
    limits: Limits | None = None,
    now: Callable[[], datetime] = _now,
) -> None:
    """
    Serve until SIGTERM or SIGINT.

    Args:
        console: Prints lines for the user who started the server.
        greet: Called once, in a thread of its own, when the server is ready.
        limits: None for the limits of the documentation.
        now: The wall clock: aware, UTC.

    Raises:
        ConfigError: Settings or files are invalid, or a listener cannot bind its address.
        ApiError: There are no usable credentials for the cluster.
        CertError: There is no certificate to serve.
        ParserError: aiohttp is installed without its C parser.
    """
    ssl.SSLContext.sslobject_class = RecordReader
    limit_fragmentation(ctypes.CDLL(None))
    uvloop.run(serve(settings, console, greet, limits=limits, now=now), loop_factory=Loop)


async def serve(  # noqa: PLR0913  # what tests replace: limits, signals and the clock
    settings: Settings,
    console: Console,
    greet: Greet | None = None,
    *,
    limits: Limits | None = None,
    stop: StopRequest | None = None,
    now: Callable[[], datetime] = _now,
) -> None:
    """Do what ``run`` does, inside a running event loop; ``now`` is the wall clock: aware, UTC."""
    require_c_parser()
    limits, stop = limits or Limits(), stop or StopRequest(os._exit)
    with (
        _logging(settings, limits, now) as (log, verdict_log, lines),
        _bound(settings) as (callers, probes),
    ):
        stop.listen()
        async with connect_api_server(settings) as api:
            configuration = load(
                settings.config, settings.scheduler_config, least_overlap=settings.least_overlap
            )
            context = ServerContext(
                settings=settings,
                configuration=configuration,
                limits=limits,
                api=api,
                log=log,
                verdict_log=verdict_log,
                now=now,
            )
            context.metrics.count_lost_lines(lambda: lines.lost)
            context.metrics.tasks.set_function(lambda: len(asyncio.all_tasks()))
            readiness = Readiness()
            async with listening(Health(readiness.check, context.metrics, limits), probes):
                building = await _unless_stopped(stop, build(context, readiness))
                if building is not None and building.exception() is None:
                    server, at = building.result(), _addresses(settings, callers[0], probes[0])
                    greeting = partial(_greet, server, at, console, greet)
                    await _serve_until_stopped(server, readiness, stop, greeting, callers)
            if building is not None:
                building.result()  # raise the error of the start, now that no listener is open
        log.info("stopped")


async def _unless_stopped(
    stop: StopRequest, building: Coroutine[object, object, Server]
) -> asyncio.Task[Server] | None:
    """Wait until a server is built or its build has failed; None if a signal comes first."""
    task, stopped = asyncio.create_task(building), asyncio.create_task(stop.requested.wait())
    await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
    done = task.done()
    for waiting in (task, stopped):
        waiting.cancel()
    await asyncio.wait((task, stopped))
    return task if done else None


async def _serve_until_stopped(
    server: Server, readiness: Readiness, stop: StopRequest, greeting: Start, callers: Sockets
) -> None:
    """Answer reviews and run all background tasks until a signal, and drain if it allows that."""
    admission = server.admission
    readiness.phase = Phase.SERVING
    async with _running(server, greeting), listening(admission, callers):
        await stop.requested.wait()
        server.context.log.info("stopping", patient=stop.patient)
        readiness.phase = Phase.STOPPING
        admission.draining = True
        if stop.patient:
            await drain(lambda: admission.last_call, admission.clock, admission.limits)


@asynccontextmanager
async def _running(server: Server, greeting: Start) -> AsyncGenerator[None]:
    """Run all background tasks as long as the context lasts."""
    supervise = server.supervisor.run
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(supervise(name, start), name=f"supervisor of {name}")
            for name, start in (*server.background(), ("greeting", greeting))
        ]
        yield
        for task in tasks:
            task.cancel()


async def _greet(
    server: Server, at: ServerAddresses, console: Console, greet: Greet | None
) -> None:
    """Print the addresses and greet, once all facts are there; a closed terminal is no error."""
    await server.facts.complete()
    gc.freeze()  # objects of the start live as long as the process: never collect them again
    with suppress(OSError):
        for line in format_greeting(at):
            console(line)
    if greet is None:
        return
    try:
        await asyncio.to_thread(greet, at)
    except (EvenspreadError, OSError) as error:
        server.context.log.warning("greeting", message=describe_error(error))


@contextmanager
def _bound(settings: Settings) -> Generator[tuple[Sockets, Sockets]]:
    """Bind both ports, and close them at the end."""
    with ExitStack() as bound:
        callers = [bound.enter_context(s) for s in bind(settings.address, settings.port)]
        probes = bind(settings.address, settings.health_port)
        yield callers, [bound.enter_context(s) for s in probes]


@contextmanager
def _logging(
    settings: Settings, limits: Limits, now: Callable[[], datetime]
) -> Generator[tuple[Log, VerdictLog, LineWriter]]:
    loop = asyncio.get_running_loop()
    lines = LineWriter(sys.stderr.buffer, loop.call_soon, loop.call_later)
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    log_format = LogFormat(settings.log_format)
    log = make_log(log_format, lines, now, level)
    throttle = Throttle(limits.reviews_logged, time.monotonic)
    try:
        with forward_library_logs(log):
            yield log, VerdictLog(log_format, lines, now, throttle, level), lines
    finally:
        lines.finish(time.monotonic)


def _addresses(settings: Settings, callers: socket, probes: socket) -> ServerAddresses:
    url, health = f"https://{_authority(callers)}", f"http://{_authority(probes)}"
    return ServerAddresses(url, authority_file(settings), health, settings.client_ca)


def _authority(listener: socket) -> str:
    """Host and port as in the URL of a local client. Source: RFC 3986 3.2 "authority"."""
    host, port = listener.getsockname()[:2]
    host = "localhost" if ip_address(host).is_unspecified else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
