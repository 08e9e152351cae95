"""Messages between the server and the audit process."""

from datetime import timedelta

import msgspec
import pytest

from webhook.cluster.protocol import ApiRequest
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.defaulting.policystatus import PolicyCounts
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS, Merge, Profile, ScaleDown
from webhook.policy.model import LabelSelector, LabelSelectorRequirement
from webhook.server.audits.messages import (
    LENGTH,
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
from webhook.server.reload import PolicySources

MESSAGES = (
    ApiRequest("GET", "/api/v1/nodes", {"limit": "50"}),
    AuditResult(exposition=b"", workloads=1, pods=2, findings=3, problems=("a",)),
    AuditResult(
        exposition=b"", workloads=1, pods=2, findings=3, counts={"web": PolicyCounts(1, None, 0)}
    ),
    AuditFailure("no answer"),
)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_of_the_process_is_decoded_as_sent(message: WorkerMessage) -> None:
    assert decode_message(encode(message)) == message


PROFILES = (
    Profile(
        name="all",
        namespace_selector=LabelSelector({"tier": "prod"}),
        object_selector=LabelSelector(
            match_expressions=(LabelSelectorRequirement("app", "In", ("a", "b")),)
        ),
        owner_kinds=frozenset({"ReplicaSet", "StatefulSet"}),
        merge=Merge.PER_TOPOLOGY_KEY,
        scale_down=ScaleDown.KEEP_SPREAD,
        constraints=SYSTEM_CONSTRAINTS,
        system=True,
    ),
    Profile(name="none"),
)


def test_an_order_and_a_response_are_decoded_as_sent() -> None:
    order = AuditOrder(
        sources=PolicySources(
            version=NEWEST_VERSION, config="a", least_overlap=timedelta(seconds=9)
        ),
        profiles=PROFILES,
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
