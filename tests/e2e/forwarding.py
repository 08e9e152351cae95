"""Connections to one address, forwarded to several others."""

import socket
import threading
from contextlib import suppress
from typing import NamedTuple, Self

CHUNK = 65536  # bytes


class Address(NamedTuple):
    """Where somebody listens, on this machine; port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 0


class Forwarder:
    """
    Forwards each new connection to one of several addresses, in turn; a context manager.

    Attributes:
        endpoints: Where to; with none, connections are closed as they come. Those that exist are
            left alone when it changes.
    """

    def __init__(self, address: Address | None = None) -> None:
        self.endpoints: tuple[Address, ...] = ()
        self._asked = address or Address()
        self._turn = 0
        self._flows: list[threading.Event] = []

    @property
    def address(self) -> Address:
        """Where it listens."""
        return Address(*self._listener.getsockname())

    def __enter__(self) -> Self:
        self._listener = socket.create_server(self._asked)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def hold(self) -> None:
        """Keep back what is said on the connections that exist; new ones are as always."""
        for flow in tuple(self._flows):
            flow.clear()

    def release(self) -> None:
        """Pass on what was kept back, and whatever comes."""
        for flow in tuple(self._flows):
            flow.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                endpoints = self.endpoints
                if not endpoints:
                    caller.close()
                    continue
                self._turn += 1
                target = endpoints[self._turn % len(endpoints)]
                threading.Thread(target=self._forward, args=(caller, target), daemon=True).start()

    def _forward(self, caller: socket.socket, target: Address) -> None:
        flow = threading.Event()
        flow.set()
        self._flows.append(flow)
        with suppress(OSError), caller, socket.create_connection(target) as server:
            back = threading.Thread(target=_pump, args=(server, caller, flow), daemon=True)
            back.start()
            _pump(caller, server, flow)
            back.join()
        self._flows.remove(flow)


def _pump(source: socket.socket, sink: socket.socket, flow: threading.Event) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            flow.wait()
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
