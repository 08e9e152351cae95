"""
The plain listener for kubelet and Prometheus: ``/livez``, ``/readyz``, ``/metrics``.

``/livez`` says that the event loop turns, and nothing else: a liveness that depended on
certificates or the API server would restart all replicas when the control plane is down.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from aiohttp import hdrs, web

from webhook.endpoint import Endpoint
from webhook.limits import Limits
from webhook.metrics import EXPOSITION, Metrics
from webhook.replies import reply, sentence


class Condition(NamedTuple):
    """
    How one thing stands that readiness depends on.

    Attributes:
        ok: Whether it lets the server be ready.
        detail: A few words for people; never a secret.
    """

    ok: bool
    detail: str = ""


Checks: TypeAlias = Mapping[str, Callable[[], Condition]]
"""Asked each time, in order."""


class Health(Endpoint):
    """The health server."""

    def __init__(self, checks: Checks, metrics: Metrics, limits: Limits) -> None:
        """
        Start without a connection; inside a running event loop.

        Args:
            checks: All have to be ok for the server to be ready.
        """
        super().__init__(limits, limits.health_connections)
        self._checks = checks
        self._metrics = metrics
        self._pages = {"/livez": self._live, "/readyz": self._ready, "/metrics": self._expose}

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        path, _, query = request.raw_path.partition("?")
        page = self._pages.get(path)
        if page is None:
            return sentence(404, f"there is nothing here but {', '.join(self._pages)}")
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            allowed = f"{hdrs.METH_GET}, {hdrs.METH_HEAD}"
            return sentence(405, "these pages are only read", {hdrs.ALLOW: allowed})
        return page(query)

    def refused(self, reason: str) -> None:
        """Nobody's loss: probes come again."""

    def failed(self, status: int, error: BaseException | None) -> None:
        """Nobody's loss: probes come again."""

    def _live(self, _query: str) -> web.StreamResponse:
        return sentence(200, "ok")

    def _ready(self, query: str) -> web.StreamResponse:
        conditions = {name: check() for name, check in self._checks.items()}
        ready = all(condition.ok for condition in conditions.values())
        text = "ok" if ready else "not ready"
        if not ready or query.partition("=")[0] == "verbose":
            text = "\n".join((*_listed(conditions), text))
        return sentence(200 if ready else 503, text)

    def _expose(self, _query: str) -> web.StreamResponse:
        return reply(200, self._metrics.exposition(), EXPOSITION)


def _listed(conditions: Mapping[str, Condition]) -> Iterator[str]:
    """Write conditions as the Kubernetes components do."""
    for name, condition in conditions.items():
        detail = f": {condition.detail}" if condition.detail else ""
        yield f"[{'+' if condition.ok else '-'}]{name} {'ok' if condition.ok else 'failed'}{detail}"
