"""
Client of ``evenspread doctor``: requests to an API server with the rights of the user.

A refusal is a result, not an error: ``DoctorClient.get_object`` and ``list_objects`` return a
``Lookup`` that names the missing right.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from webhook.cluster.discovery import ResourcePath
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    NO_QUERY,
    ApiClient,
    ApiStatus,
    FailureReason,
    Query,
)
from webhook.doctor.installation import Lookup
from webhook.errors import ApiError

JSON_PATCH = "application/json-patch+json"

T = TypeVar("T")

_decode_status = msgspec.json.Decoder(ApiStatus).decode


@dataclass(frozen=True)
class DoctorResponse:
    """
    One response of the API server.

    Attributes:
        status: HTTP status code.
        warnings: Texts of the ``Warning`` headers, in order.
    """

    status: int
    body: bytes
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The message of a failed response; its first bytes if it is no ``Status`` object."""
        try:
            return _decode_status(self.body).message
        except DECODE_ERRORS:
            return self.body[:MOST_QUOTED_BYTES].decode(errors="replace").strip()


MOST_QUOTED_BYTES = 200  # bytes: about one sentence


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class DoctorClient:
    """Sends requests to one API server."""

    def __init__(self, api: ApiClient) -> None:
        """Use a client of the API server."""
        self.api = api

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | Sequence[Any] | None = None,
        query: Query = NO_QUERY,
        content_type: str = "application/json",
    ) -> DoctorResponse:
        """
        Send one request and return its response, whatever the status is.

        Raises:
            ApiError: The API server did not respond, or does not accept the credentials.
        """
        content = b"" if body is None else msgspec.json.encode(body)
        response = await self.api.send(method, path, query, content, content_type)
        warnings = _read_warnings(response.headers.get("warning", ()))
        result = DoctorResponse(response.status, response.body, warnings)
        if result.status == HTTPStatus.UNAUTHORIZED:
            problem = "does not accept these credentials: log in anew"
            raise ApiError(self.api.name, problem, FailureReason.UNAUTHORIZED, result.status)
        return result

    async def get_object(
        self, place: ResourcePath, kind: type[T], name: str, namespace: str = ""
    ) -> Lookup[T]:
        """Get one object."""
        result = await self.send("GET", place.item(namespace, name))
        if result.status == HTTPStatus.NOT_FOUND:
            return Lookup()
        needs = describe_right("get", place, namespace)
        return _decode_response(result, needs, msgspec.json.Decoder(kind).decode)

    async def list_objects(
        self, place: ResourcePath, kind: type[T], namespace: str = "", query: Query = NO_QUERY
    ) -> Lookup[tuple[T, ...]]:
        """List all objects of a kind; the list is empty if the kind does not exist."""
        result = await self.send("GET", place.within(namespace).collection, query=query)
        if result.status == HTTPStatus.NOT_FOUND:
            return Lookup(())
        needs = describe_right("list", place, namespace)
        return _decode_response(result, needs, partial(_decode_items, kind))

    async def list_custom(
        self, place: ResourcePath, decode: Callable[[bytes], T]
    ) -> Lookup[tuple[T, ...]]:
        """List all objects of a custom kind; absent if the API server does not have the kind."""
        result = await self.send("GET", place.collection)
        if result.status == HTTPStatus.NOT_FOUND:
            return Lookup()
        return _decode_response(result, describe_right("list", place), partial(_decode_all, decode))

    async def get_text(self, path: str, needs: str, query: Query = NO_QUERY) -> Lookup[str]:
        """Get a page of text, whatever its status is: an unready replica responds with 503."""
        result = await self.send("GET", path, query=query)
        if result.status == HTTPStatus.FORBIDDEN:
            return Lookup(problem=f"needs {needs}")
        if result.body.startswith(b"{") or result.status == HTTPStatus.NOT_FOUND:
            return Lookup(problem=result.message)
        return Lookup(result.body.decode(errors="replace"))


def describe_right(verb: str, place: ResourcePath, namespace: str = "") -> str:
    """Describe a right, such as ``get on deployments.apps in namespace shop``."""
    core, _, versioned = place.root.partition("/apis/")
    group = f".{versioned.partition('/')[0]}" if not core else ""
    where = f" in namespace {namespace}" if namespace else ""
    return f"{verb} on {place.plural}{group}{where}"


def _decode_response(
    response: DoctorResponse, needs: str, decode: Callable[[bytes], T]
) -> Lookup[T]:
    if response.status == HTTPStatus.FORBIDDEN:
        return Lookup(problem=f"needs {needs}")
    if response.status != HTTPStatus.OK:
        return Lookup(
            problem=f"the API server answered {response.status} to {needs}: {response.message}"
        )
    try:
        return Lookup(decode(response.body))
    except DECODE_ERRORS as error:
        return Lookup(problem=f"the answer to {needs} cannot be understood: {error}")


def _decode_items(kind: type[T], body: bytes) -> tuple[T, ...]:
    return _decode_all(msgspec.json.Decoder(kind).decode, body)


def _decode_all(decode: Callable[[bytes], T], body: bytes) -> tuple[T, ...]:
    listed = msgspec.json.decode(body, type=_List)
    return tuple(decode(bytes(item)) for item in listed.items or ())


def _read_warnings(headers: Sequence[str]) -> tuple[str, ...]:
    """
    Extract the texts of headers such as ``299 - "text"``, without quotes and escapes.

    Source: apimachinery pkg/util/net http.go ``NewWarningHeader``.
    """
    texts = (header.split(" ", 2)[-1] for header in headers)
    return tuple(text[1:-1].replace('\\"', '"').replace("\\\\", "\\") for text in texts)
