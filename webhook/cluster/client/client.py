"""
The client of an API server: bytes of JSON for a path, with credentials that are followed.

Of kubernetes_asyncio comes the REST client; of its answers only the raw response. What its users
trip over is answered here:

* Its watch has no timeouts, no back-off, takes any text for an event and lists never again after
  410: it is not used; ``reflector`` is. Its models take thirty times as long as JSON: not used.
* Without timeouts of one's own there are none: each request here has them, against silence too.
* A status is an answer like any other to it: each one but 200 is an ``ApiError`` here.
* It reads CA, client certificate and a kubeconfig's token once, and fails in the middle of a
  request when a token file is empty: here the files are read again once a minute, a kubeconfig
  itself after a 401 or a failed handshake; what cannot be read or used leaves the old in force.
* It lets the server compress, which would have to be undone in one go: here that is declined.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self

import aiohttp
import msgspec

from webhook.cluster.client.credentials import ApiAccess, Load, identity_of, loader, new_client
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    NO_QUERY,
    FailureReason,
    Query,
    describe_error,
    status_error,
)
from webhook.errors import ApiError

RELOAD_S = 60.0  # seconds; a projected token is renewed when a fifth of its hour is left
MAX_BODY_BYTES = 64 * 1024 * 1024  # bytes; thirty times the page that is aimed at

_AUTHENTICATED = {"auth_settings": ["BearerToken"]}
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}
_WITH_BODY = {"Content-Type": "application/yaml"}  # JSON is; the library takes bytes of no JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """
    How long to wait for the API server, in seconds.

    Attributes:
        connect: For a connection and its TLS handshake.
        answer: For the whole of an answer that has an end.
        silence: For the next byte of a watch; bookmarks come each minute.
    """

    connect: float = 5.0
    answer: float = 30.0
    silence: float = 70.0


class Api:
    """
    One API server; implements ``webhook.cluster.protocol.Source`` and ``certs.api.Client``.

    An asynchronous context manager, which closes its connections.
    """

    def __init__(
        self, access: ApiAccess, clock: Callable[[], float], timeouts: Timeouts | None = None
    ) -> None:
        """
        Read nothing yet, and connect to nothing.

        Args:
            clock: Seconds; never goes back.
        """
        timeouts = timeouts or Timeouts()
        self._access = access
        self._clock = clock
        self._load: Load | None = None
        self._bounded = aiohttp.ClientTimeout(total=timeouts.answer, sock_connect=timeouts.connect)
        self._endless = aiohttp.ClientTimeout(
            total=None, sock_connect=timeouts.connect, sock_read=timeouts.silence
        )
        self._answer_s = timeouts.answer
        self._loading = asyncio.Lock()
        self._client: Any = None  # an ApiClient, whose stubs leave types open
        self._identity = b""  # of all that a connection was made with
        self._loaded = 0.0  # when; counts only with a client

    async def __aenter__(self) -> Self:
        """Do nothing: credentials are read when they are needed."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.close()

    @property
    def name(self) -> str:
        """The URL of the API server, as far as it is known."""
        return "the API server" if self._client is None else str(self._client.configuration.host)

    async def read(self, path: str, query: Query = NO_QUERY) -> bytes:
        """
        Give the body of an answer.

        Raises:
            ApiError: There was none, or its status was not 200; ExpiredError if it was 410.
        """
        with self._told():
            response = await self._ask(path, query, self._bounded)
            async with response:
                body = await self._body(response)
        if response.status != HTTPStatus.OK:
            raise status_error(self.name, response.status, body)
        return body

    async def send(
        self, method: str, path: str, query: Query = NO_QUERY, body: bytes = b""
    ) -> tuple[int, bytes]:
        """
        Send any request; gives the status of the answer, and its body.

        Args:
            body: JSON; empty for none.

        Raises:
            ApiError: There was no answer.
        """
        with self._told():
            response = await self._ask(path, query, self._bounded, method, body)
            async with response:
                return response.status, await self._body(response)

    @asynccontextmanager
    async def stream(self, path: str, query: Query) -> AsyncGenerator[AsyncIterator[bytes]]:
        """
        Give the pieces of an answer that goes on and on, as they come.

        Raises:
            ApiError: As for ``read``; also from the iterator, when the server is silent or gone.
        """
        with self._told():
            response = await self._ask(path, query, self._endless)
        try:
            if response.status != HTTPStatus.OK:
                with self._told():
                    async with asyncio.timeout(self._answer_s):
                        body = await self._body(response)
                raise status_error(self.name, response.status, body)
            async with aclosing(self._pieces(response)) as pieces:
                yield pieces
        finally:
            response.close()

    async def version(self) -> str:
        """
        Give the version of the API server, such as ``v1.33.5``.

        Raises:
            ApiError: It cannot be told.
        """
        try:
            return _decode_version(await self.read("/version")).git_version
        except DECODE_ERRORS:
            raise ApiError(self.name, "answered with no version", FailureReason.GARBAGE) from None

    async def call_api(self, resource_path: str, method: str, **options: Any) -> Any:
        """
        Send any request, as the method of this name of ``ApiClient`` does.

        After a 401 the credentials are read anew and the request is sent once more: nothing of it
        has been done.

        Raises:
            ApiError: There was no answer.
        """
        with self._told():
            response = await self._send(resource_path, method, options)
            if response.status == HTTPStatus.UNAUTHORIZED:
                response.release()
                response = await self._send(resource_path, method, options)
        return response

    async def _send(self, path: str, method: str, options: Mapping[str, Any]) -> Any:
        client = await self._current()
        response = await client.call_api(path, method, **{**options, **_AUTHENTICATED})
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._doubt()
        return response

    async def _ask(
        self,
        path: str,
        query: Query,
        limits: aiohttp.ClientTimeout,
        method: str = "GET",
        body: bytes = b"",
    ) -> aiohttp.ClientResponse:
        response: aiohttp.ClientResponse = await self.call_api(
            path,
            method,
            query_params=list(query.items()),
            header_params={**_HEADERS, **(_WITH_BODY if body else {})},
            body=body or None,
            _preload_content=False,
            _request_timeout=limits,
        )
        return response

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        pieces: list[bytes] = []
        left = MAX_BODY_BYTES
        async for piece in response.content.iter_any():
            left -= len(piece)
            if left < 0:
                problem = f"answered with more than {MAX_BODY_BYTES} bytes"
                raise ApiError(self.name, problem, FailureReason.OVERSIZED)
            pieces.append(piece)
        return b"".join(pieces)

    async def _pieces(self, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
        with self._told():
            async for piece in response.content.iter_any():
                yield piece

    async def _current(self) -> Any:
        """Give the client with the credentials of the last minute."""
        async with self._loading:
            if self._client is not None and self._clock() - self._loaded < RELOAD_S:
                return self._client
            try:
                return await self._renew()
            except Exception as error:  # of plugins, YAML, OpenSSL, the library's asserts
                if self._client is None:
                    problem = f"the credentials cannot be used: {describe_error(error)}"
                    raise ApiError(self.name, problem, FailureReason.CREDENTIALS) from error
                return self._client  # and try again with the next request

    async def _renew(self) -> Any:
        self._load = self._load or loader(self._access)
        configuration = await self._load()
        if token := configuration.api_key.get("BearerToken"):
            configuration.api_key["BearerToken"] = token.strip()  # a header has no line breaks
        configuration.disable_strict_ssl_verification = not self._access.strict
        identity = identity_of(configuration)
        old = self._client
        if old is not None and identity == self._identity:
            old.configuration.api_key = configuration.api_key
        else:
            self._client = new_client(configuration)
            self._identity = identity
            if old is not None:
                await old.close()  # watches go on with the new one
        self._loaded = self._clock()
        return self._client

    def _doubt(self) -> None:
        """Read all credentials anew for the next request, also those that have not expired."""
        self._load, self._loaded = None, -math.inf

    @contextmanager
    def _told(self) -> Generator[None]:
        """Turn the errors of the network into ours."""
        try:
            yield
        except TimeoutError:
            raise ApiError(self.name, "gave no answer in time", FailureReason.SILENT) from None
        except aiohttp.ClientSSLError as error:
            self._doubt()  # another CA, perhaps
            raise self._unreachable(error) from error
        except (aiohttp.ClientPayloadError, aiohttp.ClientConnectionError, OSError) as error:
            raise self._unreachable(error) from error
        except (aiohttp.ClientError, ValueError) as error:
            problem = f"answered with what is no HTTP: {type(error).__name__}"
            raise ApiError(self.name, problem, FailureReason.GARBAGE) from error

    def _unreachable(self, error: Exception) -> ApiError:
        return ApiError(
            self.name, f"cannot be reached: {describe_error(error)}", FailureReason.UNREACHABLE
        )


class _Version(msgspec.Struct, rename="camel"):
    git_version: str


_decode_version = msgspec.json.Decoder(_Version).decode
