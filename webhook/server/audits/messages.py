"""
Messages between the server and the audit process, one pipe in each direction.

The server begins with an ``AuditOrder``. Then the process sends one ``ApiRequest`` at a time and
the server answers it, until the process sends its ``AuditResult`` or ``AuditFailure``. On the pipe,
each MessagePack message follows its length.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

LENGTH = 4  # bytes before each message, big-endian: its length without them
MESSAGE_BYTES = 128 * 1024 * 1024
"""Bytes of a message: twice what is read of an answer of the API server."""


class AuditOrder(msgspec.Struct, frozen=True, kw_only=True):
    """
    An audit that is to be made.

    Attributes:
        config: As the settings say it, as are the next two and ``allow_locked_gates``.
        version: Of Kubernetes, to judge by.
        policy_reports: The API group of the reports to write; empty for none.
        memory: Bytes of data that the process may have.
    """

    config: str
    scheduler_config: str
    feature_gates: str
    version: str
    allow_locked_gates: bool
    policy_reports: str
    memory: int


class ApiRequest(msgspec.Struct, frozen=True, tag=True):
    """A request to the API server; ``body`` is JSON, empty if there is none."""

    method: str
    path: str
    query: dict[str, str] = {}
    body: bytes = b""


class ApiResponse(msgspec.Struct, frozen=True):
    """
    What came of a request.

    Attributes:
        status: Of HTTP; 0 if there was no answer.
        body: Of the answer; of one that is no success only what it says of that.
        reason: Why there was no answer, or none that helps.
    """

    status: int
    body: bytes = b""
    reason: str = ""


class AuditResult(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """
    An audit that was made.

    Attributes:
        exposition: Its metrics, in Prometheus' text format.
        workloads: How many were audited; so are the next two.
        problems: What could not be read or written, in sentences.
    """

    exposition: bytes
    workloads: int
    pods: int
    findings: int
    problems: tuple[str, ...] = ()


class AuditFailure(msgspec.Struct, frozen=True, tag=True):
    """An audit that could not be made, and why, as a sentence without its full stop."""

    says: str


WorkerMessage: TypeAlias = ApiRequest | AuditResult | AuditFailure
"""What the process may say."""

encode = msgspec.msgpack.Encoder().encode
decode_order = msgspec.msgpack.Decoder(AuditOrder).decode
decode_answer = msgspec.msgpack.Decoder(ApiResponse).decode
decode_message: Callable[[bytes], WorkerMessage] = msgspec.msgpack.Decoder(WorkerMessage).decode


def frame(message: bytes) -> bytes:
    """Put its length before a message."""
    return len(message).to_bytes(LENGTH, "big") + message
