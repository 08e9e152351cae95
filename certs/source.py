"""
Interface of the three certificate sources: ``self``, ``files``, ``standalone``.

Main entry point: ``CertificateSource``. A source puts certificates into its ``LiveContext`` and
reports its status. It must use the clock, sleep and report function of its environment.
"""

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from cryptography import x509


class NoticeSubject(StrEnum):
    """Subject of a notice; label ``type`` of ``evenspread_certificate_rotations_total``."""

    LEAF = "leaf"
    CA = "ca"
    CA_BUNDLE = "ca_bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """
    An event for the operator's log, reported once when it happens or changes.

    Attributes:
        subject: The subject of the event.
        ok: Whether the event is a success; label ``result`` of the rotation counter.
        text: One sentence without its full stop; never a secret.
    """

    subject: NoticeSubject
    ok: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEnvironment:
    """
    Clock, sleep, report function and jitter of a source; tests replace them.

    Attributes:
        clock: The wall clock: aware, UTC.
        sleep: Waits that many seconds.
        report: Passes a notice to the log and the counters.
        jitter: Returns a random number from 0 to 1, so that replicas that failed at once do not
            retry at once.
    """

    clock: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[None]]
    report: Callable[[Notice], None]
    jitter: Callable[[], float] = lambda: 0.5

    def report_success(self, subject: NoticeSubject, text: str) -> None:
        """Report a successful event."""
        self.report(Notice(subject=subject, ok=True, text=text))

    def report_problem(self, subject: NoticeSubject, text: str) -> None:
        """Report a failure."""
        self.report(Notice(subject=subject, ok=False, text=text))


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateStatus:
    """
    Status of a source.

    Attributes:
        leaf: The served certificate; None before the first.
        authorities: The certificates that clients have to trust, oldest first; empty if unknown.
        in_sync: Whether the existing webhook configurations trust the leaf; None: unknown, or
            irrelevant for this source.
        absent: Titles of missing webhook configurations, for which no API server calls.
        problem: Why the newest certificate is not served or not trusted; empty if there is no
            problem.
        ready: Whether the server is ready for requests.
    """

    leaf: x509.Certificate | None = None
    authorities: tuple[x509.Certificate, ...] = ()
    in_sync: bool | None = None
    absent: tuple[str, ...] = ()
    problem: str = ""
    ready: bool = False


def describe_bug(error: Exception) -> str:
    """Return type and location of an unexpected error; its message may hold secret input."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"a bug of evenspread, {type(error).__name__}{at}; please report it"


class CertificateSource(Protocol):
    """A source of server certificates."""

    @property
    def status(self) -> CertificateStatus:
        """Current status."""
        ...

    async def start(self) -> None:
        """
        Serve a first certificate.

        Raises:
            CertError: There is no certificate, and waiting would not help.
        """
        ...

    async def run(self) -> None:
        """After ``start``, renew the certificate until cancelled; raises only the cancellation."""
        ...
