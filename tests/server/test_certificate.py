"""Which certificate is served, how it is exposed, and which clients may call."""

import asyncio
import io
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from certs.clients import Clients
from certs.errors import PairError
from certs.rotate import SelfSource
from certs.serving import LiveContext
from certs.source import CertificateSource, CertificateStatus
from certs.state import Lifetimes
from tests.apiserver import ApiServer
from tests.certs.world import authority
from tests.server.serving import logged, server_context, settled
from webhook.config.settings import Settings
from webhook.errors import ConfigError
from webhook.server.apiserver import connect_api_server
from webhook.server.certificate import (
    admitted_clients,
    authority_file,
    build_certificate,
    check_certificate,
    lifetimes,
)
from webhook.server.events import EventRecorder
from webhook.server.health import ReadinessCondition
from webhook.server.http.limits import Limits

CALLERS = authority()


def source(**settings: Any) -> CertificateSource:
    """Build the source of a server without a cluster."""
    return build_certificate(server_context(**settings), LiveContext(), None)


@asynccontextmanager
async def source_in_cluster(**settings: Any) -> AsyncGenerator[CertificateSource]:
    """Build the source of a server whose API server is never called."""
    async with connect_api_server(Settings(kubeconfig="none")) as api:
        yield build_certificate(server_context(None, api, **settings), LiveContext(), None)


async def test_a_standalone_certificate_is_exposed_in_metrics_and_readiness(tmp_path: Path) -> None:
    stream = io.BytesIO()
    context = server_context(stream, standalone=True, state=str(tmp_path))
    standalone = build_certificate(context, LiveContext(), None)
    before = check_certificate(standalone)

    await standalone.start()

    assert before["certificate"] == ReadinessCondition(ok=False, detail="there is none yet")
    assert check_certificate(standalone)["certificate"] == ReadinessCondition(ok=True)
    value = context.metrics.registry.get_sample_value
    assert standalone.status.leaf is not None
    labels = {"type": "leaf", "source": "standalone"}
    assert (
        value("evenspread_certificate_expiry_timestamp_seconds", labels)
        == standalone.status.leaf.not_valid_after_utc.timestamp()
    )
    assert math.isnan(value("evenspread_ca_bundle_in_sync") or 0)
    assert authority_file(context.settings) == tmp_path / "ca.crt"
    rotations = {"type": "leaf", "result": "success"}
    assert value("evenspread_certificate_rotations_total", rotations) == 1
    assert {line["event"] for line in logged(stream)} == {"certificate"}


async def test_an_invalid_newer_certificate_is_a_failed_rotation(tmp_path: Path) -> None:
    await source(standalone=True, state=str(tmp_path)).start()
    stream = io.BytesIO()
    context = server_context(stream, tls="files", tls_dir=str(tmp_path))
    context = replace(context, limits=Limits(certificate_poll=0))
    api = ApiServer()
    events = EventRecorder(api, context)
    files = build_certificate(context, LiveContext(), events)
    await files.start()
    (tmp_path / "tls.crt").write_text("no certificate")

    polling = asyncio.create_task(files.run())
    await settled(lambda: "warning" in {line["level"] for line in logged(stream)})
    writing = asyncio.create_task(events.run())
    await settled(lambda: bool(api.requests))
    for task in (polling, writing):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    (event,) = [request.content for request in api.requests]
    assert (event["type"], event["reason"]) == ("Warning", "CertificateProblem")
    assert "no readable PEM certificate" in event["message"]
    labels = {"type": "leaf", "result": "failure"}
    name = "evenspread_certificate_rotations_total"
    assert context.metrics.registry.get_sample_value(name, labels) == 1


async def test_files_are_served_from_their_folder(tmp_path: Path) -> None:
    await source(standalone=True, state=str(tmp_path)).start()
    settings = {"tls": "files", "tls_dir": str(tmp_path)}
    files = source(**settings)
    async with source_in_cluster(**settings) as files_in_cluster:
        for file_source in (files, files_in_cluster):
            await file_source.start()

    assert files.status.ready
    assert files_in_cluster.status.ready
    assert authority_file(Settings.model_validate(settings)) == tmp_path / "ca.crt"


async def test_a_folder_without_a_ca_names_none(tmp_path: Path) -> None:
    settings = {"tls": "files", "tls_dir": str(tmp_path)}

    assert authority_file(Settings.model_validate(settings)) is None
    with pytest.raises(PairError):
        await source(**settings).start()


async def test_the_own_authority_is_kept_in_a_secret_of_the_cluster() -> None:
    async with source_in_cluster(name="spread", namespace="ns") as own:
        assert isinstance(own, SelfSource)
        assert own.hosts[0] == "spread.ns.svc"
        assert own.secret.title == "Secret ns/spread-ca"
        assert own.lifetimes.overlap == timedelta(minutes=10)
    assert authority_file(Settings()) is None


def test_an_own_authority_needs_a_cluster() -> None:
    with pytest.raises(ConfigError, match="--tls: self keeps its authority in a cluster"):
        source(tls="self")


async def test_an_own_authority_needs_a_namespace() -> None:
    with pytest.raises(ConfigError, match="--namespace: is needed outside of a pod"):
        async with source_in_cluster(tls="self"):
            pass


def test_files_need_a_folder() -> None:
    with pytest.raises(ConfigError, match="--tls-dir: is needed with --tls files"):
        source(tls="files")


def test_the_lifetimes_are_those_of_the_settings() -> None:
    settings = Settings(test_lifetimes="leaf=10s,ca=1h")
    overlap = timedelta(seconds=5)

    assert lifetimes(settings, overlap) == Lifetimes(
        leaf=timedelta(seconds=10), ca=timedelta(hours=1), overlap=overlap
    )
    assert lifetimes(Settings(), overlap) == Lifetimes(overlap=overlap)


# lifetimes, overlap -> message
LIFETIME_ERRORS = {
    "lifetimes for a test": ("ca=30s", timedelta(seconds=10), "--test-lifetimes: a CA would end"),
    "an overlap of half a year": ("", timedelta(days=180), "caOverlap: a CA would end"),
}


@pytest.mark.parametrize(
    ("written", "overlap", "message"), LIFETIME_ERRORS.values(), ids=LIFETIME_ERRORS
)
def test_contradicting_lifetimes_are_reported(
    written: str, overlap: timedelta, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        lifetimes(Settings(test_lifetimes=written), overlap)


# status of a source -> its readiness
STATUSES = {
    "served": (CertificateStatus(ready=True), True, ""),
    "missing": (CertificateStatus(), False, "there is none yet"),
    "with a problem, but served": (
        CertificateStatus(ready=True, problem="is old"),
        True,
        "is old",
    ),
    "without a webhook configuration": (
        CertificateStatus(ready=True, absent=("Hook a", "Hook b")),
        True,
        "Hook a does not exist; Hook b does not exist",
    ),
    "with a problem": (CertificateStatus(problem="is broken"), False, "is broken"),
    "not trusted yet": (
        CertificateStatus(leaf=CALLERS.chain[0]),
        False,
        "the webhook configurations do not trust it yet",
    ),
}


class FakeSource:
    """A source with a fixed status."""

    def __init__(self, status: CertificateStatus) -> None:
        self.status = status

    async def start(self) -> None:
        raise AssertionError

    async def run(self) -> None:
        raise AssertionError


@pytest.mark.parametrize(("status", "ok", "detail"), STATUSES.values(), ids=STATUSES)
def test_the_readiness_follows_the_status(status: CertificateStatus, ok: bool, detail: str) -> None:
    assert check_certificate(FakeSource(status)) == {"certificate": ReadinessCondition(ok, detail)}


def test_without_a_ca_every_client_may_call() -> None:
    assert admitted_clients(Settings()) is None


def test_the_ca_and_the_names_come_from_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "clients.crt"
    file.write_bytes(CALLERS.certificate_pem())

    clients = admitted_clients(Settings(client_ca=str(file), client_names="a, b.example,"))

    assert clients == Clients(authorities=CALLERS.chain, names=frozenset({"a", "b.example"}))


CONTRADICTIONS = {
    "names without a CA": (
        {"client_names": "a"},
        "--client-names: needs --client-ca: name the file of the CA of client certificates",
    ),
    "an empty list of names, which would admit any name": (
        {"client_ca": "ca.crt", "client_names": " ,"},
        "--client-names: contains no name: write one, or leave it out",
    ),
    "a missing file": (
        {"client_ca": "/no/ca.crt"},
        "--client-ca: '/no/ca.crt' cannot be read: No such file or directory",
    ),
}


@pytest.mark.parametrize(("members", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_contradicting_client_settings_are_reported(members: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        admitted_clients(Settings.model_validate(members))

    assert str(caught.value) == message
