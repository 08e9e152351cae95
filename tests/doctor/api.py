"""An API server for ``evenspread doctor`` with prepared responses."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response
from webhook.doctor.client import DoctorClient


class Request(NamedTuple):
    """A request that the server received; the body is decoded."""

    method: str
    path: str
    query: Query
    body: Any
    content_type: str


class FakeDoctorApi:
    """
    Responds with 404 to everything without a prepared response.

    Attributes:
        requests: All requests, in order.
    """

    name = "https://api"

    def __init__(self, responses: Mapping[str, Response]) -> None:
        """Prepare responses by method and path, such as ``GET /version``."""
        self._responses = responses
        self.requests: list[Request] = []

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        """Respond to a request."""
        decoded = msgspec.json.decode(body) if body else None
        self.requests.append(Request(method, path, query, decoded, content_type))
        return self._responses.get(f"{method} {path}", Response(404, b"{}"))


def respond(value: Any, status: int = 200, *warnings: str) -> Response:
    """Build a response with a value as JSON, and with warnings."""
    headers = {"warning": tuple(f'299 - "{text}"' for text in warnings)}
    return Response(status, msgspec.json.encode(value), headers)


def refuse(message: str, status: int = 403) -> Response:
    """Build the response to a refused request."""
    return respond({"kind": "Status", "message": message}, status)


def client_of(responses: Mapping[str, Response]) -> DoctorClient:
    """Build a client of a server with these responses."""
    return DoctorClient(FakeDoctorApi(responses))
