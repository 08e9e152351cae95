"""A reflector, and the server whose script it follows."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.apiserver import listening
from tests.cluster.play import Play


@pytest.fixture
async def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Play]:
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)  # the system's CAs take long to read
    async with listening() as server:
        yield Play(server, tmp_path)
