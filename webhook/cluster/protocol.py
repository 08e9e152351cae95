"""
The client protocol of the API server: requests, responses, and the errors for refused requests.

Every caller of the API server takes an ``ApiClient``, or a ``WatchClient`` if it also watches;
``webhook.cluster.client`` implements both. This module performs no I/O.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from http import HTTPStatus
from typing import Protocol, TypeAlias

import msgspec

from webhook.errors import ApiError, EvenspreadError, ExpiredError
from webhook.policy.nesting import decode_nested

Query: TypeAlias = Mapping[str, str]
"""Query parameters of a URL; each name occurs once."""

Headers: TypeAlias = Mapping[str, tuple[str, ...]]
"""Headers of a response: lower-case name to values, in order."""

NO_QUERY: Query = {}
NO_HEADERS: Headers = {}
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"

METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Media type of a list of metadata. Source: apimachinery meta/v1 ``PartialObjectMetadataList``."""

MAX_BODY_BYTES = 16 * 1024 * 1024  # of an answer: ten times the largest object in etcd (1.5 MiB)
MAX_STATUS_CHARS = 256  # of a server's message; enough for kube-apiserver's sentences
MAX_ERROR_CHARS = 256  # of the message of a library's error
MAX_RETRY_AFTER_S = 60.0  # of the pause that a server requests; kube-apiserver requests up to 32 s

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Raised by msgspec for bytes that do not match the type, are not UTF-8, or are nested too deep."""


class FailureReason(StrEnum):
    """Reason of an ``ApiError`` or of a watch's end; ``evenspread_watch_restarts_total`` has it."""

    ENDED = "ended"
    EXPIRED = "expired"
    UNREACHABLE = "unreachable"
    SILENT = "silent"
    GARBAGE = "garbage"
    OVERSIZED = "oversized"
    CREDENTIALS = "credentials"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    ABSENT = "absent"
    REFUSED = "refused"
    SERVER_ERROR = "server-error"


_REASONS: Mapping[int, FailureReason] = {
    HTTPStatus.UNAUTHORIZED: FailureReason.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN: FailureReason.FORBIDDEN,
    HTTPStatus.NOT_FOUND: FailureReason.ABSENT,
}


class ApiRequest(msgspec.Struct, frozen=True, tag=True):
    """A request to an API server; the media type is of the body, or without one of the answer."""

    method: str
    path: str
    query: Query = NO_QUERY
    body: bytes = b""
    content_type: str = JSON


class Response(msgspec.Struct, frozen=True):
    """A complete response of the API server, of any HTTP status."""

    status: int
    body: bytes = b""
    headers: Headers = {}


class ApiClient(Protocol):
    """Client of one API server that sends requests."""

    @property
    def name(self) -> str:
        """URL or name of the API server, for error messages."""
        ...

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

        Args:
            content_type: Media type of the body; without a body, of the response.

        Raises:
            ApiError: There was no response, or too large a one.
        """
        ...


class WatchClient(ApiClient, Protocol):
    """Client of one API server that also watches."""

    def stream(self, path: str, query: Query) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """
        Yield the chunks of an endless response as they arrive.

        Raises:
            ApiError: No response, or a status other than 200; also from the iterator, when the
                server is silent or the connection breaks. ExpiredError if the status is 410.
        """
        ...


async def read(
    client: ApiClient, path: str, query: Query = NO_QUERY, media_type: str = JSON
) -> bytes:
    """
    Send a GET request and return the body, in a media type.

    Raises:
        ApiError: No response, or a status other than 200; ExpiredError if it is 410.
    """
    response = await client.send("GET", path, query, b"", media_type)
    if response.status != HTTPStatus.OK:
        raise status_error(client.name, response.status, response.body)
    return response.body


class ApiStatus(msgspec.Struct, frozen=True):
    """Failure as an API server describes it. Source: apimachinery meta/v1 ``Status``."""

    kind: str = ""
    code: int = 0
    message: str = ""


_decode_status = msgspec.json.Decoder(ApiStatus).decode


def status_error(
    source: str, code: int, body: bytes | msgspec.Raw, headers: Headers = NO_HEADERS
) -> ApiError:
    """
    Create the error for a response of an unexpected status.

    The error repeats the message of a ``Status``, truncated; no other body belongs in a log.

    Args:
        source: Name of the client.
        code: HTTP status; 0: read it from the body, as for an ERROR event of a watch.
        body: Body of the response, or object of the ERROR event.
        headers: Headers of the response; ``Retry-After`` is read.
    """
    try:
        status = decode_nested(_decode_status, body)
    except DECODE_ERRORS:
        status = ApiStatus()
    code = code or status.code
    message = status.message[:MAX_STATUS_CHARS] if status.kind == "Status" else ""
    problem = f"answered {code}{message and ': '}{message}"
    if code == HTTPStatus.GONE:
        return ExpiredError(source, problem)
    is_server_error = code >= HTTPStatus.INTERNAL_SERVER_ERROR
    other = FailureReason.SERVER_ERROR if is_server_error else FailureReason.REFUSED
    return ApiError(source, problem, _REASONS.get(code, other), code, _read_pause(headers))


def _read_pause(headers: Headers) -> float:
    """Read the seconds of ``Retry-After``; an API server writes no date."""
    (written, *_) = headers.get("retry-after", ("",))
    seconds = int(written) if written.isascii() and written.isdecimal() else 0
    return min(seconds, MAX_RETRY_AFTER_S)


def protocol_error(source: str, problem: str) -> ApiError:
    """Create the error for a response that violates the protocol."""
    return ApiError(source, problem, FailureReason.GARBAGE)


def describe_error(error: Exception) -> str:
    """
    Describe why a request failed, in one line such as ``Connection refused``.

    Libraries name their classes and sockets; the description names the network, the certificate or
    the host name instead.

    Returns:
        The system's message for its own errors, OpenSSL's for certificates, otherwise the type of
        the error and its message.
    """
    import ssl  # noqa: PLC0415  # for an error of a client, which has imported it

    if isinstance(error, EvenspreadError):
        return str(error)
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
    if isinstance(inner, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {inner.verify_message}"
    if isinstance(inner, ssl.SSLError):
        return f"the TLS handshake failed: {getattr(inner, 'reason', '') or inner.strerror}"
    if isinstance(inner, OSError) and inner.strerror:
        number = inner.errno or 0  # negative for DNS errors
        return os.strerror(number) if number > 0 else inner.strerror
    message = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {message}"[:MAX_ERROR_CHARS] if message else name
