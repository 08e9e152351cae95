"""
HTTP/1.1 server for both listeners: aiohttp with limits on connections, sizes and times.

``HttpEndpoint`` is the base class, and ``listener`` runs one. Connections are counted when they are
accepted, before their TLS handshake takes CPU. No reply may name a version, echo the request or
show a traceback.

A request that is whole when it is read, and whose answer needs nothing but the processor, is
answered at once. aiohttp answers each request in a task of its own, which another task starts and
awaits: that takes as long as decoding a review of 9 KB.
"""

import asyncio
import math
import socket
import ssl
import time
from abc import ABC, abstractmethod
from typing import Any

from aiohttp import StreamReader, hdrs, http_parser, web

from webhook.server.http.body import is_whole
from webhook.server.http.connections import Activity, Connections
from webhook.server.http.limits import Limits
from webhook.server.http.overload import Overload
from webhook.server.http.parser import stays_open
from webhook.server.http.responses import BUSY, text_reply

SENTENCES = {400: "the request is broken HTTP", 504: "there was no answer in time"}
"""Replies to aiohttp's own errors by status; aiohttp's texts are unused: they quote the request."""


class HttpConnection(web.RequestHandler):
    """
    One connection, which reports errors to its endpoint instead of a log.

    Attributes:
        peer: The address of the client.
        received: When the last answer was sent, or the turn of the event loop began that read the
            last bytes, whichever was recorded last; by the endpoint's clock.
        admitted: Whether a request that has not had its turn is admitted under overload.
    """

    __slots__ = (
        "_body", "_ended", "_endpoint", "_keeps_data", "_overload", "_short", "admitted", "peer",
        "received",
    )  # fmt: skip

    def __init__(self, endpoint: "HttpEndpoint", limits: Limits, peer: str) -> None:
        """Pass our limits to aiohttp."""
        super().__init__(
            endpoint,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.keep_alive,
            access_log=None,  # type: ignore[arg-type]  # aiohttp accepts None
            lingering_time=limits.discarded,
            read_bufsize=limits.read_buffer,
            auto_decompress=False,  # compressed bodies are refused
        )
        self._endpoint = endpoint
        self._short = min(limits.body, limits.long_review)  # bytes of a body
        self._overload = endpoint.overload
        self.peer = peer
        self.received = 0.0
        self.admitted = False
        self._body: StreamReader | None = None  # of the last request that was answered
        self._ended = 0  # requests; aiohttp counts those that it has parsed
        # Whether the parser may keep bytes: of pipelined requests, or after a body in many chunks.
        self._keeps_data = False

    @property
    def activity(self) -> Activity:
        """What the connection does: it is answering from the last byte of a request on."""
        if self._task_handler is None:  # in its handshake, or closing
            return Activity.RECEIVING
        if self.writing_paused:
            return Activity.RECEIVING
        if self._waits():
            return Activity.IDLE
        body = self._current_request.content if self._current_request else self._body
        whole = self._messages or body is None or body.is_eof()
        return Activity.ANSWERING if whole else Activity.RECEIVING

    def data_received(self, data: bytes) -> None:
        """Parse requests, and answer one at once; under overload, refuse one before."""
        if not data:  # aiohttp calls this without data, to parse what it has kept
            super().data_received(data)
            return
        # Under overload the loop reads all requests before it answers one, to refuse at a tenth of
        # the cost of an answer those that it cannot answer soon.
        if self._overload.busy:
            self.received = self._endpoint.clock()
            if not self._refuse(data):
                super().data_received(data)
            return
        self.received = self._endpoint.turn_start()
        if self._waits() and not self.writing_paused and not self._endpoint.draining:
            self._parse_and_answer(data)
        else:
            super().data_received(data)

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002  # aiohttp's
        """Resume reading and parsing; not without need, because it takes 3 us for each body."""
        if self._reading_paused or self._keeps_data:
            super().resume_reading(resume_parser)

    def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> Any:  # the parent's coroutine: two type checkers name its type differently
        """Send a reply: the next request, which may be here already, has waited only from now."""
        self.received = self._endpoint.clock()
        self._ended = self._request_count - len(self._messages)
        self._body = None if request.content.is_eof() else request.content
        if self._messages or hdrs.TRANSFER_ENCODING in request.headers:
            self._keeps_data = True
        if not self._messages and self._parser is not None:
            self._parser.message_consumed()  # aiohttp forgets this if the body ends late
        if self.admitted:  # it had no turn, because it is invalid
            self.admitted = False
            self._overload.release()
        return super().finish_response(request, resp, start_time)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that aiohttp cannot parse, or whose handler has failed."""
        del request, message  # the message quotes the request
        self._endpoint.failed(status, exc, self.peer)
        response = text_reply(status, SENTENCES.get(status, "a fault in the server"))
        response.force_close()
        return response

    def _parse_and_answer(self, data: bytes) -> None:
        """Parse data, and answer the request in it, if that is possible; else wake the task."""
        waiter, self._waiter = self._waiter, None  # else aiohttp wakes its task
        try:
            super().data_received(data)
        finally:
            self._waiter = waiter
        if waiter is None or waiter.done() or not self._messages:
            return
        if len(self._messages) == 1 and self._answer(*self._messages[0]):
            self._messages.clear()
        else:
            waiter.set_result(None)

    def _answer(self, message: Any, content: StreamReader) -> bool:
        """
        Answer a whole request on a connection that stays open.

        Args:
            message: An ``http_parser.RawRequestMessage``, or how aiohttp names broken HTTP.

        Returns:
            Whether it is answered; if not, it is as before.
        """
        transport, parser = self.transport, self._parser
        is_short = content.is_eof() and content.total_bytes <= self._short
        if transport is None or parser is None or not is_short or not stays_open(message):
            return False
        body = content.read_nowait()
        answer = self._endpoint.answer_now(self, message, body)
        if answer is None:
            self._messages[0] = message, self._restore(body)
            return False
        self._ended, self._body = self._request_count, None
        parser.message_consumed()
        transport.write(answer)
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        return True

    def _restore(self, body: bytes) -> StreamReader:
        """Create the content of a request whose body has been read."""
        content = StreamReader(self, self._endpoint.limits.read_buffer, loop=self._loop)
        content.feed_data(body)
        content.feed_eof()
        return content

    def _refuse(self, data: bytes) -> bool:
        """
        Answer 503 to a request that is not admitted.

        Only if this is one whole request that may be answered now: other bytes may belong to none,
        or never become one. They are parsed, and do not count as a request of the burst.
        """
        closes = self.writing_paused or self._endpoint.draining
        if not self._waits() or closes or self.transport is None or not is_whole(data):
            return False
        self.admitted = self._overload.admits(self.received)
        if self.admitted:
            return False
        self.transport.write(BUSY)
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        self._endpoint.refused("queued", self.peer)
        return True

    def _waits(self) -> bool:
        """Check whether every request is answered, even if aiohttp's task does not know it yet."""
        if self._ended != self._request_count or self._request_in_progress:
            return False
        return self._body is None or self._body.is_eof()  # else its rest is read, to be discarded


class HttpEndpoint(web.Server, ABC):
    """
    A server with a limited number of connections.

    Attributes:
        callers: The connections that are open, or in their TLS handshake.
        overload: Decides which requests to refuse.
        draining: Whether each reply closes its connection.
        clock: Seconds; never goes back.
    """

    def __init__(self, limits: Limits, most: int, tls: ssl.SSLContext | None = None) -> None:
        """
        Start without a connection.

        Args:
            most: The maximum number of open connections.
            tls: None serves plain HTTP.
        """
        super().__init__(self.answer)
        self.limits = limits
        self.callers: Connections[HttpConnection] = Connections(
            most, limits.idle, limits.answered, self._cut, lambda connection: connection.activity
        )
        self.overload = Overload(limits.queued, limits.burst)
        self.draining = False
        self._tls = tls
        self.clock = time.monotonic  # the loop's clock stands still while a request is answered
        self._handshakes: dict[web.RequestHandler, asyncio.Task[None]] = {}
        self._stalled: set[web.RequestHandler] = set()
        self._turn = math.nan  # when this turn of the event loop began to read
        self._soon = asyncio.get_running_loop().call_soon

    def turn_start(self) -> float:
        """
        Return when this turn of the event loop began to read, by ``clock``.

        The loop finds that some connections have bytes, and reads one after the other. Since each
        request is answered when it is read, those of the last one have waited since the first.
        """
        if math.isnan(self._turn):
            self._turn = self.clock()
            self._soon(self._end_turn)
        return self._turn

    def _end_turn(self) -> None:
        self._turn = math.nan

    def answer_now(
        self, connection: HttpConnection, message: http_parser.RawRequestMessage, body: bytes
    ) -> bytes | None:
        """
        Answer a whole request without waiting for anything.

        Args:
            body: No larger than ``limits.body`` and ``limits.long_review``.

        Returns:
            The bytes to send, after which the connection stays open; None if ``answer`` has to
            answer the request.
        """
        del connection, message, body
        return None

    @abstractmethod
    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; raise nothing but ``CancelledError``."""

    @abstractmethod
    def refused(self, reason: str, peer: str) -> None:
        """Record that the connection of a client was refused or cut, or its handshake failed."""

    @abstractmethod
    def failed(self, status: int, error: BaseException | None, peer: str) -> None:
        """Record a request of a client that ``answer`` did not receive or did not answer."""

    def take(self, accepted: socket.socket, address: str) -> None:
        """Serve an accepted connection of a client, or close it if there are too many."""
        exchange = HttpConnection(self, self.limits, address)
        if not self.callers.admit(exchange, self.clock(), address):
            accepted.close()
            self.refused("connections", address)
            return
        task = asyncio.create_task(self._shake_hands(exchange, accepted))
        self._handshakes[exchange] = task
        task.add_done_callback(lambda _: self._handshakes.pop(exchange, None))

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Forget a closed connection."""
        super().connection_lost(handler, exc)
        assert isinstance(handler, HttpConnection)
        self.callers.forget(handler)

    def cut_stalled(self) -> None:
        """Cut connections whose client has read no reply since the last call of this method."""
        stalled = {connection for connection in self.connections if connection.writing_paused}
        for connection in stalled & self._stalled:
            assert isinstance(connection, HttpConnection), "no other class is used"
            self.refused("stalled-reply", connection.peer)
            _abort(connection)
        self._stalled = stalled

    async def finish(self) -> None:
        """Finish handshakes and requests in flight; close all connections."""
        self.draining = True
        if self._handshakes:
            await asyncio.wait(self._handshakes.values())  # they have deadlines of their own
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
                self.refused("handshake", exchange.peer)

    def _cut(self, exchange: HttpConnection) -> None:
        self.refused("evicted", exchange.peer)
        if handshake := self._handshakes.get(exchange):
            handshake.cancel()
        if exchange.activity is Activity.ANSWERING:
            exchange.close()  # after its answer
        else:
            _abort(exchange)


def _abort(exchange: web.RequestHandler) -> None:
    if exchange.transport is not None:
        exchange.transport.abort()
