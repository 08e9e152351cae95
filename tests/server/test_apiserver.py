"""The API server that a server watches: its version, and the environment of reflectors."""

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.apiserver import Answer, listening, respond, write_kubeconfig
from tests.server.serving import PATIENCE, logged, server_context, settled
from webhook.cluster.discovery import SkippedObject
from webhook.cluster.protocol import Response
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.config.settings import Settings
from webhook.errors import ApiError, ConfigError
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.server.apiserver import (
    build_reflector_environment,
    connect_api_server,
    find_version,
    follow_version,
)
from webhook.telemetry.metrics import Metrics


def version(text: str) -> Answer:
    return respond({"gitVersion": text})


class Found(NamedTuple):
    """The version in force, and the messages in the log."""

    version: Version
    messages: list[str]


async def found(folder: Path, *answers: Answer, **settings: Any) -> Found:
    """Find the version of an API server that gives these answers."""
    stream = io.BytesIO()
    async with listening() as server:
        server.script("/version", *answers)
        file = write_kubeconfig(folder, server.url)
        async with connect_api_server(Settings(kubeconfig=file)) as api:
            context = server_context(stream, api, **settings)
            async with asyncio.timeout(PATIENCE):
                version = await find_version(context)
    return Found(version, messages(stream))


def messages(stream: io.BytesIO) -> list[str]:
    return [line["message"] for line in logged(stream)]


async def test_the_version_is_that_of_the_api_server(tmp_path: Path) -> None:
    assert await found(tmp_path, version("v1.33.5-eks-1a2b")) == (Version(1, 33), [])


async def test_the_version_of_the_settings_counts_first(tmp_path: Path) -> None:
    assert await found(tmp_path, kube_version="1.30") == (Version(1, 30), [])


async def test_without_a_cluster_the_newest_supported_version_counts() -> None:
    assert await find_version(server_context()) == NEWEST_VERSION


async def test_each_new_problem_is_logged_once_until_the_api_server_answers(tmp_path: Path) -> None:
    result = await found(tmp_path, Response(503), Response(503), version("v1.36.0"))

    assert result.version == Version(1, 36)
    assert ["503" in message for message in result.messages] == [True]


async def test_a_version_newer_than_the_supported_ones_is_logged(tmp_path: Path) -> None:
    message = (
        f"Kubernetes 1.99 is newer than the supported versions: the rules of {NEWEST_VERSION} apply"
    )

    assert await found(tmp_path, version("v1.99.0")) == (Version(1, 99), [message])


async def test_the_version_of_a_private_build_needs_the_flag(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--kube-version: is needed, .* 'unknown'"):
        await found(tmp_path, version("unknown"))


async def test_without_usable_credentials_there_is_no_wait(tmp_path: Path) -> None:
    settings = Settings(kubeconfig=str(tmp_path / "none"))
    async with connect_api_server(settings) as api:
        with pytest.raises(ApiError, match="the credentials cannot be used"):
            await find_version(server_context(None, api))


async def test_a_standalone_server_has_no_client() -> None:
    async with connect_api_server(Settings(standalone=True)) as api:
        assert api is None


async def test_files_do_not_replace_a_live_cluster() -> None:
    with pytest.raises(ConfigError, match="--facts: replaces a live cluster: add --standalone"):
        async with connect_api_server(Settings(facts="folder")):
            pass


async def test_an_upgrade_is_noticed_and_an_error_is_not_one(tmp_path: Path) -> None:
    versions: list[Version] = []
    async with listening() as server:
        server.script("/version", version("v1.35.1"), Response(500), version("odd"))
        server.version = "v1.36.0"
        settings = Settings(kubeconfig=write_kubeconfig(tmp_path, server.url))
        async with connect_api_server(settings) as api:
            assert api is not None
            following = asyncio.create_task(follow_version(api, 0.0, versions.append))
            await settled(lambda: len(versions) == 2)
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    assert versions == [Version(1, 35), Version(1, 36)]


STREAMING: dict[Version, bool] = {Version(1, 31): False, Version(1, 32): True, NEWEST_VERSION: True}


@asynccontextmanager
async def environment(
    at: Version = NEWEST_VERSION, stream: io.BytesIO | None = None, metrics: Metrics | None = None
) -> AsyncGenerator[ReflectorEnvironment]:
    """Build the environment of reflectors whose API server is never called."""
    log = server_context(stream).log
    async with connect_api_server(Settings(kubeconfig="none")) as api:
        assert api is not None
        yield build_reflector_environment(api, at, metrics or Metrics(), log)


@pytest.mark.parametrize(("at", "streams"), STREAMING.items(), ids=map(str, STREAMING))
async def test_lists_are_streamed_from_kubernetes_1_32_on(at: Version, streams: bool) -> None:
    async with environment(at) as reflectors:
        assert reflectors.streams is streams


async def test_restarts_are_counted_and_errors_are_logged() -> None:
    stream, metrics = io.BytesIO(), Metrics()
    async with environment(stream=stream, metrics=metrics) as reflectors:
        reflectors.report_restart("Service", "ended", "")
        reflectors.report_restart("Service", "expired", "it is gone")

    assert messages(stream) == ["it is gone"]
    for reason in ("ended", "expired"):
        labels = {"kind": "Service", "reason": reason}
        assert metrics.registry.get_sample_value("evenspread_watch_restarts_total", labels) == 1


async def test_skipped_objects_are_counted_and_each_is_named_once() -> None:
    stream, metrics = io.BytesIO(), Metrics()
    skipped = SkippedObject("shop", "web", "shape", "spec is no object")
    async with environment(stream=stream, metrics=metrics) as reflectors:
        reflectors.report_skipped("Service", skipped)
        reflectors.report_skipped("Service", skipped)

    (line,) = logged(stream)
    assert (line["event"], line["namespace"], line["name"]) == ("skipped", "shop", "web")
    labels = {"kind": "Service", "reason": "shape"}
    assert metrics.registry.get_sample_value("evenspread_objects_skipped_total", labels) == 2
