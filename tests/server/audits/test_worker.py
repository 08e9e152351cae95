"""The audit process: its pipe, and the result of an order."""

import io

import pytest

from webhook.cluster.protocol import Response
from webhook.errors import ApiError, ConfigError
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.server.audits.messages import (
    LENGTH,
    ApiRequest,
    ApiResponse,
    AuditOrder,
    decode_message,
    encode,
    frame,
)
from webhook.server.audits.worker import PipeClient, audit
from webhook.server.reload import PolicySources


def order(config: str = "") -> AuditOrder:
    return AuditOrder(
        sources=PolicySources(version=NEWEST_VERSION, config=config),
        policy_reports="",
        memory=2**30,
    )


async def test_a_request_is_sent_through_the_pipe() -> None:
    sink = io.BytesIO()
    client = PipeClient(io.BytesIO(frame(encode(ApiResponse(200, b"{}")))), sink)

    response = await client.send("GET", "/version", {"a": "b"})

    assert response == Response(200, b"{}")
    assert decode_message(sink.getvalue()[LENGTH:]) == ApiRequest("GET", "/version", {"a": "b"})


async def test_a_request_without_a_response_is_an_error() -> None:
    source = io.BytesIO(frame(encode(ApiResponse(0, reason="gave no answer"))))

    with pytest.raises(ApiError, match="gave no answer"):
        await PipeClient(source, io.BytesIO()).send("GET", "/version")


def test_a_server_that_has_ended_sends_nothing() -> None:
    with pytest.raises(EOFError):
        PipeClient(io.BytesIO(b"\0"), io.BytesIO()).receive()


async def test_an_order_with_an_invalid_configuration_fails() -> None:
    client = PipeClient(io.BytesIO(), io.BytesIO())

    with pytest.raises(ConfigError):
        await audit(order("/nowhere"), client)
