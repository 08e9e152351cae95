"""
The plain HTTP listener for the kubelet and Prometheus: ``/livez``, ``/readyz``, ``/metrics``.

``Health`` is the listener, ``Readiness`` collects its conditions. ``/livez`` reports only that the
event loop runs. If it depended on certificates or the API server, an outage of the control plane
would restart all replicas.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from aiohttp import hdrs, web

from webhook.policy.escape import printable
from webhook.server.http.endpoint import HttpEndpoint
from webhook.server.http.limits import Limits
from webhook.server.http.responses import reply, text_reply
from webhook.telemetry.metrics import EXPOSITION, Metrics

PAGES = ("/livez", "/readyz", "/metrics")


@dataclass(frozen=True, slots=True)
class ReadinessCondition:
    """
    One condition of readiness.

    Attributes:
        ok: Whether the server may be ready.
        detail: A few words for people; never a secret.
        degraded: Whether something is wrong that does not make the server unready.
    """

    ok: bool
    detail: str = ""
    degraded: bool = False


Conditions: TypeAlias = Mapping[str, ReadinessCondition]

Check: TypeAlias = Callable[[], Conditions]
"""Called at each probe; the server is ready if all conditions are ok."""


class Phase(StrEnum):
    """The phases of a server's life, in words for people."""

    CONFIGURED = "waiting for the version of the API server"
    CERTIFYING = "waiting for a certificate"
    LISTING = "waiting for the lists of SpreadPolicies and their exceptions"
    SERVING = "serving"
    STOPPING = "stopping"


@dataclass(slots=True)
class Readiness:
    """
    The conditions of readiness.

    Attributes:
        phase: The present phase of the server.
        checks: The checks of the parts built so far.
    """

    phase: Phase = Phase.CONFIGURED
    checks: list[Check] = field(default_factory=list[Check])

    def check(self) -> Conditions:
        """Give the conditions of all parts, the phase last."""
        found = {name: condition for check in self.checks for name, condition in check().items()}
        return {**found, "server": ReadinessCondition(self.phase is Phase.SERVING, self.phase)}


class Health(HttpEndpoint):
    """The health server."""

    def __init__(self, check: Check, metrics: Metrics, limits: Limits) -> None:
        """Start without a connection; inside a running event loop."""
        super().__init__(limits, limits.health_connections)
        self._check = check
        self._metrics = metrics

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        path, _, query = request.raw_path.partition("?")
        if path not in PAGES:
            return text_reply(404, f"not found: the pages are {', '.join(PAGES)}")
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            allowed = f"{hdrs.METH_GET}, {hdrs.METH_HEAD}"
            return text_reply(405, f"the allowed methods are {allowed}", {hdrs.ALLOW: allowed})
        if path == "/livez":
            return text_reply(200, "ok")
        if path == "/metrics":
            return reply(200, self._metrics.exposition(), EXPOSITION)
        return self._ready(query)

    def refused(self, reason: str, peer: str) -> None:
        """Do nothing: probes are repeated."""

    def failed(self, status: int, error: BaseException | None, peer: str) -> None:
        """Do nothing: probes are repeated."""

    def _ready(self, query: str) -> web.StreamResponse:
        conditions = self._check()
        ready = all(condition.ok for condition in conditions.values())
        text = "ok" if ready else "not ready"
        if not ready or query.partition("=")[0] == "verbose":
            text = "\n".join((*_listed(conditions), text))
        return text_reply(200 if ready else 503, text)


def _listed(conditions: Conditions) -> Iterator[str]:
    """Write conditions as the Kubernetes components do, one in a line whatever its texts are."""
    for name, condition in conditions.items():
        detail = f": {condition.detail}" if condition.detail else ""
        mark, word = ("+", "ok") if condition.ok else ("-", "failed")
        word = "degraded" if condition.ok and condition.degraded else word
        yield printable(f"[{mark}]{name} {word}{detail}")
