"""
Serve a pair from another place, and poll that place for a newer pair.

Entry point: ``PollingSource``. An unusable pair must never replace a usable one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from cryptography import x509

from certs.errors import CertError, StoreError
from certs.pem import CertificatePair, describe_certificate
from certs.serving import LiveContext
from certs.source import CertificateStatus, Notice, NoticeSubject, SourceEnvironment, describe_bug

INTERVAL_S = 10.0
"""Longest delay until a new pair is noticed; as in cert-manager and controller-runtime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPair:
    """
    A pair and its trust anchors.

    Attributes:
        pair: The pair to serve.
        authorities: The certificates that clients have to trust; empty if unknown.
    """

    pair: CertificatePair
    authorities: tuple[x509.Certificate, ...]


Find = Callable[[datetime], LoadedPair]
"""Returns the pair to serve at that time, or raises a ``CertError``; it may block."""


Trusts = Callable[[CertificatePair], Awaitable[bool | None]]
"""Returns whether clients trust a pair; None: unknown. It may raise a ``StoreError``."""


async def unknown_trust(_pair: CertificatePair) -> bool | None:
    """Return None: the trust of the clients is unknown."""
    return None


class PollingSource:
    """The newest usable pair that ``find`` has returned, as a ``CertificateSource``."""

    def __init__(
        self,
        find: Find,
        live: LiveContext,
        environment: SourceEnvironment,
        *,
        interval: float = INTERVAL_S,
        trusts: Trusts = unknown_trust,
    ) -> None:
        """
        Store the function that finds the pair, and the context to put it into.

        Args:
            interval: Seconds between two polls.
            trusts: Called after each poll; its result only changes ``status.in_sync``.
        """
        self._find = find
        self._live = live
        self._environment = environment
        self._interval = interval
        self._trusts = trusts
        self._status = CertificateStatus()
        self._doubt = ""  # the last reported reason why the trust was unknown

    @property
    def status(self) -> CertificateStatus:
        """Current status; ready as soon as a pair is served."""
        return self._status

    async def start(self) -> None:
        """
        Serve the current pair.

        Raises:
            CertError: There is no usable pair.
        """
        await self._refresh()

    async def run(self) -> None:
        """Poll every ``interval`` seconds."""
        while True:
            await self.compare()
            await self._environment.sleep(self._interval)
            await self.look()

    async def look(self) -> None:
        """Poll once; report an error and continue to serve the old pair."""
        try:
            await self._refresh()
        except CertError as error:
            self._complain(str(error))
        except Exception as error:  # noqa: BLE001  # any error leaves the old pair in use
            self._complain(describe_bug(error))

    async def compare(self) -> None:
        """Check whether clients trust the served pair; report distrust without repairing it."""
        assert self._live.served is not None
        try:
            in_sync = await self._trusts(self._live.served)
        except StoreError:
            in_sync = None
        except Exception as error:  # noqa: BLE001
            in_sync = None
            self._report_doubt(describe_bug(error))
        if in_sync is False and self._status.in_sync is not False:
            text = "caBundle does not lead to what is served; put its authority there"
            self._environment.report(Notice(subject=NoticeSubject.CA_BUNDLE, ok=False, text=text))
        self._status = replace(self._status, in_sync=in_sync)

    async def _refresh(self) -> None:
        # In a thread, since the file system may be slow and another process may hold the lock.
        found = await asyncio.to_thread(self._find, self._environment.clock())
        if found.pair != self._live.served:
            self._live.swap(found.pair)
            text = f"serving {describe_certificate(found.pair.leaf)}"
            self._environment.report(Notice(subject=NoticeSubject.LEAF, ok=True, text=text))
        self._status = replace(
            self._status,
            leaf=found.pair.leaf,
            authorities=found.authorities,
            problem="",
            ready=True,
        )

    def _report_doubt(self, problem: str) -> None:
        if problem != self._doubt:
            text = f"whether clients trust it is not known: {problem}"
            self._environment.report(Notice(subject=NoticeSubject.CA_BUNDLE, ok=False, text=text))
        self._doubt = problem

    def _complain(self, problem: str) -> None:
        if problem == self._status.problem:
            return
        self._status = replace(self._status, problem=problem)
        text = f"{problem}; the old certificate is served on"
        self._environment.report(Notice(subject=NoticeSubject.LEAF, ok=False, text=text))
