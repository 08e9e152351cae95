import errno
import json
import socket
import ssl
from typing import Any

import pytest

from tests.apiserver import ApiServer
from webhook.cluster.protocol import (
    MAX_ERROR_CHARS,
    MAX_RETRY_AFTER_S,
    Response,
    describe_error,
    protocol_error,
    read,
    status_error,
)
from webhook.errors import ApiError, ExpiredError, SourceError


def status(code: int, message: str) -> bytes:
    return json.dumps({"kind": "Status", "code": code, "message": message}).encode()


CASES: dict[str, tuple[int, bytes, str, str]] = {
    "the status speaks": (403, status(403, "no"), "forbidden", "here: answered 403: no"),
    "credentials are old": (401, b"Unauthorized", "unauthorized", "here: answered 401"),
    "there is nothing": (404, b"404 page not found", "absent", "here: answered 404"),
    "too many ask": (429, b"later", "refused", "here: answered 429"),
    "the server is ill": (503, b"", "server-error", "here: answered 503"),
    "an unknown status": (799, b"<html>", "server-error", "here: answered 799"),
    "a status that is no UTF-8": (500, b'{"message":"\xff"}', "server-error", "here: answered 500"),
    "a redirect": (302, b"", "refused", "here: answered 302"),
    "an event": (0, status(500, "ill"), "server-error", "here: answered 500: ill"),
    "an event without members": (0, b"[]", "refused", "here: answered 0"),
    "a version that is forgotten": (410, status(410, "old"), "expired", "here: answered 410: old"),
    "an event about that": (0, status(410, "old"), "expired", "here: answered 410: old"),
}


@pytest.mark.parametrize(("code", "body", "reason", "message"), CASES.values(), ids=CASES.keys())
def test_a_status_becomes_an_error(code: int, body: bytes, reason: str, message: str) -> None:
    error = status_error("here", code, body)

    assert isinstance(error, ExpiredError) == (reason == "expired")
    assert (error.reason, str(error)) == (reason, message)
    assert error.status == (code or (json.loads(body)["code"] if body != b"[]" else 0))


def test_only_a_status_is_repeated_and_cut_short() -> None:
    secret: Any = {"kind": "Secret", "message": "hush"}

    assert "hush" not in str(status_error("here", 500, json.dumps(secret).encode()))
    assert len(str(status_error("here", 500, status(500, "x" * 10_000)))) < 300


def test_an_error_survives_a_copy() -> None:
    for error in (status_error("here", 410, b""), ApiError("here", "odd", "garbage", 200, 7)):
        assert vars(type(error)(*error.args)) == vars(error)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("7", 7), ("86400", MAX_RETRY_AFTER_S), ("", 0), ("-1", 0), ("²", 0), ("tomorrow", 0)],
)
def test_the_pause_that_an_api_server_requests_is_read(written: str, seconds: float) -> None:
    error = status_error("here", 429, b"", {"retry-after": (written,)})

    assert error.retry_after == seconds
    assert status_error("here", 429, b"").retry_after == 0


class WrappingError(Exception):
    """As aiohttp has them, around an error of the system or of OpenSSL."""

    def __init__(self, **inner: Exception) -> None:
        super().__init__("ssl:default [None]")
        for name, error in inner.items():
            setattr(self, name, error)


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] verify failed")
    error.verify_message = "self-signed certificate"
    return error


ERRORS: dict[str, tuple[Exception, str]] = {
    "an error of the system has the message of the system": (
        OSError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)"),
        "Connection refused",
    ),
    "one within another error": (
        WrappingError(os_error=OSError(errno.EHOSTUNREACH, "Connect call failed")),
        "No route to host",
    ),
    "an unknown host name": (
        WrappingError(os_error=socket.gaierror(socket.EAI_NONAME, "Name or service not known")),
        "Name or service not known",
    ),
    "a certificate of another authority": (
        WrappingError(certificate_error=untrusted()),
        "its certificate is not trusted: self-signed certificate",
    ),
    "a peer that speaks no TLS": (
        WrappingError(os_error=ssl.SSLError(1, "wrong version number")),
        "the TLS handshake failed: ",
    ),
    "an error of our own has the text itself": (SourceError("here", "is shut"), "here: is shut"),
    "several lines become one": (
        ValueError("while parsing\n  in line 2"),
        "ValueError: while parsi",
    ),
    "no number, no words": (OSError("Multiple exceptions"), "OSError: Multiple exceptions"),
    "nothing message": (RuntimeError(), "RuntimeError"),
}


@pytest.mark.parametrize(("error", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_is_described_in_one_line(error: Exception, message: str) -> None:
    assert describe_error(error).startswith(message)
    assert "\n" not in describe_error(error)


def test_a_long_message_is_truncated() -> None:
    assert len(describe_error(ValueError("x" * 10_000))) == MAX_ERROR_CHARS


async def test_a_body_is_read_and_another_status_is_an_error() -> None:
    server = ApiServer()
    server.script("/x", Response(200, b"body"), Response(403))

    assert await read(server, "/x", {"limit": "1"}) == b"body"
    with pytest.raises(ApiError, match="answered 403"):
        await read(server, "/x")
    assert server.queries("/x") == [{"limit": "1"}, {}]


def test_a_response_that_violates_the_protocol_is_garbage() -> None:
    error = protocol_error("https://api", "answered with no list")

    assert (str(error), error.reason) == ("https://api: answered with no list", "garbage")
