"""What the caches ask of an API server; ``webhook.cluster.client`` and the tests implement it."""

import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from http import HTTPStatus
from typing import Protocol, TypeAlias

import msgspec

from webhook.errors import ApiError, EvenspreadError, ExpiredError
from webhook.policy.nesting import decode_nested

Query: TypeAlias = Mapping[str, str]
"""The query of a URL; each name once."""

MAX_STATUS_CHARS = 256  # characters of what a server says, enough for kube-apiserver's sentences

MAX_ERROR_CHARS = 256  # characters of another's error
NO_QUERY: Query = {}

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What msgspec raises for bytes that are not of the type: also for no UTF-8, and too deep ones."""


class FailureReason(StrEnum):
    """Why a watch began anew; a label of ``evenspread_watch_restarts_total``."""

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


class Reader(Protocol):
    """One API server, asked what it has."""

    @property
    def name(self) -> str:
        """Its address, for errors."""
        ...

    async def read(self, path: str, query: Query = NO_QUERY) -> bytes:
        """
        Give the body of an answer.

        Raises:
            ApiError: There was none, or its status was not 200; ExpiredError if it was 410.
        """
        ...


class Source(Reader, Protocol):
    """One API server, asked what it has, and followed."""

    def stream(self, path: str, query: Query) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """
        Give the pieces of an answer that goes on and on, as they come.

        Raises:
            ApiError: As for ``read``; also from the iterator, when the server is silent or gone.
        """
        ...


class Sender(Protocol):
    """One API server, sent any request."""

    async def send(
        self, method: str, path: str, query: Query = NO_QUERY, body: bytes = b""
    ) -> tuple[int, bytes]:
        """
        Give the status of the answer, and its body.

        Args:
            body: JSON; empty for none.

        Raises:
            ApiError: There was no answer.
        """
        ...


class ApiStatus(msgspec.Struct, frozen=True):
    """
    A failure as an API server tells it.

    Source: apimachinery pkg/apis/meta/v1 ``ApiStatus``.
    """

    kind: str = ""
    code: int = 0
    message: str = ""


_decode_status = msgspec.json.Decoder(ApiStatus).decode


def status_error(source: str, code: int, body: bytes | msgspec.Raw) -> ApiError:
    """
    Make the error for an answer that is not what was asked for.

    Only what a ``ApiStatus`` says is repeated, cut short: any other body is not meant for a log.

    Args:
        code: The HTTP status; 0 if the body tells, as in a watch.
        body: Of the answer, or of the ERROR event.
    """
    try:
        status = decode_nested(_decode_status, body)
    except msgspec.MsgspecError:
        status = ApiStatus()
    code = code or status.code
    said = status.message[:MAX_STATUS_CHARS] if status.kind == "Status" else ""
    problem = f"answered {code}{said and ': '}{said}"
    if code == HTTPStatus.GONE:
        return ExpiredError(source, problem)
    other = (
        FailureReason.SERVER_ERROR
        if code >= HTTPStatus.INTERNAL_SERVER_ERROR
        else FailureReason.REFUSED
    )
    return ApiError(source, problem, _REASONS.get(code, other), code)


def describe_error(error: Exception) -> str:
    """
    Say why, as ``Connection refused``.

    Returns:
        One line. The words of the system for its own errors, of OpenSSL for certificates; else the
        kind of the error and what it says.
    """
    if isinstance(error, EvenspreadError):
        return str(error)
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
    if isinstance(inner, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {inner.verify_message}"
    if isinstance(inner, ssl.SSLError):
        return f"the TLS handshake failed: {getattr(inner, 'reason', '') or inner.strerror}"
    if isinstance(inner, OSError) and inner.strerror:
        number = inner.errno or 0  # negative: of DNS
        return os.strerror(number) if number > 0 else inner.strerror
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:MAX_ERROR_CHARS] if said else type(error).__name__
