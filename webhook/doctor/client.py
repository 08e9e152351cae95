"""
Asking an API server with the rights of whoever runs the command.

A refusal is an answer here: what may not be read becomes part of what was found.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from certs.api import Client
from webhook.cluster.faults import why
from webhook.cluster.resources import Place
from webhook.cluster.source import NO_QUERY, Query, Reason, Source, Status
from webhook.doctor.installation import Seen
from webhook.errors import ApiError, EvenspreadError

TIMEOUT_S = 35.0
"""For one call: a webhook may take 30 s, and the API server adds its own work."""

JSON_PATCH = "application/json-patch+json"

T = TypeVar("T")

_decode_status = msgspec.json.Decoder(Status).decode


class Reach(Source, Client, Protocol):
    """An API server, as ``webhook.cluster.client`` reaches it."""


class Answer(NamedTuple):
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
        """What a failure says; its beginning if it is no ``Status``."""
        try:
            return _decode_status(self.body).message
        except msgspec.MsgspecError:
            return self.body[:LONGEST_BODY_TOLD].decode(errors="replace").strip()


LONGEST_BODY_TOLD = 200  # bytes: a sentence


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class Asker:
    """Asks one API server."""

    def __init__(self, reach: Reach) -> None:
        """Ask through this."""
        self.reach = reach

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | Sequence[Any] | None = None,
        query: Query = NO_QUERY,
        content_type: str = "application/json",
    ) -> Answer:
        """
        Send one request; whatever the answer is, it is given.

        Raises:
            ApiError: There was none, or the credentials are not accepted.
        """
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        options: dict[str, Any] = {"query_params": list(query.items())}
        try:
            response = await self.reach.call_api(
                path,
                method,
                header_params=headers
                if body is None
                else {**headers, "Content-Type": content_type},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=TIMEOUT_S,
                **options,
            )
            content: bytes = await response.read()
        except EvenspreadError:
            raise
        except Exception as error:  # of the network; its kinds are the client's own business
            problem = f"cannot be reached: {why(error)}"
            raise ApiError(self.reach.name, problem, Reason.UNREACHABLE) from error
        answer = Answer(response.status, content, _warnings(response.headers.getall("Warning", [])))
        if answer.status == HTTPStatus.UNAUTHORIZED:
            problem = "does not accept these credentials: log in anew"
            raise ApiError(self.reach.name, problem, Reason.UNAUTHORIZED, answer.status)
        return answer

    async def look_at(self, place: Place, kind: type[T], name: str, namespace: str = "") -> Seen[T]:
        """Look for one object."""
        answer = await self.ask("GET", place.item(namespace, name))
        if answer.status == HTTPStatus.NOT_FOUND:
            return Seen()
        needs = right_of("get", place, namespace)
        return _read(answer, needs, msgspec.json.Decoder(kind).decode)

    async def look_through(
        self, place: Place, kind: type[T], namespace: str = "", query: Query = NO_QUERY
    ) -> Seen[tuple[T, ...]]:
        """Look for all objects of a kind; there are none where the kind does not exist."""
        answer = await self.ask("GET", place.within(namespace).collection, query=query)
        if answer.status == HTTPStatus.NOT_FOUND:
            return Seen(())
        needs = right_of("list", place, namespace)
        return _read(answer, needs, partial(_items, kind))

    async def page(self, path: str, needs: str, query: Query = NO_QUERY) -> Seen[str]:
        """Read a page of text, also one that a replica answers 503 with."""
        answer = await self.ask("GET", path, query=query)
        if answer.status == HTTPStatus.FORBIDDEN:
            return Seen(lacks=f"needs {needs}")
        if answer.body.startswith(b"{") or answer.status == HTTPStatus.NOT_FOUND:
            return Seen(lacks=answer.message)
        return Seen(answer.body.decode(errors="replace"))


def right_of(verb: str, place: Place, namespace: str = "") -> str:
    """Name the right that a look takes, as ``get on deployments.apps in namespace shop``."""
    core, _, versioned = place.root.partition("/apis/")
    group = f".{versioned.partition('/')[0]}" if not core else ""
    where = f" in namespace {namespace}" if namespace else ""
    return f"{verb} on {place.plural}{group}{where}"


def _read(answer: Answer, needs: str, decode: Callable[[bytes], T]) -> Seen[T]:
    if answer.status == HTTPStatus.FORBIDDEN:
        return Seen(lacks=f"needs {needs}")
    if answer.status != HTTPStatus.OK:
        return Seen(lacks=f"the API server answered {answer.status} to {needs}: {answer.message}")
    try:
        return Seen(decode(answer.body))
    except msgspec.MsgspecError as error:
        return Seen(lacks=f"the answer to {needs} cannot be understood: {error}")


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
