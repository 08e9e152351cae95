"""The API server that a server follows: its client, its version, and how its watches are paced."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from webhook.cluster.backoff import Backoff
from webhook.cluster.discovery import SkippedObject
from webhook.cluster.protocol import FailureReason
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.cluster.timeslices import TimeSlicer
from webhook.config.settings import Settings
from webhook.errors import ApiError, ConfigError, VersionError
from webhook.policy.api.versions import NEWEST_VERSION, Version, parse_version
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from webhook.cluster.client import Api

MOST_NAMED = 1000  # skipped objects that the log names, each once; 0.2 MB, and as many lines

STREAMS = Version(1, 32)  # from here on API servers stream initial lists, KEP-3157


@asynccontextmanager
async def connect_api_server(settings: Settings) -> "AsyncGenerator[Api | None]":
    """
    Give the API server of the settings; None if there is to be none.

    Raises:
        ConfigError: The settings speak of two clusters, one of them in files.
    """
    if settings.standalone:
        yield None
        return
    if settings.cluster:
        problem = "stands for a cluster that is not there: add --standalone, or leave it out"
        raise ConfigError(problem, "--cluster")
    # In cluster mode only: it takes 0.6 s and 55 MiB.
    from webhook.cluster.client import Api, ApiAccess  # noqa: PLC0415

    access = ApiAccess(kubeconfig=settings.kubeconfig, context=settings.context)
    async with Api(access, time.monotonic) as api:
        yield api


async def wait_for_version(api: "Api", log: Log) -> Version:
    """
    Ask for the API server's version until there is an answer; each new problem is logged once.

    Raises:
        ApiError: There are no usable credentials.
        ConfigError: The version cannot be understood.
    """
    backoff, told = Backoff(random.random, asyncio.sleep), ""
    while True:
        try:
            version = parse_version(await api.version())
        except VersionError as error:
            problem = f"is needed, since the API server gives its version as {error.text!r}"
            raise ConfigError(problem, "--kube-version") from error
        except ApiError as error:
            if error.reason == FailureReason.CREDENTIALS:
                raise
            if str(error) != told:
                told = str(error)
                log.warning("version", says=told)
            await backoff.pause()
        else:
            warn_if_newer(version, log)
            return version


def warn_if_newer(version: Version, log: Log) -> None:
    """Say so if a version came after this program."""
    if version > NEWEST_VERSION:
        said = f"Kubernetes {version} is newer than what is known: it is judged as {NEWEST_VERSION}"
        log.warning("version", says=said)


async def follow_version(
    api: "Api", interval_s: float, judge_by: Callable[[Version], None]
) -> None:
    """Notice when the API server has been upgraded, or rolled back; until cancelled."""
    while True:
        await asyncio.sleep(interval_s)
        try:
            version = parse_version(await api.version())
        except (ApiError, VersionError):
            continue  # the old one goes on; the caches tell what is wrong
        judge_by(version)


def reflector_means(
    api: "Api", version: Version, metrics: Metrics, log: Log
) -> ReflectorEnvironment:
    """Give reflectors what they need to follow an API server."""

    def tell(kind: str, reason: str, sentence: str) -> None:
        metrics.restarts.labels(kind, reason).inc()
        if sentence:
            log.warning("watch", kind=kind, reason=reason, says=sentence)
        else:
            log.debug("watch", kind=kind, reason=reason)

    named = set[tuple[str, str, str, str]]()

    def skip(kind: str, skipped: SkippedObject) -> None:
        metrics.skipped.labels(kind, skipped.reason).inc()
        key = (kind, skipped.namespace, skipped.name, skipped.reason)
        if key not in named and len(named) < MOST_NAMED:
            named.add(key)
            log.warning("skipped", kind=kind, **skipped._asdict())

    return ReflectorEnvironment(
        source=api,
        pace=TimeSlicer(time.monotonic),
        clock=time.monotonic,
        jitter=random.random,
        sleep=asyncio.sleep,
        tell=tell,
        skip=skip,
        streams=version >= STREAMS,
    )
