"""
The few calls that certificates need of the Kubernetes API, as raw JSON.

No client is made here: the ``ApiClient`` of kubernetes_asyncio is handed in. Its models are not
used, and with them its log line that repeats every body it receives, keys of Secrets included.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Protocol

from certs.errors import AbsentError, ConflictError, StoreError

TIMEOUT_S = 10.0
"""For one call: a Secret is a few kilobytes, and who waits for it serves on meanwhile."""

Operation = Mapping[str, Any]
"""One operation of a JSON Patch (RFC 6902)."""

_CONFLICTS = {HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}
"""The API server answers a patch whose ``test`` fails with 422 Invalid."""


class Client(Protocol):
    """The part of ``kubernetes_asyncio.client.ApiClient`` that is used."""

    def call_api(
        self,
        resource_path: str,
        method: str,
        *,
        header_params: dict[str, str],
        body: Any,
        auth_settings: list[str],
        _preload_content: bool,
        _request_timeout: float,
    ) -> Any:
        """
        Send a request; awaitable, gives the response of aiohttp.

        Raises:
            Exception: There was no answer; what it says is told to operators.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    An object as the API server has it.

    Attributes:
        content: Its JSON.
        resource_version: What a write must test, so that it fails if somebody else has written.
        at: The API server's clock, to the second; None if it does not say.
    """

    content: Mapping[str, Any]
    resource_version: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """
    One object of the API.

    Attributes:
        client: Sends the requests.
        path: Of its URL, as in ``/api/v1/namespaces/ns/secrets/name``.
        title: What people call it, for errors.
    """

    client: Client
    path: str
    title: str

    async def read(self) -> Reply:
        """
        Read it as it is now: without a resource version, the answer is never an old one.

        Raises:
            AbsentError: It does not exist.
            StoreError: There was no answer, or another one.
        """
        return await self._call("GET", None, {})

    async def patch(self, operations: Sequence[Operation], *, resource_version: str) -> None:
        """
        Change what was read; the first operation tests that nobody else has changed it.

        Raises:
            ConflictError: Somebody has.
            AbsentError: It does not exist any more.
            StoreError: There was no answer, or another one; it may be changed or not.
        """
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version}
        await self._call("PATCH", [test, *operations], _JSON_PATCH)

    async def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """
        Set annotations, whatever else it holds; None removes one.

        Raises:
            AbsentError: It does not exist.
            StoreError: There was no answer, or another one.
        """
        body = {"metadata": {"annotations": dict(annotations)}}
        await self._call("PATCH", body, _MERGE_PATCH)

    async def _call(self, method: str, body: Any, headers: Mapping[str, str]) -> Reply:
        try:
            response = await self.client.call_api(
                self.path,
                method,
                header_params={"Accept": "application/json", **headers},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=TIMEOUT_S,
            )
            content = await response.read()
        except Exception as error:  # aiohttp's, asyncio's, and those of plugins
            said = str(error) or type(error).__name__
            raise StoreError(self.title, f"no answer: {said}") from error
        return self._judge(response.status, response.headers, content)

    def _judge(self, status: int, headers: Mapping[str, str], content: bytes) -> Reply:
        if status == HTTPStatus.NOT_FOUND:
            raise AbsentError(self.title)
        if status in _CONFLICTS:
            raise ConflictError(self.title)
        if status != HTTPStatus.OK:
            raise StoreError(self.title, f"the API server answered {status}{_hint(status)}")
        try:
            found = json.loads(content)
            version = str(found["metadata"]["resourceVersion"])
        except (KeyError, TypeError, ValueError, RecursionError):
            raise StoreError(self.title, "the API server's answer is no object") from None
        return Reply(content=found, resource_version=version, at=_read_date(headers.get("Date")))


_JSON_PATCH = {"Content-Type": "application/json-patch+json"}
_MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


def _hint(status: int) -> str:
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return "; check the RBAC rules of the service account"
    return ""


def _read_date(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, IndexError, OverflowError):  # the parser's own, of odd dates
        return None
    return moment if moment.tzinfo else None
