"""Messages between the server and the audit process."""

import msgspec
import pytest

from webhook.server.audits.messages import (
    LENGTH,
    ApiRequest,
    ApiResponse,
    AuditFailure,
    AuditOrder,
    AuditResult,
    WorkerMessage,
    decode_message,
    decode_order,
    decode_response,
    encode,
    frame,
)

MESSAGES = (
    ApiRequest("GET", "/api/v1/nodes", {"limit": "50"}),
    AuditResult(exposition=b"", workloads=1, pods=2, findings=3, problems=("a",)),
    AuditFailure("no answer"),
)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_of_the_process_is_decoded_as_sent(message: WorkerMessage) -> None:
    assert decode_message(encode(message)) == message


def test_an_order_and_a_response_are_decoded_as_sent() -> None:
    order = AuditOrder(
        config="a",
        scheduler_config="b",
        feature_gates="c",
        version="1.33",
        allow_locked_gates=True,
        policy_reports="",
        memory=1,
    )

    assert decode_order(encode(order)) == order
    assert decode_response(encode(ApiResponse(200, b"{}"))) == ApiResponse(200, b"{}")


def test_a_message_of_another_type_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_message(encode(ApiResponse(200)))


def test_a_frame_begins_with_the_length() -> None:
    assert frame(b"abc") == (3).to_bytes(LENGTH, "big") + b"abc"
