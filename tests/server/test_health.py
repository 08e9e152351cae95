"""What kubelet and Prometheus ask."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.server.serving import Reply, Wire, head
from webhook.server.health import Conditions, Health, Phase, Readiness, ReadinessCondition
from webhook.server.http.limits import Limits
from webhook.server.http.listener import bind, listening
from webhook.telemetry.metrics import Metrics

READY: Conditions = {
    "server": ReadinessCondition(ok=True),
    "cache": ReadinessCondition(True, "3 kinds"),
}
UNREADY: Conditions = {**READY, "certificate": ReadinessCondition(False, "is not trusted")}


@asynccontextmanager
async def health(conditions: Conditions, limits: Limits | None = None) -> AsyncGenerator[int]:
    sockets = bind("127.0.0.1", 0)
    port: int = sockets[0].getsockname()[1]
    async with listening(Health(lambda: conditions, Metrics(), limits or Limits()), sockets):
        yield port


async def connect(port: int) -> Wire:
    return Wire(*await asyncio.open_connection("127.0.0.1", port))


async def page(conditions: Conditions, target: str, method: str = "GET") -> Reply:
    async with health(conditions) as port:
        wire = await connect(port)
        try:
            return await wire.ask(head(target, method, {}))
        finally:
            await wire.close()


PAGES = {
    "alive": (READY, "/livez", 200, "ok\n"),
    "alive though not ready": (UNREADY, "/livez", 200, "ok\n"),
    "ready": (READY, "/readyz", 200, "ok\n"),
    "ready, at length": (
        READY,
        "/readyz?verbose",
        200,
        "[+]server ok\n[+]cache ok: 3 kinds\nok\n",
    ),
    "ready, at length by another spelling": (
        READY,
        "/readyz?verbose=true",
        200,
        "[+]server ok\n[+]cache ok: 3 kinds\nok\n",
    ),
    "ready, but degraded": (
        {"configuration": ReadinessCondition(ok=True, detail="a.yaml:1: x", degraded=True)},
        "/readyz?verbose",
        200,
        "[+]configuration degraded: a.yaml:1: x\nok\n",
    ),
    "not ready": (
        UNREADY,
        "/readyz",
        503,
        "[+]server ok\n[+]cache ok: 3 kinds\n[-]certificate failed: is not trusted\nnot ready\n",
    ),
    "not ready because of a text that forges a line and commands a terminal": (
        {"cache": ReadinessCondition(False, "text \x1b[2J\u202e\n[+]certificate ok\nok")},
        "/readyz",
        503,
        "[-]cache failed: text \\x1b[2J\\u202e\\n[+]certificate ok\\nok\nnot ready\n",
    ),
    "another page": (
        READY,
        "/debug/pprof",
        404,
        "not found: the pages are /livez, /readyz, /metrics\n",
    ),
    "a review": (
        READY,
        "/mutate",
        404,
        "not found: the pages are /livez, /readyz, /metrics\n",
    ),
}


@pytest.mark.parametrize(("conditions", "target", "status", "text"), PAGES.values(), ids=PAGES)
async def test_pages(conditions: Conditions, target: str, status: int, text: str) -> None:
    reply = await page(conditions, target)

    assert (reply.status, reply.body.decode()) == (status, text)
    assert reply.headers["server"] == "evenspread"


async def test_metrics_are_exposed_in_prometheus_text_format() -> None:
    reply = await page(READY, "/metrics")

    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain; version=")
    assert b"# TYPE evenspread_config_valid gauge\n" in reply.body


async def test_pages_are_only_read() -> None:
    reply = await page(READY, "/livez", "POST")

    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


async def test_a_connection_too_many_cuts_the_oldest() -> None:
    async with health(READY, Limits(health_connections=1)) as port:
        first = await connect(port)
        await first.ask(head("/livez", "GET", {}))
        second = await connect(port)

        reply = await second.ask(head("/livez", "GET", {}))
        rest = await first.ended()
        await first.close()
        await second.close()

    assert reply.status == 200
    assert rest == b""


async def test_broken_http_is_answered_with_a_text_reply() -> None:
    async with health(READY) as port:
        wire = await connect(port)

        reply = await wire.ask(b"hello\r\n\r\n")
        await wire.close()

    assert (reply.status, reply.body) == (400, b"the request is broken HTTP\n")


def test_readiness_grows_with_its_parts_and_shows_the_phase_last() -> None:
    readiness = Readiness()
    readiness.checks.append(lambda: {"cache": ReadinessCondition(ok=True)})
    readiness.checks.append(lambda: {"certificate": ReadinessCondition(ok=False)})

    before = readiness.check()
    readiness.phase = Phase.SERVING
    after = readiness.check()

    assert list(before) == ["cache", "certificate", "server"]
    assert before["server"] == ReadinessCondition(
        ok=False, detail="waiting for the version of the API server"
    )
    assert after["server"] == ReadinessCondition(ok=True, detail="serving")
