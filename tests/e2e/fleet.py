"""Servers behind one address, restarted one after the other as a Deployment does."""

import base64
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.e2e.forwarding import Forwarder
from tests.e2e.replica import CONFIG, MARK, Registered, Replica, configurations

REPLICAS = 2

_HASTY = "drain_least=0, drain_quiet=0, drain_most=0"
PATIENT = "drain_least=0.5, drain_quiet=1.0, drain_most=30.0"
"""Seconds; enough unless a caller uses an idle connection in the moment in which it is closed."""

SHIPPED = "drain_least=10.0, drain_quiet=5.0, drain_most=45.0"
"""The limits of a server as it is shipped."""


class Fleet:
    """
    Servers that all hooks call, through a Service; a context manager.

    Args:
        gates: Text of ``--feature-gates``; locked ones too.
        count: How many there are.
        policy: The failurePolicy of all hooks.
        config: The configuration of each server.
        hooks: Further webhooks of the mutating configuration.
        drain: How servers stop, ``PATIENT`` or ``SHIPPED``.
        settings: Further settings of each server, as for ``Replica``.

    Attributes:
        service: What stands for kube-proxy.
        replicas: The servers, the oldest first.
    """

    def __init__(
        self,
        plane: ControlPlane,
        folder: Path,
        gates: str = "",
        *,
        count: int = REPLICAS,
        policy: str = "Fail",
        config: str = CONFIG,
        hooks: Sequence[Json] = (),
        drain: str = PATIENT,
        **settings: Any,
    ) -> None:
        self._count, self._policy, self._drain, self._settings = count, policy, drain, settings
        self._config, self._hooks = config, hooks
        self._plane = plane
        self._folder = folder
        self._gates = gates
        self.service = Forwarder()
        self.replicas: list[Replica] = []
        self._ends = ExitStack()
        self._started = 0

    def __enter__(self) -> Self:
        with self._ends:
            for _ in range(self._count):
                self._add(self._gates)
            self._ends.enter_context(self.service)
            ca = base64.b64encode((self._folder / "state/ca.crt").read_bytes()).decode()
            url = f"https://127.0.0.1:{self.service.address.port}"
            shipped = configurations("fleet", MARK)
            shipped[0]["webhooks"] += self._hooks
            made = [webhooks.by_url(configuration, url, ca) for configuration in shipped]
            for webhook in (hook for configuration in made for hook in configuration["webhooks"]):
                webhook["failurePolicy"] = self._policy
            self._ends.enter_context(Registered(self._plane, made))
            self._ends = self._ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def restart(self, gates: str = "") -> None:
        """Restart all with other gates, one after the other."""
        for old in tuple(self.replicas):
            self.replicas.remove(old)
            self.service.remove(old.port)
            old.process.terminate()
            self._add(gates)

    def stop(self) -> None:
        """Stop all, as scaling to zero does."""
        for replica in self.replicas:
            self.service.remove(replica.port)
            replica.process.terminate()
        self.replicas.clear()

    def start(self) -> None:
        """Start as many again."""
        for _ in range(self._count):
            self._add(self._gates)

    def replace(self, replica: Replica) -> None:
        """Start another server for one that has ended."""
        self.replicas.remove(replica)
        self._add(self._gates)

    def _add(self, gates: str) -> None:
        self._started += 1
        folder = self._folder / f"replica-{self._started}"
        folder.mkdir()
        settings: dict[str, Any] = {
            "state": str(self._folder / "state"),
            "feature_gates": gates,
            "allow_locked_gates": True,
            **self._settings,
        }
        made = Replica(folder, self._plane.apiserver.kubeconfig, self._config, **settings)
        made.process.command = tuple(
            part.replace(_HASTY, self._drain) for part in made.process.command
        )
        self._ends.enter_context(made).wait()
        self.replicas.append(made)
        self.service.add(made.port)
