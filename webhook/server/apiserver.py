"""
The API server that a replica watches: its client, its version, the environment of reflectors.

``connect_api_server`` is the entry point. Nothing here decides a verdict.
"""

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
from webhook.server.context import ServerContext
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from webhook.cluster.client import Api

MOST_NAMED = 1000  # skipped objects that the log names, each once; they take 0.2 MB

STREAMS = Version(1, 32)  # from here on API servers stream initial lists, KEP-3157


@asynccontextmanager
async def connect_api_server(settings: Settings) -> "AsyncGenerator[Api | None]":
    """
    Connect to the API server of the settings; gives None if they require none.

    Raises:
        ConfigError: The settings name two clusters, one of them in files.
    """
    if settings.standalone:
        yield None
        return
    if settings.facts:
        problem = "replaces a live cluster: add --standalone, or leave it out"
        raise ConfigError(problem, "--facts")
    # Imported in cluster mode only: this takes 4 MiB.
    from webhook.cluster.client import Api, ApiAccess  # noqa: PLC0415

    access = ApiAccess(kubeconfig=settings.kubeconfig, context=settings.context)
    async with Api(access, time.monotonic) as api:
        yield api


async def find_version(context: ServerContext) -> Version:
    """
    Find the Kubernetes version whose rules apply: as set, else the API server's, else the newest.

    Raises:
        ApiError: There are no usable credentials for the cluster.
        VersionError: The version of the settings cannot be parsed.
        ConfigError: The version of the API server cannot be parsed.
    """
    if context.settings.kube_version:
        version = parse_version(context.settings.kube_version)
    elif context.api is None:
        return NEWEST_VERSION
    else:
        version = await _wait_for_version(context.api, context.log)
    if version > NEWEST_VERSION:
        newer = f"Kubernetes {version} is newer than the supported versions"
        context.log.warning("version", message=f"{newer}: the rules of {NEWEST_VERSION} apply")
    return version


async def _wait_for_version(api: "Api", log: Log) -> Version:
    """Request the API server's version until it answers; each new problem is logged once."""
    backoff, last_problem = Backoff(random.random, asyncio.sleep), ""
    while True:
        try:
            return parse_version(await api.version())
        except VersionError as error:
            problem = f"is needed, since the API server gives its version as {error.text!r}"
            raise ConfigError(problem, "--kube-version") from error
        except ApiError as error:
            if error.reason == FailureReason.CREDENTIALS:
                raise
            if str(error) != last_problem:
                last_problem = str(error)
                log.warning("version", message=last_problem)
            await backoff.pause()


async def follow_version(
    api: "Api", interval_s: float, use_version: Callable[[Version], None]
) -> None:
    """Follow upgrades and rollbacks of the API server until cancelled."""
    while True:
        await asyncio.sleep(interval_s)
        try:
            version = parse_version(await api.version())
        except (ApiError, VersionError):
            continue  # the old version stays in force; the caches report the problem
        use_version(version)


def build_reflector_environment(
    api: "Api", version: Version, metrics: Metrics, log: Log
) -> ReflectorEnvironment:
    """Build what reflectors need to watch an API server."""

    def report_restart(kind: str, reason: str, message: str) -> None:
        metrics.restarts.labels(kind, reason).inc()
        if message:
            log.warning("watch", kind=kind, reason=reason, message=message)
        else:
            log.debug("watch", kind=kind, reason=reason)

    named = set[tuple[str, str, str, str]]()

    def report_skipped(kind: str, skipped: SkippedObject) -> None:
        metrics.skipped.labels(kind, skipped.reason).inc()
        key = (kind, skipped.namespace, skipped.name, skipped.reason)
        if key not in named and len(named) < MOST_NAMED:
            named.add(key)
            about = {"namespace": skipped.namespace, "name": skipped.name}
            log.warning(
                "skipped", kind=kind, **about, reason=skipped.reason, message=skipped.message
            )

    return ReflectorEnvironment(
        source=api,
        slicer=TimeSlicer(time.monotonic),
        clock=time.monotonic,
        jitter=random.random,
        sleep=asyncio.sleep,
        report_restart=report_restart,
        report_skipped=report_skipped,
        streams=version >= STREAMS,
    )
