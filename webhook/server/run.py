"""
The composition root of ``evenspread serve``: one order to start, one order to stop.

Configuration, certificate, caches, listener; the server is ready last. Only the health listener is
there before: a kubelet must see that a server that waits for its cluster is alive. How the parts
are made is in ``assembly``; the wall clock is read here and handed on.
"""

import asyncio
import gc
import logging
import os
import sys
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
)
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import NamedTuple, TypeAlias

import uvloop

from webhook import __version__
from webhook.cluster.caches import Start
from webhook.cluster.protocol import describe_error
from webhook.config.settings import Settings
from webhook.errors import EvenspreadError
from webhook.server.apiserver import connect_api_server
from webhook.server.build import Server, ServerContext
from webhook.server.certificate import authority_file
from webhook.server.health import Phase
from webhook.server.http.drain import StopRequest, drain
from webhook.server.http.endpoint import bind, listening, require_c_parser
from webhook.server.http.limits import Limits
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import Log, LogFormat, forward_library_logs, make_log


class ServerAddresses(NamedTuple):
    """
    A server that serves.

    Attributes:
        url: Scheme, host and port of the admission listener.
        ca: The file that clients on this machine have to trust; None if there is none.
        health: Scheme, host and port of the health listener.
        client_ca: The file of whose CA callers have to show a certificate; empty: anybody may call.
    """

    url: str
    ca: Path | None
    health: str
    client_ca: str = ""


Console: TypeAlias = Callable[[str], object]
Greet: TypeAlias = Callable[[ServerAddresses], object]
Sockets: TypeAlias = list[socket]


def format_greeting(ready: ServerAddresses) -> list[str]:
    """Say where a server is, and how to try it."""
    lines = [f"evenspread {__version__} serves on {ready.url}, its health on {ready.health}"]
    if ready.ca is not None:
        whose = f", with a certificate of {ready.client_ca}" if ready.client_ca else ""
        shown = " --cert client.crt --key client.key" if ready.client_ca else ""
        flags = f"--cacert {ready.ca}{shown} -H 'Content-Type: application/json'"
        lines.append(f"try it{whose}: curl {flags} --data-binary @review.json {ready.url}/mutate")
    return lines


def run(settings: Settings, console: Console, greet: Greet | None = None) -> None:
    """
    Serve until a signal comes.

    Args:
        settings: What to serve.
        console: Takes lines for the person who started it.
        greet: Called once, in a thread of its own, when the server is ready.

    Raises:
        ConfigError: Settings or files are wrong, or an address cannot be listened on.
        ApiError: There are no usable credentials for the cluster.
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
    stop: StopRequest | None = None,
) -> None:
    """Do what ``run`` does, in an event loop that runs."""
    require_c_parser()
    limits, stop = limits or Limits(), stop or StopRequest(os._exit)
    with _logging(settings) as (log, verdicts, lines), _bound(settings) as (callers, probes):
        stop.listen()
        listener = _reached(callers[0])
        async with connect_api_server(settings) as api:
            world = ServerContext(settings, limits, api, log, verdicts, _now, listener)
            server = Server(world)
            server.metrics.count_lost_lines(lambda: lines.lost)
            async with listening(server.health, probes):
                made = await _unless(stop, server.make())
                if made is not None and made.exception() is None:
                    server.readiness.phase = Phase.SERVING
                    ready = ServerAddresses(
                        f"https://{_place(callers[0])}",
                        authority_file(settings),
                        f"http://{_place(probes[0])}",
                        settings.client_ca,
                    )
                    greeting = partial(_greet, ready, console, greet, log)
                    async with (
                        _running(server, greeting),
                        listening(server.admission, callers),
                    ):
                        await _until_left(server, stop, log)
            if made is not None:
                made.result()  # a fault of the start is raised, now that nobody listens any more
        log.info("stopped")


async def _unless(
    stop: StopRequest, making: Coroutine[object, object, None]
) -> asyncio.Task[None] | None:
    """Wait until something is made or has failed; None if a signal came first."""
    task, stopped = asyncio.create_task(making), asyncio.create_task(stop.wait())
    await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
    done = task.done()
    for each in (task, stopped):
        each.cancel()
    await asyncio.wait((task, stopped))
    return task if done else None


@asynccontextmanager
async def _running(server: Server, greet: Callable[[], Awaitable[None]]) -> AsyncGenerator[None]:
    """Run all background tasks as long as the context lasts."""
    works: list[tuple[str, Start]] = [
        *server.background(),
        ("greeting", partial(_welcome, server, greet)),
    ]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(server.supervisor.run(name, start), name=f"supervisor of {name}")
            for name, start in works
        ]
        yield
        for task in tasks:
            task.cancel()


async def _until_left(server: Server, stop: StopRequest, log: Log) -> None:
    """Wait for a signal, then until the API servers have left, if they are waited for."""
    await stop.wait()
    log.info("stopping", patient=stop.patient)
    server.readiness.phase = Phase.STOPPING
    admission = server.admission
    admission.draining = True
    if stop.patient:
        await drain(lambda: admission.last_call, admission.clock, admission.limits)


async def _welcome(server: Server, greet: Callable[[], Awaitable[None]]) -> None:
    """Greet whoever started it, once it knows all there is to know."""
    await server.knowledge.complete()
    gc.freeze()  # what is there by now stays, and need not be looked at again
    await greet()


async def _greet(ready: ServerAddresses, console: Console, greet: Greet | None, log: Log) -> None:
    """Print where the server is, and greet once; the reader of either may have gone."""
    with suppress(OSError):
        for line in format_greeting(ready):
            console(line)
    if greet is None:
        return
    try:
        await asyncio.to_thread(greet, ready)
    except (EvenspreadError, OSError) as error:
        log.warning("greeting", says=describe_error(error))


@contextmanager
def _bound(settings: Settings) -> Generator[tuple[Sockets, Sockets]]:
    """Take both ports, and give them back."""
    with ExitStack() as taken:
        callers = [taken.enter_context(each) for each in bind(settings.address, settings.port)]
        probes = bind(settings.address, settings.health_port)
        yield callers, [taken.enter_context(each) for each in probes]


@contextmanager
def _logging(settings: Settings) -> Generator[tuple[Log, VerdictLog, LineWriter]]:
    loop = asyncio.get_running_loop()
    lines = LineWriter(sys.stderr.buffer, loop.call_soon, loop.call_later)
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    how = LogFormat(settings.log_format)
    log = make_log(how, lines, _now, level)
    try:
        with forward_library_logs(log):
            yield log, VerdictLog(how, lines, _now, level), lines
    finally:
        lines.finish(time.monotonic)


def _now() -> datetime:
    return datetime.now(UTC)


def _reached(listener: socket) -> tuple[str, int]:
    """The host and port that a client on this machine connects to."""
    host, port = listener.getsockname()[:2]
    return ("localhost" if ip_address(host).is_unspecified else host), port


def _place(listener: socket) -> str:
    """Host and port as they stand in a URL."""
    host, port = _reached(listener)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
