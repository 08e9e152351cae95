"""
Messages between the server and the audit process, one pipe in each direction.

The server begins with an ``AuditOrder``. Then the process sends one ``ApiRequest`` at a time and
the server answers it, until the process sends its ``AuditResult`` or ``AuditFailure``. On the pipe,
each MessagePack message follows its length.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from webhook.cluster.protocol import ApiRequest
from webhook.policy.defaulting.policystatus import PolicyCounts
from webhook.policy.defaulting.profiles import Profile
from webhook.server.reload import PolicySources

LENGTH = 4  # bytes before each message, big-endian: the message's length in bytes
MESSAGE_BYTES = 128 * 1024 * 1024  # of the process; eight times the largest answer it receives


class AuditOrder(msgspec.Struct, frozen=True):
    """
    The order to make an audit.

    Attributes:
        sources: Of the policy, except for its profiles.
        profiles: In force, also those of SpreadPolicies.
        policy_reports: The API group of the reports to write; empty for none.
        memory: Bytes of data that the process may allocate.
    """

    sources: PolicySources
    profiles: tuple[Profile, ...]
    policy_reports: str
    memory: int


class ApiResponse(msgspec.Struct, frozen=True):
    """
    The answer of the API server.

    Attributes:
        status: Of HTTP; 0 without an answer.
        body: Of the answer; of an error only the part that describes it.
        problem: Why there was no usable answer; else empty.
        reason: The same for programs, as in ``ApiError``.
    """

    status: int
    body: bytes = b""
    problem: str = ""
    reason: str = ""


class AuditResult(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """
    The result of an audit.

    Attributes:
        exposition: Its metrics, in Prometheus' text format.
        problems: What could not be read or written, in sentences.
        left_out: Namespaces that need more memory than the order allows.
        counts: For each profile of the order by its name, its pods and workloads.
    """

    exposition: bytes
    workloads: int
    pods: int
    findings: int
    problems: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    counts: Mapping[str, PolicyCounts] = {}


class AuditFailure(msgspec.Struct, frozen=True, tag=True):
    """An audit that failed; ``problem`` is a sentence without its full stop."""

    problem: str


WorkerMessage: TypeAlias = ApiRequest | AuditResult | AuditFailure
"""A message from the audit process."""

encode = msgspec.msgpack.Encoder().encode
decode_order = msgspec.msgpack.Decoder(AuditOrder).decode
decode_response = msgspec.msgpack.Decoder(ApiResponse).decode
decode_message: Callable[[bytes], WorkerMessage] = msgspec.msgpack.Decoder(WorkerMessage).decode


def frame(message: bytes) -> bytes:
    """Put its length before a message."""
    return len(message).to_bytes(LENGTH, "big") + message
