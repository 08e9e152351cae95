"""
Calls at a fixed rate over many connections, whatever the server answers.

No event loop: TLS sockets that do not block and one epoll, so that the load costs less than the
server. A call that finds no free connection waits for one, and that is part of its latency.
"""

import re
import select
import socket
import ssl
import time
from collections import deque
from contextlib import ExitStack
from typing import NamedTuple, Self

from tests.e2e.standalone import client_tls

LONGEST_READ = 2**16  # bytes; more than an answer has
PATIENCE_S = 60.0  # for an answer; what takes longer is lost
CONNECT_S = 60.0  # for a connection

_REPLY = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r]*\r\n((?:[^\r]+\r\n)*?)Content-Length: (\d+)\r\n")


class FloodCall(NamedTuple):
    """
    One answered call.

    Attributes:
        due: Seconds from the beginning of the load to the time at which it was due.
        seconds: From then to the answer.
        again: Whether the answer has Retry-After.
    """

    due: float
    seconds: float
    status: int
    again: bool


class Flood:
    """Connections to a server; they are open as long as the context lasts."""

    def __init__(self, port: int, request: bytes, connections: int) -> None:
        self._port, self._request, self._number = port, request, connections
        self._epoll = select.epoll()
        self._wires: dict[int, ssl.SSLSocket] = {}
        self._received: dict[int, bytes] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with self._open:
            self._open.callback(self._epoll.close)
            tls = client_tls()
            for _ in range(self._number):
                plain = socket.create_connection(("127.0.0.1", self._port), CONNECT_S)
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
                wire = self._open.enter_context(tls.wrap_socket(plain))
                wire.setblocking(False)
                self._wires[wire.fileno()] = wire
                self._epoll.register(wire, select.EPOLLIN)
            self._open = self._open.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(self, seconds: float, rate: float) -> list[FloodCall]:
        """
        Call at a rate; all calls are answered when this returns.

        Raises:
            TimeoutError: There was no answer for PATIENCE_S.
        """
        answered: list[FloodCall] = []
        free, sent = deque(self._wires), dict[int, float]()
        calls, made, start = int(seconds * rate), 0, time.perf_counter()
        while len(answered) < calls:
            now = time.perf_counter() - start
            if made < calls and free and made / rate <= now:
                descriptor = free.popleft()
                sent[descriptor] = made / rate
                self._received[descriptor] = b""
                self._send(descriptor)
                made += 1
                continue
            pause = made / rate - now if made < calls and free else PATIENCE_S
            ready = self._epoll.poll(pause)
            if not ready and pause >= PATIENCE_S:
                raise TimeoutError(f"{calls - len(answered)} of {calls} calls got no answer")
            for descriptor, _ in ready:
                if (reply := self._read(descriptor)) is not None:
                    due = sent.pop(descriptor)
                    took = time.perf_counter() - start - due
                    answered.append(FloodCall(due, took, *reply))
                    free.append(descriptor)
        return answered

    def _send(self, descriptor: int) -> None:
        wire, rest = self._wires[descriptor], memoryview(self._request)
        while rest:
            try:
                rest = rest[wire.send(rest) :]
            except ssl.SSLWantWriteError:
                select.select([], [wire], [], PATIENCE_S)

    def _read(self, descriptor: int) -> tuple[int, bool] | None:
        """Read an answer; once it is whole, give its status and whether it has Retry-After."""
        try:
            data = self._wires[descriptor].recv(LONGEST_READ)
        except ssl.SSLWantReadError:  # a session ticket, or a part of a record
            return None
        if not data:
            raise ConnectionResetError("the server closed a connection in use")
        received = self._received[descriptor] = self._received.get(descriptor, b"") + data
        head = _REPLY.match(received)
        if head is None or b"\r\n\r\n" not in received:
            return None
        body = received.partition(b"\r\n\r\n")[2]
        if len(body) < int(head[3]):
            return None
        return int(head[1]), b"Retry-After: 1\r\n" in received
