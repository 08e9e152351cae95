"""
Load on one server: connections that are kept open, each with one request under way at most.

No event loop: TLS sockets that do not block and one epoll, which costs less than half of what a
server on uvloop spends on a call, so that one core of load keeps one core of server busy. The
requests are written beforehand; every answer has to be a 200, unless the caller allows others, and
is only timed.
"""

import json
import re
import select
import socket
import ssl
import time
from array import array
from collections import deque
from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack
from itertools import cycle
from typing import Any, Self

CONNECTIONS = 16  # as many as the API servers of a busy cluster keep to one replica
PATIENCE_S = 5.0  # for one answer; a server that needs longer is broken
MOST_CALLS = 1_000_000  # in one run; their latencies take 8 MB
PUNCTUAL_S = 0.001  # before a call is due nothing is waited for: the kernel wakes up no earlier
LONGEST_READ = 2**16  # bytes; more than any TLS record holds, so that none is left half read

ANSWERED = frozenset({b"200"})
REFUSED = frozenset({b"200", b"503"})
"""Statuses that a server under overload answers with."""

_head = re.compile(
    rb"HTTP/1\.1 (\d{3}) .*?\r\nContent-Length: (\d+)\r\n(?:.*?\r\n)??\r\n",
    re.DOTALL | re.IGNORECASE,
)


class LoadError(Exception):
    """The server gave an invalid response; the message describes it."""


def request_bytes(path: str, body: bytes, port: int) -> bytes:
    """Write a request as kube-apiserver does: POST, JSON, its timeout in the target."""
    head = (
        f"POST {path}?timeout=10s HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{port}\r\n"
        "User-Agent: kube-apiserver-admission\r\n"
        "Accept: application/json, */*\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def body_of(received: bytes, statuses: Container[bytes] = ANSWERED) -> bytes | None:
    """
    The body of an answer.

    Args:
        statuses: That may come.

    Returns:
        None as long as something is missing.

    Raises:
        LoadError: The answer has another status.
    """
    head = _head.match(received)
    if head is None:
        return None
    if head[1] not in statuses:
        raise LoadError(f"the server answered {received.decode(errors='replace')}")
    body = received[head.end() :]
    return body if len(body) >= int(head[2]) else None


def ask(port: int, path: str, body: bytes) -> Any:
    """Make one call; returns the decoded answer."""
    with connect(port) as connection:
        connection.sendall(request_bytes(path, body, port))
        received = b""
        while (answer := body_of(received)) is None:
            received += _read(connection)
    return json.loads(answer)


def connect(port: int) -> ssl.SSLSocket:
    """Open a connection; whose certificate it is, is not the question on loopback."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    plain = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
    return context.wrap_socket(plain)


class Load:
    """
    Requests that are made in turn, and their connections, which are open inside a ``with``.

    Latencies are in seconds, in the order in which the answers came. All methods raise LoadError.
    """

    def __init__(
        self,
        port: int,
        path: str,
        bodies: Iterable[bytes],
        statuses: Container[bytes] = ANSWERED,
    ) -> None:
        self._port = port
        self._statuses = statuses
        self._requests = cycle([request_bytes(path, body, port) for body in bodies])
        self._connections: dict[int, ssl.SSLSocket] = {}
        self._received: dict[ssl.SSLSocket, bytes] = {}
        self._epoll = select.epoll()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.callback(self._epoll.close)
        try:
            for _ in range(CONNECTIONS):
                connection = self._open.enter_context(connect(self._port))
                connection.setblocking(False)
                self._connections[connection.fileno()] = connection
                self._received[connection] = b""
                self._epoll.register(connection, select.EPOLLIN)
        except OSError as error:
            self._open.close()
            raise LoadError(f"port {self._port}: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def saturate(self, seconds: float) -> "array[float]":
        """Call as fast as the server answers; returns the latencies."""
        latencies = array("d")
        sent = {connection: self._send(connection) for connection in self._connections.values()}
        end = time.perf_counter() + seconds
        while sent:
            for connection in self._answered(PATIENCE_S):
                now = time.perf_counter()
                latencies.append(now - sent.pop(connection))
                if now < end and len(latencies) < MOST_CALLS:
                    sent[connection] = self._send(connection)
        return latencies

    def pace(self, seconds: float, rate: float) -> "array[float]":
        """
        Call at a fixed rate, whatever the server does; spins before each call, to be on time.

        Args:
            rate: Calls a second, evenly spaced.

        Returns:
            The latencies from the moment at which each call was due, since waiting for a free
            connection is waiting, too.
        """
        latencies = array("d")
        free = deque(self._connections.values())
        due: dict[ssl.SSLSocket, float] = {}
        start = time.perf_counter()
        calls = min(int(seconds * rate), MOST_CALLS)
        sent = 0
        while len(latencies) < calls:
            now = time.perf_counter()
            if now > start + seconds + PATIENCE_S:
                raise LoadError(f"{calls - len(latencies)} of {calls} calls were not answered")
            if sent < calls and free and start + sent / rate <= now:
                connection = free.popleft()
                due[connection] = start + sent / rate
                self._send(connection)
                sent += 1
            else:
                rest = start + sent / rate - now - PUNCTUAL_S if sent < calls and free else 0.0
                for connection in self._answered(max(0.0, rest), strict=False):
                    latencies.append(time.perf_counter() - due.pop(connection))
                    free.append(connection)
        return latencies

    def _answered(self, patience: float, *, strict: bool = True) -> Iterator[ssl.SSLSocket]:
        """The connections whose answer is whole by now; waits for something to come."""
        ready = self._spin(patience) if strict else self._epoll.poll(patience)
        if strict and not ready:
            raise LoadError(f"there was no answer for {patience:g} s")
        for descriptor, _ in ready:
            connection = self._connections[descriptor]
            try:
                received = self._received[connection] + _read(connection)
            except ssl.SSLWantReadError:  # a session ticket, or a part of a record
                continue
            whole = body_of(received, self._statuses) is not None
            self._received[connection] = b"" if whole else received
            if whole:
                yield connection

    def _spin(self, patience: float) -> list[tuple[int, int]]:
        """
        Wait without sleeping.

        The server pays for each answer that wakes up a sleeping client: 5 us in a virtual machine,
        where another core must be interrupted. A slow server, whose client often sleeps, would pay
        that, and a fast one, whose client never does, would not.
        """
        end = time.perf_counter() + patience
        while not (ready := self._epoll.poll(0)) and time.perf_counter() < end:
            pass
        return ready

    def _send(self, connection: ssl.SSLSocket) -> float:
        """Send the next request, for which an idle connection has room; returns when."""
        request = next(self._requests)
        now = time.perf_counter()
        if connection.send(request) != len(request):
            raise LoadError("a request is too large to go out in one piece")
        return now


def _read(connection: ssl.SSLSocket) -> bytes:
    received = connection.recv(LONGEST_READ)
    if not received:
        raise LoadError("the server closed a connection in use")
    return received
