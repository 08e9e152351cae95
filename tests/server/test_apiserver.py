"""The API server that a server follows: asking its version, and telling of restarts."""

import asyncio
import io
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.apiserver import Answer, kubeconfig, running, says
from tests.server.serving import PATIENCE, settled
from webhook.config.settings import Settings
from webhook.errors import ApiError, ConfigError
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.server.apiserver import (
    build_reflector_environment,
    connect_api_server,
    follow_version,
    wait_for_version,
)
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import Log, LogFormat, make_log
from webhook.telemetry.metrics import Metrics


class Told:
    """A log, and what was written."""

    def __init__(self) -> None:
        self._stream = io.BytesIO()
        lines = LineWriter(self._stream, lambda write: write())
        self.log: Log = make_log(LogFormat.JSON, lines, lambda: datetime(2026, 1, 1, tzinfo=UTC))

    @property
    def says(self) -> list[str]:
        written = (json.loads(line) for line in self._stream.getvalue().splitlines())
        return [line["says"] for line in written]


async def asked(folder: Path, told: Told, *answers: Answer) -> Version:
    async with running() as server:
        server.script("/version", *answers)
        settings = Settings(kubeconfig=kubeconfig(folder, server.url))
        async with connect_api_server(settings) as api:
            assert api is not None
            async with asyncio.timeout(PATIENCE):
                return await wait_for_version(api, told.log)


def version(text: str) -> Answer:
    return says(200, {"gitVersion": text})


async def test_the_version_is_the_api_server_s(tmp_path: Path) -> None:
    told = Told()

    assert await asked(tmp_path, told, version("v1.33.5-eks-1a2b")) == Version(1, 33)
    assert told.says == []


async def test_a_fault_is_told_and_asked_again(tmp_path: Path) -> None:
    told = Told()

    found = await asked(tmp_path, told, says(503), version("v1.36.0"))

    assert found == Version(1, 36)
    assert len(told.says) == 1
    assert "503" in told.says[0]


async def test_a_newer_version_than_any_known_is_told_once(tmp_path: Path) -> None:
    told = Told()

    found = await asked(tmp_path, told, version("v1.99.0"))

    assert found == Version(1, 99)
    assert [f"using {NEWEST_VERSION}" in each for each in told.says] == [True]


async def test_a_version_of_a_build_of_one_s_own_asks_for_the_flag(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--kube-version: is needed, .* 'unknown'"):
        await asked(tmp_path, Told(), version("unknown"))


async def test_credentials_that_cannot_be_used_are_not_waited_for(tmp_path: Path) -> None:
    settings = Settings(kubeconfig=str(tmp_path / "none"))
    async with connect_api_server(settings) as api:
        assert api is not None
        with pytest.raises(ApiError, match="the credentials cannot be used"):
            await wait_for_version(api, Told().log)


async def test_without_a_cluster_there_is_nobody_to_reach() -> None:
    async with connect_api_server(Settings(standalone=True)) as api:
        assert api is None


async def test_an_upgrade_is_noticed_and_a_fault_is_not_one(tmp_path: Path) -> None:
    count_review: list[Version] = []
    async with running() as server:
        server.script("/version", version("v1.35.1"), says(500), version("odd"), version("v1.36.0"))
        settings = Settings(kubeconfig=kubeconfig(tmp_path, server.url))
        async with connect_api_server(settings) as api:
            assert api is not None
            following = asyncio.create_task(follow_version(api, 0.0, count_review.append))
            await settled(lambda: len(count_review) == 2)
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    assert count_review == [Version(1, 35), Version(1, 36)]


STREAMING: dict[Version, bool] = {Version(1, 31): False, Version(1, 32): True, NEWEST_VERSION: True}


@pytest.mark.parametrize(("at", "streams"), STREAMING.items(), ids=map(str, STREAMING))
async def test_lists_are_streamed_where_the_server_can(at: Version, streams: bool) -> None:
    async with connect_api_server(Settings(kubeconfig="none")) as api:
        assert api is not None

        assert build_reflector_environment(api, at, Metrics(), Told().log).streams is streams


async def test_restarts_are_counted_and_faults_are_told() -> None:
    told, metrics = Told(), Metrics()
    async with connect_api_server(Settings(kubeconfig="none")) as api:
        assert api is not None
        tell: Callable[[str, str, str], Any] = build_reflector_environment(
            api, NEWEST_VERSION, metrics, told.log
        ).report_restart

    tell("Service", "ended", "")
    tell("Service", "expired", "it is gone")

    assert told.says == ["it is gone"]
    for reason in ("ended", "expired"):
        labels = {"kind": "Service", "reason": reason}
        assert metrics.registry.get_sample_value("evenspread_watch_restarts_total", labels) == 1
