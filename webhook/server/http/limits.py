"""
Every bound of the server in one value: a number, its unit, and why it is that number.

The server takes them as an argument, so that tests meet small bounds instead of waiting.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import NamedTuple, TypeVar

from webhook.policy.model import MAX_CONSTRAINTS

_Number = TypeVar("_Number", int, float)


KIB = 1024
MIB = 1024 * KIB


class LimitRow(NamedTuple):
    """One bound as people read it."""

    name: str
    value: float
    unit: str
    reason: str


def _limit(value: _Number, unit: str, reason: str) -> _Number:
    number: _Number = field(default=value, metadata={"unit": unit, "reason": reason})
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of one server; times are in seconds, sizes in bytes."""

    body: int = _limit(
        32 * MIB,
        "bytes",
        "an API server takes 3 MiB, writes '<' as six bytes, and adds the old object on UPDATE",
    )
    body_read: float = _limit(
        10.0, "seconds", "or the request's timeout if that is less; aiohttp itself would wait on"
    )
    bodies: int = _limit(
        64 * MIB, "bytes", "from the first byte read until the answer; keeps memory bounded"
    )
    handshake: float = _limit(5.0, "seconds", "slow and half TLS handshakes; asyncio waits 60")
    goodbye: float = _limit(2.0, "seconds", "for the client's half of the end of a TLS session")
    keep_alive: float = _limit(
        120.0, "seconds", "more than the 90 of Go, or calls meet a connection that is being closed"
    )
    connections: int = _limit(512, "connections", "one of TLS costs 282 KiB: 141 MiB in all")
    idle: float = _limit(
        90.0, "seconds", "Go has left such a connection; closing a live one loses a call"
    )
    accept_again: float = _limit(
        1.0, "seconds", "to wait when the system has no file descriptor left, as asyncio does"
    )
    stalled_reply: float = _limit(
        10.0, "seconds", "how often connections are looked at that do not read their replies"
    )
    read_buffer: int = _limit(
        64 * KIB, "bytes", "most reviews come whole; twice as much stops reading a connection"
    )
    discarded: float = _limit(
        2.0, "seconds", "to read on after a refusal, or the client is reset before it has read why"
    )
    long_review: int = _limit(
        32 * KIB, "bytes", "a larger review may take over 20 ms, and is judged in a thread"
    )
    in_flight: int = _limit(
        256, "requests", "counted from the complete body; beyond, callers are asked to come again"
    )
    retry_after: int = _limit(
        1, "seconds", "kube-apiserver calls again after it, three times in a timeout of 3 s"
    )
    request: float = _limit(
        5.0, "seconds", "from the complete body; longer than any timeout that is advisable allows"
    )
    request_share: float = _limit(
        0.8, "of the timeout", "so that the answer is there before the caller gives up"
    )
    default_timeout: float = _limit(
        10.0, "seconds", "of a call that names none; what admissionregistration v1 defaults to"
    )
    health_connections: int = _limit(
        32, "connections", "probes and scrapers; no TLS, so little memory"
    )
    refusals_logged: int = _limit(
        10, "lines a second", "anybody who can connect could fill the log otherwise"
    )
    drain_least: float = _limit(
        10.0, "seconds", "after SIGTERM, until every API server has learnt that this pod is going"
    )
    drain_quiet: float = _limit(5.0, "seconds", "without a call: nobody comes any more")
    drain_most: float = _limit(
        45.0, "seconds", "with what follows less than the pod's grace period of 60"
    )
    config_poll: float = _limit(
        10.0, "seconds", "between two looks at the configuration; a kubelet takes a minute anyway"
    )
    certificate_poll: float = _limit(
        10.0, "seconds", "between two looks at a folder of certificates, as cert-manager does"
    )
    version_poll: float = _limit(
        300.0, "seconds", "between two looks at the API server's version; upgrades take as long"
    )
    audit_lease: float = _limit(
        60.0, "seconds", "until another replica audits when one is gone; nobody waits for an audit"
    )
    audit_silence: float = _limit(
        600.0,
        "seconds",
        "without a message of an audit's process; a huge namespace takes 6 s of CPU",
    )
    finish: float = _limit(10.0, "seconds", "for what is in flight once the listener is closed")


def table(limits: Limits | None = None) -> Iterator[LimitRow]:
    """List all bounds, also the one that the policy itself keeps."""
    limits = limits or Limits()
    for each in fields(limits):
        yield LimitRow(
            each.name, getattr(limits, each.name), each.metadata["unit"], each.metadata["reason"]
        )
    reason = "a list of more is denied with its number; no scheduler could work with it"
    yield LimitRow("constraints", MAX_CONSTRAINTS, "constraints in one list", reason)
