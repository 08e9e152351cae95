"""
What the three ways to have a certificate have in common: ``self``, ``files``, ``standalone``.

A source puts certificates into the ``LiveContext`` it was made with, and tells how it stands.
Clock, sleep and the listener for notices are handed to it.
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
    """What a notice is about; label ``type`` of ``evenspread_certificate_rotations_total``."""

    LEAF = "leaf"
    CA = "ca"
    CA_BUNDLE = "ca_bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """
    Something an operator wants to find in the log: said once when it happens or changes.

    Attributes:
        subject: What it is about.
        ok: Whether it is good news; label ``result`` of the rotation counter.
        text: One sentence without its full stop; never a secret.
    """

    subject: NoticeSubject
    ok: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEnvironment:
    """
    The world as a source sees it; tests bring their own.

    Attributes:
        clock: The wall clock: aware, UTC.
        sleep: Waits that many seconds.
        report: Takes each notice; the log and the counters stand behind it.
        dice: Gives a number from 0 to 1, as ``random.random`` does, so that replicas that failed
            at once do not try again at once.
    """

    clock: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[None]]
    report: Callable[[Notice], None]
    jitter: Callable[[], float] = lambda: 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateStatus:
    """
    How a source stands.

    Attributes:
        leaf: What is served; None: nothing yet.
        authorities: What clients have to trust, oldest first; empty if unknown.
        in_sync: Whether the webhook configurations that exist trust the leaf; None: not known, or
            nobody's business here.
        absent: Titles of webhook configurations that do not exist, so that nobody calls for them.
        problem: Why the newest certificate is not the one that is served, or not trusted;
            empty if all is well.
        ready: Whether callers may be sent here.
    """

    leaf: x509.Certificate | None = None
    authorities: tuple[x509.Certificate, ...] = ()
    in_sync: bool | None = None
    absent: tuple[str, ...] = ()
    problem: str = ""
    ready: bool = False


def describe_bug(error: Exception) -> str:
    """Name a bug of ours by its type and its place; its text may hold a piece of what was read."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"a bug of evenspread, {type(error).__name__}{at}; please report it"


class CertificateSource(Protocol):
    """One of the ways to have a certificate."""

    @property
    def status(self) -> CertificateStatus:
        """How it stands now."""
        ...

    async def start(self) -> None:
        """
        Serve a first certificate.

        Raises:
            CertError: There is none, and waiting would not help.
        """
        ...

    async def run(self) -> None:
        """Keep the certificate fresh until cancelled, after ``start``; it raises nothing else."""
        ...
