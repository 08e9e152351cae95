"""
HTTP/1.1 as both listeners speak it: aiohttp's server, bounded, and without its habit of telling.

Connections are counted from the moment they are accepted, before TLS costs anything. No reply
names a version, repeats what was sent, or shows a traceback.
"""

import asyncio
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from aiohttp import http_parser, web
from aiohttp.abc import AbstractAccessLogger

from webhook.errors import ConfigError, EvenspreadError
from webhook.server.http.connections import Connections
from webhook.server.http.limits import Limits
from webhook.server.http.responses import text_reply

BACKLOG = 1024  # connections that the kernel keeps until we accept them; a restart brings many

SENTENCES = {400: "the request is broken HTTP", 504: "there was no answer in time"}
"""What aiohttp's own errors are answered with; they quote the request, so none of their text."""


class ParserError(EvenspreadError):
    """The machine's: aiohttp's C parser is missing, whose twin in Python is slow and was lax."""

    def __str__(self) -> str:
        """Say what to do."""
        return "aiohttp has no C parser: install its wheel, and unset AIOHTTP_NO_EXTENSIONS"


def require_c_parser() -> None:
    """
    Make sure that requests are parsed by llhttp.

    Raises:
        ParserError: They would be parsed by the code of PYSEC-2026-4371.
    """
    if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
        raise ParserError


class NoAccessLog(AbstractAccessLogger):
    """No line a request: it would cost as much as judging."""

    @property
    def enabled(self) -> bool:
        """Say no, so that aiohttp does not even look at the clock."""
        return False

    def log(
        self, request: web.BaseRequest, response: web.StreamResponse, time: float
    ) -> None:  # pragma: no cover  # not enabled
        """Write nothing."""


class HttpConnection(web.RequestHandler):
    """One connection, whose errors are told to the endpoint instead of to a log."""

    __slots__ = ("_endpoint",)

    def __init__(self, endpoint: "HttpEndpoint", limits: Limits) -> None:
        """Give aiohttp our bounds."""
        super().__init__(
            endpoint,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.keep_alive,
            access_log_class=NoAccessLog,
            lingering_time=limits.discarded,
            read_bufsize=limits.read_buffer,
            auto_decompress=False,  # what is compressed is refused
        )
        self._endpoint = endpoint

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that aiohttp could not parse, or whose handler failed."""
        del request, message  # it quotes the request
        self._endpoint.failed(status, exc)
        response = text_reply(status, SENTENCES.get(status, "a fault in the server"))
        response.force_close()
        return response


class HttpEndpoint(web.Server, ABC):
    """
    A server of a bounded number of connections.

    Attributes:
        limits: Its bounds.
        callers: Connections that are open, or in the middle of their TLS handshake.
        draining: Whether each reply is to be the last one of its connection.
        clock: Seconds that never go back.
    """

    def __init__(self, limits: Limits, most: int, tls: ssl.SSLContext | None = None) -> None:
        """
        Start without a connection.

        Args:
            most: How many connections may be open.
            tls: None speaks plain HTTP.
        """
        super().__init__(self.answer)
        self.limits = limits
        self.callers: Connections[web.RequestHandler] = Connections(most, limits.idle, self._cut)
        self.draining = False
        self._tls = tls
        self.clock = time.monotonic  # the loop's own stands still while a request is answered
        self._handshakes: dict[web.RequestHandler, asyncio.Task[None]] = {}
        self._stalled: set[web.RequestHandler] = set()

    @abstractmethod
    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; it raises nothing but ``CancelledError``."""

    @abstractmethod
    def refused(self, reason: str) -> None:
        """Take note of a connection that was refused, cut, or failed its handshake."""

    @abstractmethod
    def failed(self, status: int, error: BaseException | None) -> None:
        """Take note of a request that ``answer`` did not get, or did not answer."""

    def take(self, accepted: socket.socket) -> None:
        """Serve a connection that was accepted, or close it, if it is one too many."""
        exchange = HttpConnection(self, self.limits)
        if not self.callers.admit(exchange, self.clock()):
            accepted.close()
            self.refused("connections")
            return
        task = asyncio.create_task(self._shake_hands(exchange, accepted))
        self._handshakes[exchange] = task
        task.add_done_callback(lambda _: self._handshakes.pop(exchange, None))

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Forget a connection."""
        super().connection_lost(handler, exc)
        self.callers.forget(handler)

    def cut_stalled(self) -> None:
        """Cut connections that read no replies, neither now nor when this was called before."""
        stalled = {each for each in self.connections if each.writing_paused}
        for each in stalled & self._stalled:
            self.refused("stalled-reply")
            _abort(each)
        self._stalled = stalled

    async def finish(self) -> None:
        """Finish handshakes and what is in flight; close all connections."""
        self.draining = True
        if self._handshakes:
            await asyncio.wait(self._handshakes.values())  # each has its own deadline
        self.pre_shutdown()
        await self.shutdown(self.limits.finish)

    async def _shake_hands(self, exchange: HttpConnection, accepted: socket.socket) -> None:
        secure = self._tls is not None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: exchange,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=self.limits.handshake if secure else None,
                ssl_shutdown_timeout=self.limits.goodbye if secure else None,
            )
        except (OSError, asyncio.CancelledError) as error:
            self.callers.forget(exchange)
            accepted.close()
            if isinstance(error, OSError):
                self.refused("handshake")

    def _cut(self, exchange: web.RequestHandler) -> None:
        self.refused("evicted")
        if handshake := self._handshakes.get(exchange):
            handshake.cancel()
        _abort(exchange)


def _abort(exchange: web.RequestHandler) -> None:
    if exchange.transport is not None:
        exchange.transport.abort()


@asynccontextmanager
async def listening(
    endpoint: HttpEndpoint, sockets: Sequence[socket.socket]
) -> AsyncGenerator[None]:
    """
    Accept connections as long as the context lasts; then close the sockets and finish.

    Args:
        sockets: Bound, listening and not blocking; closed at the end.
    """
    async with asyncio.TaskGroup() as group:
        accepting = [group.create_task(_accept(each, endpoint)) for each in sockets]
        try:
            yield
        finally:
            for task in accepting:
                task.cancel()
            await asyncio.wait(accepting)
            for each in sockets:
                each.close()
            await endpoint.finish()


async def _accept(listener: socket.socket, endpoint: HttpEndpoint) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            accepted, _ = await loop.sock_accept(listener)
        except ConnectionError:  # gone before it was accepted
            continue
        except OSError:  # no file descriptor left
            await asyncio.sleep(endpoint.limits.accept_again)
            continue
        endpoint.take(accepted)


def bind(host: str, port: int) -> list[socket.socket]:
    """
    Make the sockets that a server listens on; ``::`` takes IPv4 as well.

    Args:
        host: An address, or a name, whose addresses are all listened on.
        port: 0 takes any that is free, the same for all addresses.

    Raises:
        ConfigError: There is no such address here, or the port is taken.
    """
    sockets: list[socket.socket] = []
    try:
        for family, address in _addresses(host, port):
            port = sockets[0].getsockname()[1] if sockets else port
            dual = family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
            made = socket.create_server(
                (address, port), family=family, backlog=BACKLOG, dualstack_ipv6=dual
            )
            made.setblocking(False)  # noqa: FBT003  # the standard library's signature
            sockets.append(made)
    except OSError as error:
        for each in sockets:
            each.close()
        reason = (error.strerror or str(error)).partition(" (")[0]
        problem = f"cannot listen on {host} port {port}: {reason}"
        raise ConfigError(f"{problem}: {_INSTEAD}") from None
    return sockets


_INSTEAD = "choose a free one with --port, --health-port or --bind"


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))
