"""
Asking an API server with the rights of whoever runs the command.

A refusal is an answer here: what may not be read becomes part of what was found.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

import msgspec

from webhook.cluster.discovery import ResourcePath
from webhook.cluster.protocol import (
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


class DoctorResponse(NamedTuple):
    """
    One answer.

    Attributes:
        status: Of HTTP.
        warnings: The texts of its ``Warning`` headers, in order.
    """

    status: int
    body: bytes
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What a failure says; its beginning if it is no ``ApiStatus``."""
        try:
            return _decode_status(self.body).message
        except msgspec.MsgspecError:
            return self.body[:MOST_QUOTED_BYTES].decode(errors="replace").strip()


MOST_QUOTED_BYTES = 200  # bytes: a sentence


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class DoctorClient:
    """Asks one API server."""

    def __init__(self, reach: ApiClient) -> None:
        """Ask through this."""
        self.reach = reach

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | Sequence[Any] | None = None,
        query: Query = NO_QUERY,
        content_type: str = "application/json",
    ) -> DoctorResponse:
        """
        Send one request; whatever the answer is, it is given.

        Raises:
            ApiError: There was none, or the credentials are not accepted.
        """
        content = b"" if body is None else msgspec.json.encode(body)
        response = await self.reach.send(method, path, query, content, content_type)
        warnings = _warnings(response.headers.get("warning", ()))
        answer = DoctorResponse(response.status, response.body, warnings)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            problem = "does not accept these credentials: log in anew"
            raise ApiError(self.reach.name, problem, FailureReason.UNAUTHORIZED, answer.status)
        return answer

    async def look_at(
        self, place: ResourcePath, kind: type[T], name: str, namespace: str = ""
    ) -> Lookup[T]:
        """Look for one object."""
        answer = await self.ask("GET", place.item(namespace, name))
        if answer.status == HTTPStatus.NOT_FOUND:
            return Lookup()
        needs = describe_right("get", place, namespace)
        return _read(answer, needs, msgspec.json.Decoder(kind).decode)

    async def look_through(
        self, place: ResourcePath, kind: type[T], namespace: str = "", query: Query = NO_QUERY
    ) -> Lookup[tuple[T, ...]]:
        """Look for all objects of a kind; there are none where the kind does not exist."""
        answer = await self.ask("GET", place.within(namespace).collection, query=query)
        if answer.status == HTTPStatus.NOT_FOUND:
            return Lookup(())
        needs = describe_right("list", place, namespace)
        return _read(answer, needs, partial(_items, kind))

    async def page(self, path: str, needs: str, query: Query = NO_QUERY) -> Lookup[str]:
        """Read a page of text, also one that a replica answers 503 with."""
        answer = await self.ask("GET", path, query=query)
        if answer.status == HTTPStatus.FORBIDDEN:
            return Lookup(lacks=f"needs {needs}")
        if answer.body.startswith(b"{") or answer.status == HTTPStatus.NOT_FOUND:
            return Lookup(lacks=answer.message)
        return Lookup(answer.body.decode(errors="replace"))


def describe_right(verb: str, place: ResourcePath, namespace: str = "") -> str:
    """Name the right that a look takes, as ``get on deployments.apps in namespace shop``."""
    core, _, versioned = place.root.partition("/apis/")
    group = f".{versioned.partition('/')[0]}" if not core else ""
    where = f" in namespace {namespace}" if namespace else ""
    return f"{verb} on {place.plural}{group}{where}"


def _read(answer: DoctorResponse, needs: str, decode: Callable[[bytes], T]) -> Lookup[T]:
    if answer.status == HTTPStatus.FORBIDDEN:
        return Lookup(lacks=f"needs {needs}")
    if answer.status != HTTPStatus.OK:
        return Lookup(lacks=f"the API server answered {answer.status} to {needs}: {answer.message}")
    try:
        return Lookup(decode(answer.body))
    except msgspec.MsgspecError as error:
        return Lookup(lacks=f"the answer to {needs} cannot be understood: {error}")


def _items(kind: type[T], body: bytes) -> tuple[T, ...]:
    listed = msgspec.json.decode(body, type=_List)
    return tuple(msgspec.json.decode(each, type=kind) for each in listed.items or ())


def _warnings(headers: Sequence[str]) -> tuple[str, ...]:
    """
    The texts of headers as ``299 - "text"``, their quotes and escapes undone.

    Source: apimachinery pkg/util/net http.go ``NewWarningHeader``.
    """
    texts = (header.split(" ", 2)[-1] for header in headers)
    return tuple(text[1:-1].replace('\\"', '"').replace("\\\\", "\\") for text in texts)
