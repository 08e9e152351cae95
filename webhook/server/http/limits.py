"""
The limits of the server in one value: each with its number, unit and reason.

The server takes ``Limits`` as an argument, so that tests can set small limits instead of waiting.
"""

from dataclasses import dataclass, field
from typing import TypeVar

_Number = TypeVar("_Number", int, float)

KIB = 1024
MIB = 1024 * KIB


def _limit(value: _Number, unit: str, reason: str) -> _Number:
    number: _Number = field(default=value, metadata={"unit": unit, "reason": reason})
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one server; times are in seconds, sizes in bytes."""

    body: int = _limit(
        32 * MIB, "bytes", "API servers take 3 MiB, write '<' as six bytes, and add the old object"
    )
    body_read: float = _limit(
        10.0, "seconds", "or the request's timeout if it is less; aiohttp itself has no such limit"
    )
    bodies: int = _limit(
        64 * MIB, "bytes", "of all bodies from first byte to answer; 10 MiB are for short ones"
    )
    handshake: float = _limit(5.0, "seconds", "for a TLS handshake; asyncio would wait 60")
    goodbye: float = _limit(2.0, "seconds", "for the client to end its TLS session")
    keep_alive: float = _limit(
        120.0, "seconds", "more than the 90 of Go, else calls fail on a connection that is closing"
    )
    connections: int = _limit(
        512, "connections", "a TLS connection takes 282 KiB, all together 141 MiB"
    )
    idle: float = _limit(
        90.0, "seconds", "a Go client closes it earlier; closing a connection in use loses a call"
    )
    answered: float = _limit(
        16.0, "seconds", "after a review; then a new connection from its address may replace it"
    )
    accept_again: float = _limit(
        1.0, "seconds", "to wait when the process has no file descriptor left, as asyncio does"
    )
    stalled_reply: float = _limit(
        10.0, "seconds", "between two checks for clients that do not read their replies"
    )
    lag_period: float = _limit(
        0.25, "seconds", "between two measurements of the event loop's lag; a longer lag is seen"
    )
    read_buffer: int = _limit(
        64 * KIB, "bytes", "most reviews fit; at twice as much unread data, reading stops"
    )
    discarded: float = _limit(
        2.0, "seconds", "to read on after a refusal, so that the client can read why"
    )
    long_review: int = _limit(
        32 * KIB, "bytes", "larger reviews may take over 20 ms and are judged in a thread"
    )
    in_flight: int = _limit(
        256,
        "requests",
        "from the complete body to the answer; more get 503. Bindings that wait do not count",
    )
    queued: float = _limit(
        0.5,
        "seconds",
        "of waiting for the event loop under overload, or for the thread; then 503: late answers "
        "would be work for nothing. Waits of a quarter of it again and again are an overload",
    )
    burst: float = _limit(
        0.03, "seconds", "of answers begun at once under overload; other requests are refused"
    )
    retry_after: int = _limit(
        1, "seconds", "kube-apiserver then calls again, three times in a timeout of 3 s"
    )
    request: float = _limit(
        5.0, "seconds", "from the complete body; longer than any advisable timeout allows"
    )
    request_share: float = _limit(
        0.8, "of the timeout", "so that the answer arrives before the caller gives up"
    )
    default_timeout: float = _limit(
        10.0, "seconds", "of a call without one; the default of admissionregistration v1"
    )
    health_connections: int = _limit(
        32, "connections", "for probes and scrapers; without TLS they take little memory"
    )
    refusals_logged: int = _limit(
        10, "lines a second", "else any client that can connect could fill the log"
    )
    reviews_logged: int = _limit(
        100,
        "reviews a second",
        "with a denial or a dropped field; else one user could fill the log",
    )
    drain_least: float = _limit(
        10.0, "seconds", "after SIGTERM, until every API server knows that this pod stops"
    )
    drain_quiet: float = _limit(
        5.0, "seconds", "without a call, after which no further one is expected"
    )
    drain_most: float = _limit(
        45.0, "seconds", "together with what follows less than the pod's grace period of 60"
    )
    config_poll: float = _limit(
        10.0, "seconds", "between two checks of the configuration; a kubelet takes a minute anyway"
    )
    certificate_poll: float = _limit(
        10.0, "seconds", "between two checks of a folder of certificates, as in cert-manager"
    )
    version_poll: float = _limit(
        300.0, "seconds", "between two checks of the API server's version; upgrades take as long"
    )
    audit_lease: float = _limit(
        60.0, "seconds", "until another replica takes over the audits; audits are not urgent"
    )
    audit_silence: float = _limit(
        600.0, "seconds", "without a message of the audit process; huge namespaces take 6 s of CPU"
    )
    finish: float = _limit(10.0, "seconds", "for requests in flight after the listener has closed")
