"""A cluster with Services and a custom controller, and sources of facts that run."""

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from tests.apiserver import ApiServer
from tests.background import working
from tests.build import service
from tests.cluster.environment import unsupervised
from tests.server.serving import PATIENCE
from webhook.cluster.caches import Supervise
from webhook.config.ownerselectors import OwnerSelector
from webhook.policy.model import GroupKind, OwnerReference
from webhook.server.facts import FactsSource, WatchedKinds
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import Log, LogFormat, make_log
from webhook.telemetry.metrics import Metrics

FLEET = OwnerSelector(GroupKind("example.io", "Fleet"), ("spec", "selector"))

NOTHING = WatchedKinds(())
FLEET_WEB = {
    "apiVersion": "example.io/v1",
    "kind": "Fleet",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"matchLabels": {"app": "a"}}},
}
OWNER = OwnerReference("example.io/v1", "Fleet", "web")


def cluster() -> ApiServer:
    """Build an API server with two Services and a Fleet."""
    return ApiServer(service("a"), service("b"), FLEET_WEB)


def log(stream: io.BytesIO | None = None) -> Log:
    lines = LineWriter(stream or io.BytesIO(), lambda write: write())
    return make_log(LogFormat.JSON, lines, lambda: datetime(2026, 1, 1, tzinfo=UTC))


@asynccontextmanager
async def run(source: FactsSource, supervise: Supervise = unsupervised) -> AsyncGenerator[None]:
    async with working(source.run(supervise)), asyncio.timeout(PATIENCE):
        yield


def value(metrics: Metrics, name: str, kind: str) -> float | None:
    return metrics.registry.get_sample_value(f"evenspread_cache_{name}", {"kind": kind})
