"""The parts of a server, as the settings choose them."""

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from webhook.config import Configuration
from webhook.config.settings import Settings
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.server.build import (
    Monitoring,
    Server,
    ServerContext,
    build,
    own_namespace,
    replica_name,
)
from webhook.server.http.limits import Limits
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import LogFormat, make_log

CONFIG = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\nmode: apply\n"


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # certificates are valid by the real clock


@asynccontextmanager
async def built(folder: Path, **members: Any) -> AsyncGenerator[tuple[Server, io.BytesIO]]:
    given: dict[str, Any] = {"standalone": True, "state": str(folder), "tls": "standalone"}
    settings = Settings(**{**given, **members})
    stream = io.BytesIO()
    lines = LineWriter(stream, lambda write: write())
    log = make_log(LogFormat.JSON, lines, now)
    context = ServerContext(
        settings=settings,
        configuration=Configuration(),
        limits=Limits(stalled_reply=0),
        api=None,
        log=log,
        verdict_log=VerdictLog(LogFormat.JSON, lines, now),
        now=now,
        listener=("127.0.0.1", 1),
    )
    yield await build(context, Monitoring.create(context)), stream


async def test_a_standalone_server_has_neither_events_nor_audits(tmp_path: Path) -> None:
    async with built(tmp_path) as (server, _):
        names = [name for name, _ in server.background()]

    assert names == ["certificate", "facts", "reload", "advice", "stalled connections"]
    assert (server.events, server.audits) == (None, None)
    assert server.enforcement.version == NEWEST_VERSION


async def test_conditions_come_in_the_order_of_the_start(tmp_path: Path) -> None:
    async with built(tmp_path) as (server, _):
        conditions = server.monitoring.readiness.check()

    assert list(conditions) == ["configuration", "certificate", "facts", "tasks", "server"]


async def test_the_version_of_the_settings_is_used(tmp_path: Path) -> None:
    async with built(tmp_path, kube_version="1.30") as (server, _):
        assert server.enforcement.version == Version(1, 30)


async def test_an_invalid_newer_configuration_leaves_the_server_ready(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    async with built(tmp_path, config=str(file)) as (server, stream):
        file.write_text(f"{CONFIG}mode: sometimes\n")
        server.watcher.check()
        condition = server.monitoring.readiness.check()["configuration"]

    assert condition.ok
    assert condition.detail == "the files were changed, and are invalid"
    assert b'"result":"failure"' in stream.getvalue()


async def test_a_changed_configuration_is_put_in_force(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    async with built(tmp_path, config=str(file)) as (server, _):
        before = server.admission.context.policy
        file.write_text(CONFIG.replace("apply", "recommend"))
        server.watcher.check()

        assert server.admission.context.policy.mode != before.mode


@pytest.mark.parametrize("task", ["advice", "stalled connections"])
async def test_tasks_of_the_server_itself_run(tmp_path: Path, task: str) -> None:
    async with built(tmp_path) as (server, _):
        running = asyncio.ensure_future(dict(server.background())[task]())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def test_a_replica_is_named_by_its_settings_or_its_host() -> None:
    assert replica_name(Settings(replica="a")) == "a"
    assert replica_name(Settings())


def test_the_namespace_is_that_of_the_settings_or_of_the_pod() -> None:
    assert own_namespace(Settings(namespace="a")) == "a"
    assert own_namespace(Settings()) == ""
