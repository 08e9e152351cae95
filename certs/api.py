"""
Read, patch and annotate one object of the Kubernetes API, as raw JSON.

``ApiObject`` is the entry point. The package creates no client: ``ObjectClient`` declares the part
of one that it needs. No object is decoded into a model or logged, because a Secret holds keys.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Protocol

from certs.errors import AbsentError, ConflictError, StoreError

CALL_TIMEOUT_S = 10.0
"""For one call: a Secret has a few kilobytes, and the old certificate serves in the meantime."""

PatchOperation = Mapping[str, Any]
"""One operation of a JSON Patch (RFC 6902)."""

_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"

_REFUSALS = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_CONFLICTS = {HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}
"""The API server answers a patch whose ``test`` fails with 422 Invalid."""


class ObjectResponse(Protocol):
    """A complete response of the API server."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def body(self) -> bytes:
        """Content of the response."""
        ...

    @property
    def headers(self) -> Mapping[str, tuple[str, ...]]:
        """Lower-case name to values, in order."""
        ...


class ObjectClient(Protocol):
    """The part of an API server's client that this package needs."""

    async def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes, content_type: str
    ) -> ObjectResponse:
        """
        Send a request and return the response, whatever its status.

        Raises:
            Exception: There was no response; operators see its message.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectState:
    """
    An object as the API server returned it.

    Attributes:
        content: Decoded JSON.
        resource_version: A write tests it, so that it fails if another client has written since.
        at: The API server's clock, in whole seconds; None if the response has no valid date.
    """

    content: Mapping[str, Any]
    resource_version: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiObject:
    """
    One object of the API.

    Attributes:
        client: Sends the requests.
        path: Path of its URL, such as ``/api/v1/namespaces/ns/secrets/name``.
        title: Kind and name for error messages.
    """

    client: ObjectClient
    path: str
    title: str

    async def read(self) -> ObjectState:
        """
        Read the newest state; without a resource version the API server never answers from a cache.

        Raises:
            AbsentError: It does not exist.
            StoreError: No response, or one of another status.
        """
        return await self._call("GET")

    async def patch(self, operations: Sequence[PatchOperation], *, resource_version: str) -> None:
        """
        Patch the object; the first operation tests that no other client has changed it.

        Raises:
            ConflictError: Another client has changed it.
            AbsentError: It no longer exists.
            StoreError: No response, or one of another status; the object may have changed or not.
        """
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version}
        await self._call("PATCH", [test, *operations], _JSON_PATCH)

    async def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """
        Set annotations and keep everything else; None removes an annotation.

        Raises:
            AbsentError: It does not exist.
            StoreError: No response, or one of another status.
        """
        body = {"metadata": {"annotations": dict(annotations)}}
        await self._call("PATCH", body, _MERGE_PATCH)

    async def _call(self, method: str, content: Any = None, content_type: str = "") -> ObjectState:
        body = b"" if content is None else json.dumps(content).encode()
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                response = await self.client.send(method, self.path, {}, body, content_type)
        except Exception as error:  # of the client, which this package does not know
            message = str(error) or type(error).__name__
            raise StoreError(self.title, f"no answer: {message}") from error
        status = response.status
        if status == HTTPStatus.NOT_FOUND:
            raise AbsentError(self.title, "does not exist")
        if status in _CONFLICTS:
            raise ConflictError(self.title, "was changed by another client; read it again")
        if status != HTTPStatus.OK:
            hint = "; check the RBAC rules of the service account" if status in _REFUSALS else ""
            raise StoreError(self.title, f"the API server answered {status}{hint}")
        return self._read_state(response)

    def _read_state(self, response: ObjectResponse) -> ObjectState:
        try:
            content = json.loads(response.body)
            version = str(content["metadata"]["resourceVersion"])
        except (KeyError, TypeError, ValueError, RecursionError):
            raise StoreError(self.title, "the API server's answer is no object") from None
        (date,) = response.headers.get("date", ())[:1] or ("",)
        return ObjectState(content=content, resource_version=version, at=_parse_date(date))


def _parse_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):  # of the parser, for odd dates
        return None
    return moment if moment.tzinfo else None
