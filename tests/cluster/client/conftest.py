"""An API server that answers as a test scripts it, and its client."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.apiserver import ApiServer, listening, write_kubeconfig
from tests.cluster.client.pod import PATIENT, Clock
from webhook.cluster.client import Api, ApiAccess


@pytest.fixture(autouse=True)
def _no_system_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)  # they take long to read


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with listening() as started:
        yield started


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def api(server: ApiServer, clock: Clock, tmp_path: Path) -> AsyncIterator[Api]:
    access = ApiAccess(kubeconfig=write_kubeconfig(tmp_path, server.url))
    async with Api(access, clock, PATIENT) as made:
        yield made
