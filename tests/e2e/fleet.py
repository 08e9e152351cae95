"""
Two servers behind one address, restarted one after the other as a Deployment does.

The balancer stands for a Service: it sends new connections to endpoints that are ready, and leaves
those that exist alone.
"""

import base64
import socket
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

from tests.controlplane import webhooks
from tests.controlplane.plane import ControlPlane
from tests.e2e.replica import CONFIG, MARK, Registered, Replica, configurations

REPLICAS = 2

_HASTY = "drain_least=0, drain_quiet=0, drain_most=0"
_PATIENT = "drain_least=0.3, drain_quiet=0.3, drain_most=10.0"  # seconds; else 5 and more

_CHUNK = 65536  # bytes


class Balancer:
    """
    Forwards each connection to one of several ports, in turn; a context manager.

    Attributes:
        ports: Where new connections go.
        links: The port that each connection goes to, of those that there are.
        accepted: How many connections there were.
    """

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.links: list[int] = []
        self.accepted = 0

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                self.accepted += 1
                port = self.ports[self.accepted % len(self.ports)]
                threading.Thread(target=self._forward, args=(caller, port), daemon=True).start()

    def _forward(self, caller: socket.socket, port: int) -> None:
        self.links.append(port)
        with suppress(OSError), caller, socket.create_connection(("127.0.0.1", port)) as server:
            back = threading.Thread(target=_pump, args=(server, caller), daemon=True)
            back.start()
            _pump(caller, server)
            back.join()
        self.links.remove(port)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class Fleet:
    """
    Servers that both hooks call, through a balancer; a context manager.

    Args:
        gates: Text of ``--feature-gates``; locked ones too.
    """

    def __init__(self, plane: ControlPlane, folder: Path, gates: str) -> None:
        self._plane = plane
        self._folder = folder
        self._gates = gates
        self._balancer = Balancer()
        self._replicas: list[Replica] = []
        self._ends = ExitStack()
        self._started = 0

    def __enter__(self) -> Self:
        with self._ends:
            for _ in range(REPLICAS):
                self._add(self._gates)
            self._ends.enter_context(self._balancer)
            ca = base64.b64encode((self._folder / "state/ca.crt").read_bytes()).decode()
            made = [
                webhooks.by_url(each, self._balancer.url, ca)
                for each in configurations("fleet", MARK)
            ]
            self._ends.enter_context(Registered(self._plane, made))
            self._ends = self._ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def restart(self, gates: str) -> None:
        """Restart all with other gates, one after the other."""
        for old in tuple(self._replicas):
            self._replicas.remove(old)
            self._balancer.ports.remove(old.port)
            old.process.terminate()
            self._add(gates)

    def _add(self, gates: str) -> None:
        self._started += 1
        folder = self._folder / f"replica-{self._started}"
        folder.mkdir()
        settings: dict[str, Any] = {
            "state": str(self._folder / "state"),
            "feature_gates": gates,
            "allow_locked_gates": True,
        }
        made = Replica(folder, self._plane.apiserver.kubeconfig, CONFIG, **settings)
        made.process.command = tuple(
            part.replace(_HASTY, _PATIENT) for part in made.process.command
        )
        self._ends.enter_context(made).wait()
        self._replicas.append(made)
        self._balancer.ports.append(made.port)
