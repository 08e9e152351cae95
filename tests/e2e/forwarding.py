"""
Connections to one address, forwarded to several others: what kube-proxy does for a Service.

New connections go to endpoints that are ready; those that exist are left alone.
"""

import socket
import threading
from collections import Counter
from contextlib import suppress
from typing import NamedTuple, Self

CHUNK = 65536  # bytes
PATIENCE_S = 60.0  # for a thread to end when its connection is broken


class Address(NamedTuple):
    """Address of a listener on this machine; port 0 means any free port."""

    host: str = "127.0.0.1"
    port: int = 0


class Forwarder:
    """
    Forwards each new connection to one of several addresses, in turn; a context manager.

    Attributes:
        endpoints: Where to; with none, connections are closed as they come.
        accepted: How many connections there were.
        unanswered: Endpoint -> how many of its connections ended while a request was in flight.
    """

    def __init__(self, address: Address | None = None) -> None:
        self.endpoints: tuple[Address, ...] = ()
        self.accepted = 0
        self.unanswered: Counter[Address] = Counter()
        self._asked = address or Address()
        self._links: dict[threading.Thread, _Link] = {}

    @property
    def address(self) -> Address:
        """Where it listens."""
        return Address(*self._listener.getsockname())

    @property
    def linked(self) -> set[Address]:
        """The endpoints of the connections that there are."""
        return {link.endpoint for link in tuple(self._links.values())}

    def __enter__(self) -> Self:
        self._listener = socket.create_server(self._asked)
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(PATIENCE_S)
        for thread, link in tuple(self._links.items()):
            link.cut()
            thread.join(PATIENCE_S)

    def add(self, port: int) -> None:
        """Forward new connections to one more port of this machine."""
        self.endpoints += (Address(port=port),)

    def remove(self, port: int) -> None:
        """Forward no new connections to a port any more."""
        self.endpoints = tuple(endpoint for endpoint in self.endpoints if endpoint.port != port)

    def requests(self, port: int) -> int:
        """How many requests came for an endpoint on the connections that it has now."""
        links = tuple(self._links.values())
        return sum(link.requests for link in links if link.endpoint.port == port)

    def hold(self) -> None:
        """Hold back the data of existing connections; new ones are not affected."""
        for link in tuple(self._links.values()):
            link.flow.clear()

    def release(self) -> None:
        """Pass on what was kept back, and whatever comes."""
        for link in tuple(self._links.values()):
            link.flow.set()

    def cut(self) -> None:
        """Break all connections; the servers learn of it by their end."""
        for link in tuple(self._links.values()):
            link.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                endpoints = self.endpoints  # another thread may change them meanwhile
                if not endpoints:
                    caller.close()
                    continue
                self.accepted += 1
                link = _Link(caller, endpoints[self.accepted % len(endpoints)])
                thread = threading.Thread(target=self._forward, args=(link,), daemon=True)
                self._links[thread] = link
                thread.start()

    def _forward(self, link: "_Link") -> None:
        link.forward()
        self.unanswered[link.endpoint] += link.waiting
        del self._links[threading.current_thread()]


class _Link:
    """
    One connection and the one to which it leads.

    Attributes:
        flow: Clear while the data of both are held.
        waiting: Whether the caller sent the last data: it has no answer yet.
    """

    HANDSHAKE = 2
    """How often a TLS client sends before its first request; one more if it sends both at once."""

    def __init__(self, caller: socket.socket, endpoint: Address) -> None:
        self.endpoint = endpoint
        self.flow = threading.Event()
        self.flow.set()
        self.waiting = False
        self._caller, self._turns = caller, 0

    @property
    def requests(self) -> int:
        """How often the caller has sent data after an answer, and after the handshake."""
        return max(0, self._turns - self.HANDSHAKE)

    def forward(self) -> None:
        """Pass on what comes from either side, until both have ended."""
        with self._caller, suppress(OSError), socket.create_connection(self.endpoint) as server:
            back = threading.Thread(target=self._pump, args=(server, self._caller), daemon=True)
            back.start()
            self._pump(self._caller, server)
            back.join()

    def cut(self) -> None:
        """Break the connection; the server learns of it by its end."""
        self.flow.set()
        with suppress(OSError):
            self._caller.shutdown(socket.SHUT_RDWR)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                self.flow.wait()
                from_caller = source is self._caller
                self._turns += from_caller and not self.waiting
                self.waiting = from_caller
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
