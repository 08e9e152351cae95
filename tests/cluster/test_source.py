import json
from typing import Any

import pytest

from webhook.cluster.source import refusal
from webhook.errors import ApiError, ExpiredError


def status(code: int, message: str) -> bytes:
    return json.dumps({"kind": "Status", "code": code, "message": message}).encode()


CASES: dict[str, tuple[int, bytes, str, str]] = {
    "the status speaks": (403, status(403, "no"), "forbidden", "here: answered 403: no"),
    "credentials are old": (401, b"Unauthorized", "unauthorized", "here: answered 401"),
    "there is nothing": (404, b"404 page not found", "absent", "here: answered 404"),
    "too many ask": (429, b"later", "refused", "here: answered 429"),
    "the server is ill": (503, b"", "server-error", "here: answered 503"),
    "a status nobody knows": (799, b"<html>", "server-error", "here: answered 799"),
    "a redirect": (302, b"", "refused", "here: answered 302"),
    "an event": (0, status(500, "ill"), "server-error", "here: answered 500: ill"),
    "an event that says nothing": (0, b"[]", "refused", "here: answered 0"),
    "a version that is forgotten": (410, status(410, "old"), "expired", "here: answered 410: old"),
    "an event about that": (0, status(410, "old"), "expired", "here: answered 410: old"),
}


@pytest.mark.parametrize(("code", "body", "reason", "said"), CASES.values(), ids=CASES.keys())
def test_refusal(code: int, body: bytes, reason: str, said: str) -> None:
    error = refusal("here", code, body)

    assert isinstance(error, ExpiredError) == (reason == "expired")
    assert (error.reason, str(error)) == (reason, said)
    assert error.status == (code or (json.loads(body)["code"] if body != b"[]" else 0))


def test_only_a_status_is_repeated_and_cut_short() -> None:
    secret: Any = {"kind": "Secret", "message": "hush"}

    assert "hush" not in str(refusal("here", 500, json.dumps(secret).encode()))
    assert len(str(refusal("here", 500, status(500, "x" * 10_000)))) < 300


def test_an_error_survives_a_copy() -> None:
    for error in (refusal("here", 410, b""), ApiError("here", "odd", "garbage", 200)):
        assert repr(type(error)(*error.args)) == repr(error)
