"""A pod in which the client of the API server runs, and its clock."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trustme

from tests.apiserver import (
    ApiServer,
    listening,
)
from webhook.cluster.client import ApiAccess, Timeouts

PATIENT = Timeouts(connect=60.0, answer=60.0, silence=60.0)
POD = {"KUBERNETES_SERVICE_HOST": "127.0.0.1"}


class Clock:
    """A clock that a test sets: seconds in ``now``."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Pod:
    """A pod's service account, and an API server with TLS."""

    def __init__(self, folder: Path) -> None:
        self.token = folder / "token"
        self.ca = folder / "ca.crt"
        self.server = ApiServer()
        self.authority = trustme.CA()
        self.token.write_text("first\n")
        self.authority.cert_pem.write_to_path(str(self.ca))

    def read(self, file: str) -> str:
        path: Path = getattr(self, file)
        return path.read_text()

    def write(self, file: str, text: str) -> None:
        path: Path = getattr(self, file)
        path.write_text(text)

    @property
    def access(self) -> ApiAccess:
        environ = {**POD, "KUBERNETES_SERVICE_PORT": str(self.server.port)}
        return ApiAccess(token_file=str(self.token), ca_file=str(self.ca), environ=environ)

    @property
    def tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        return context

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with listening(self.server, self.tls):
            yield
