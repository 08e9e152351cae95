"""HTTP replies."""

from types import SimpleNamespace
from typing import Any

import pytest

from webhook.server.http.responses import ReviewResponse, reply, text_reply


class Transport:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def request_on(transport: Transport | None, *, paused: bool, drained: list[bool]) -> Any:
    async def drain() -> None:
        drained.append(True)

    return SimpleNamespace(
        transport=transport,
        protocol=SimpleNamespace(writing_paused=paused),
        writer=SimpleNamespace(drain=drain),
    )


@pytest.mark.parametrize("paused", [False, True])
async def test_a_review_response_is_written_in_one_piece(paused: bool) -> None:
    transport, drained = Transport(), list[bool]()
    response = ReviewResponse(b"{}")

    await response.prepare(request_on(transport, paused=paused, drained=drained))
    await response.write_eof()

    assert transport.data.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    assert transport.data.endswith(b"\r\nContent-Length: 2\r\n\r\n{}")
    assert drained == [True] * paused


async def test_a_review_response_on_a_closed_connection_is_an_error() -> None:
    with pytest.raises(ConnectionResetError):
        await ReviewResponse(b"").prepare(request_on(None, paused=False, drained=[]))


def test_replies_name_no_version() -> None:
    response = text_reply(404, "not found", {"Allow": "GET"})

    assert (response.headers["Server"], response.headers["Allow"]) == ("evenspread", "GET")
    assert reply(200, b"").headers["Content-Type"] == "text/plain; charset=utf-8"
