"""
The plain listener for kubelet and Prometheus: ``/livez``, ``/readyz``, ``/metrics``.

``/livez`` says that the event loop turns, and nothing else: a liveness that depended on
certificates or the API server would restart all replicas when the control plane is down.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from aiohttp import hdrs, web

from webhook.server.http.endpoint import HttpEndpoint
from webhook.server.http.limits import Limits
from webhook.server.http.responses import reply, text_reply
from webhook.telemetry.metrics import EXPOSITION, Metrics


class ReadinessCondition(NamedTuple):
    """
    How one thing stands that readiness depends on.

    Attributes:
        ok: Whether it lets the server be ready.
        detail: A few words for people; never a secret.
    """

    ok: bool
    detail: str = ""


Conditions: TypeAlias = Mapping[str, ReadinessCondition]

Check: TypeAlias = Callable[[], Conditions]
"""Asked each time; all conditions have to be ok for the server to be ready."""


class Phase(StrEnum):
    """How far the life of a server has come, in words for people."""

    CONFIGURED = "waiting for the version of the API server"
    CERTIFYING = "waiting for a certificate"
    SERVING = "serving"
    STOPPING = "stopping"


class Readiness:
    """
    What readiness depends on: each part, from when it is there, and the phase.

    Attributes:
        phase: How far the server has come.
    """

    def __init__(self) -> None:
        """Start with no part."""
        self.phase = Phase.CONFIGURED
        self._checks: list[Check] = []

    def add(self, check: Check) -> None:
        """Depend on one part more."""
        self._checks.append(check)

    def check(self) -> Conditions:
        """Tell how all parts stand, the phase last."""
        found = {name: each for check in self._checks for name, each in check().items()}
        return {**found, "server": ReadinessCondition(self.phase is Phase.SERVING, self.phase)}


class Health(HttpEndpoint):
    """The health server."""

    def __init__(self, check: Check, metrics: Metrics, limits: Limits) -> None:
        """Start without a connection; inside a running event loop."""
        super().__init__(limits, limits.health_connections)
        self._check = check
        self._metrics = metrics
        self._pages = {"/livez": self._live, "/readyz": self._ready, "/metrics": self._expose}

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        path, _, query = request.raw_path.partition("?")
        page = self._pages.get(path)
        if page is None:
            return text_reply(404, f"there is nothing here but {', '.join(self._pages)}")
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            allowed = f"{hdrs.METH_GET}, {hdrs.METH_HEAD}"
            return text_reply(405, "these pages are only read", {hdrs.ALLOW: allowed})
        return page(query)

    def refused(self, reason: str) -> None:
        """Nobody's loss: probes come again."""

    def failed(self, status: int, error: BaseException | None) -> None:
        """Nobody's loss: probes come again."""

    def _live(self, _query: str) -> web.StreamResponse:
        return text_reply(200, "ok")

    def _ready(self, query: str) -> web.StreamResponse:
        conditions = self._check()
        ready = all(condition.ok for condition in conditions.values())
        text = "ok" if ready else "not ready"
        if not ready or query.partition("=")[0] == "verbose":
            text = "\n".join((*_listed(conditions), text))
        return text_reply(200 if ready else 503, text)

    def _expose(self, _query: str) -> web.StreamResponse:
        return reply(200, self._metrics.exposition(), EXPOSITION)


def _listed(conditions: Conditions) -> Iterator[str]:
    """Write conditions as the Kubernetes components do."""
    for name, condition in conditions.items():
        detail = f": {condition.detail}" if condition.detail else ""
        yield f"[{'+' if condition.ok else '-'}]{name} {'ok' if condition.ok else 'failed'}{detail}"
