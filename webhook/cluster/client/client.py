"""
Client of an API server: sends bytes of JSON to a path, with credentials that are kept up to date.

``Api`` uses only the configuration loader of kubernetes_asyncio and sends requests itself, because
the REST client, models and watch of the library do not fit a long-running server:

* Its watch has no timeouts and no back-off, accepts any text as an event and never lists again
  after 410: ``reflector`` replaces it. Decoding into its models takes 30 times as long as JSON.
* Its requests have no timeouts unless the caller gives them; here every request has a limit, and a
  watch has one for silence.
* It reads the CA, the client certificate and a kubeconfig's token once and fails in the middle of a
  request if a token file is empty. Here all files are read again once a minute, and the kubeconfig
  itself after a 401 or a failed TLS handshake; unreadable files leave the previous ones in force.
* It lets the server compress responses, which decompress in one blocking step; this client declines
  compression.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

import aiohttp
import msgspec

from webhook.cluster.client.credentials import ApiAccess, Connection, LoadConfiguration, make_loader
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    JSON,
    MAX_BODY_BYTES,
    NO_QUERY,
    ApiRequest,
    FailureReason,
    Query,
    Response,
    describe_error,
    protocol_error,
    read,
    status_error,
)
from webhook.errors import ApiError

RELOAD_S = 60.0  # seconds; kubelet renews a projected token when 20 % of its hour are left
RETRY_S = 5.0  # seconds after a failed load in which the old credentials are used
RELOAD_WAIT_S = 0.1  # seconds to wait for new credentials while the old ones may be used


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """
    Limits for waiting for the API server, in seconds.

    Attributes:
        connect: For a connection and its TLS handshake.
        answer: For a complete response; a webhook that the API server calls may take 30 s.
        silence: For the next byte of a watch; bookmarks arrive every minute.
    """

    connect: float = 5.0
    answer: float = 35.0
    silence: float = 70.0


class Api:
    """
    Client of one API server; an asynchronous context manager that closes its connections.

    Implements ``webhook.cluster.protocol.WatchClient`` and ``certs.api.ObjectClient``.
    """

    def __init__(
        self,
        access: ApiAccess,
        clock: Callable[[], float],
        timeouts: Timeouts | None = None,
        max_body: int = MAX_BODY_BYTES,
    ) -> None:
        """Prepare the client; it reads credentials and connects with the first request."""
        timeouts = timeouts or Timeouts()
        self._access = access
        self._clock = clock
        self._load: LoadConfiguration | None = None
        self._bounded = aiohttp.ClientTimeout(total=timeouts.answer, sock_connect=timeouts.connect)
        self._endless = aiohttp.ClientTimeout(
            total=None, sock_connect=timeouts.connect, sock_read=timeouts.silence
        )
        self._answer_s = timeouts.answer
        self._max_body = max_body
        self._connection: Connection | None = None
        self._renewal: asyncio.Task[Exception | None] | None = None  # gives the error
        self._loaded = self._failed = -math.inf  # times of the last loads

    async def __aenter__(self) -> Self:
        """Return the client; credentials are read with the first request."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections, and stop a plugin."""
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.wait((self._renewal,))
        if self._connection is not None:
            await self._connection.close()

    @property
    def name(self) -> str:
        """URL of the API server; ``the API server`` until the credentials are read."""
        return "the API server" if self._connection is None else self._connection.host

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        """
        Send a request and return the response, whatever its status.

        Raises:
            ApiError: No response, or one that is too large.
        """
        request = ApiRequest(method, path, query, body, content_type)
        with self._translated_errors():
            response = await self._open(request, self._bounded)
            async with response:
                content = await self._read_body(response)
        headers = {name.lower(): tuple(response.headers.getall(name)) for name in response.headers}
        return Response(response.status, content, headers)

    @asynccontextmanager
    async def stream(self, path: str, query: Query) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Yield the chunks of an endless response as ``WatchClient.stream`` does."""
        with self._translated_errors():
            response = await self._open(ApiRequest("GET", path, query), self._endless)
        try:
            if response.status != HTTPStatus.OK:
                with self._translated_errors():
                    async with asyncio.timeout(self._answer_s):
                        body = await self._read_body(response)
                raise status_error(self.name, response.status, body)
            async with aclosing(self._chunks(response)) as chunks:
                yield chunks
        finally:
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()  # do not wait for the server to end TLS
            response.close()

    async def version(self) -> str:
        """
        Read the version of the API server, such as ``v1.33.5``.

        Raises:
            ApiError: No response, or one without a version.
        """
        try:
            return _decode_version(await read(self, "/version")).git_version
        except DECODE_ERRORS:
            raise protocol_error(self.name, "answered with no version") from None

    async def _open(
        self, request: ApiRequest, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """Send a request, and repeat it once with new credentials after a 401."""
        connection = await self._current_connection()
        response = await connection.request(request, limits)
        if response.status == HTTPStatus.UNAUTHORIZED:  # the server has done nothing yet
            response.release()
            self._invalidate_credentials()
            connection = await self._current_connection()
            response = await connection.request(request, limits)
            if response.status == HTTPStatus.UNAUTHORIZED:
                self._invalidate_credentials()
        return response

    async def _read_body(self, response: aiohttp.ClientResponse) -> bytes:
        chunks: list[bytes] = []
        remaining = self._max_body
        async for chunk in response.content.iter_any():
            remaining -= len(chunk)
            if remaining < 0:
                problem = f"answered with more than {self._max_body} bytes"
                raise ApiError(self.name, problem, FailureReason.OVERSIZED)
            chunks.append(chunk)
        return b"".join(chunks)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
        with self._translated_errors():
            async for chunk in response.content.iter_any():
                yield chunk

    async def _current_connection(self) -> Connection:
        """
        Return the connection; renew its credentials if they are older than ``RELOAD_S``.

        A slow plugin delays only calls that have no credentials, or refused ones.
        """
        known, now = self._connection, self._clock()
        if known is not None and (now - self._loaded < RELOAD_S or now - self._failed < RETRY_S):
            return known
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew())
        renewal, usable = self._renewal, known is not None and self._loaded > -math.inf
        await asyncio.wait((renewal,), timeout=RELOAD_WAIT_S if usable else None)
        if self._connection is None:
            error = renewal.result() or RuntimeError()
            problem = f"the credentials cannot be used: {describe_error(error)}"
            raise ApiError(self.name, problem, FailureReason.CREDENTIALS) from error
        return self._connection

    async def _renew(self) -> Exception | None:
        """Renew the credentials; return the error if the old ones remain."""
        try:
            self._load = self._load or make_loader(self._access)
            renewed = Connection(
                await self._load(),
                strict=self._access.strict,
                impersonated=self._access.impersonated,
            )
            known = self._connection
            if known is not None and known.identity == renewed.identity:
                known.take_token(renewed.configuration)
            else:
                renewed.connect()
                self._connection = renewed
                if known is not None:
                    await known.close()  # watches continue on the new connection
        except Exception as error:  # noqa: BLE001  # plugins, YAML, OpenSSL, library's asserts
            self._failed = self._clock()
            return error
        self._loaded = self._clock()
        return None

    def _invalidate_credentials(self) -> None:
        """Read all credentials again for the next request, also those that have not expired."""
        self._load, self._loaded = None, -math.inf

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        """Translate errors of the network into ``ApiError``."""
        try:
            yield
        except TimeoutError:
            problem = "gave no answer in time"
            raise ApiError(self.name, problem, FailureReason.SILENT) from None
        except aiohttp.ClientSSLError as error:
            self._invalidate_credentials()  # the CA may have changed
            raise self._unreachable(error) from error
        except (aiohttp.ClientPayloadError, aiohttp.ClientConnectionError, OSError) as error:
            raise self._unreachable(error) from error
        except (aiohttp.ClientError, ValueError) as error:
            problem = f"answered with what is no HTTP: {type(error).__name__}"
            raise protocol_error(self.name, problem) from error

    def _unreachable(self, error: Exception) -> ApiError:
        problem = f"cannot be reached: {describe_error(error)}"
        return ApiError(self.name, problem, FailureReason.UNREACHABLE)


class _Version(msgspec.Struct, rename="camel"):
    git_version: str


_decode_version = msgspec.json.Decoder(_Version).decode
