"""
Serve a pair from another place, and poll that place for a newer pair.

Entry point: ``PollingSource``. An unusable pair must never replace a usable one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from cryptography import x509

from certs.errors import CertError, StoreError
from certs.pem import CertificatePair, describe_certificate
from certs.serving import LiveContext
from certs.source import CertificateStatus, NoticeSubject, SourceEnvironment, describe_bug

INTERVAL_S = 10.0
"""Longest delay until a new pair is noticed; as in cert-manager and controller-runtime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPair:
    """A pair to serve, and the certificates that clients have to trust; empty if unknown."""

    pair: CertificatePair
    authorities: tuple[x509.Certificate, ...]


Find = Callable[[datetime], LoadedPair]
"""Returns the pair to serve at that time, or raises a ``CertError``; it may block."""


Trusts = Callable[[CertificatePair], Awaitable[bool | None]]
"""Returns whether clients trust a pair; None: unknown. It may raise a ``StoreError``."""


@dataclass(slots=True)
class PollingSource:
    """
    The newest usable pair that ``find`` has returned, as a ``CertificateSource``.

    Attributes:
        interval: Seconds between two polls.
        trusts: Called after each poll; its result only changes ``status.in_sync``. None: the
            trust of the clients stays unknown.
        status: Current status; ready as soon as a pair is served.
    """

    find: Find
    live: LiveContext
    environment: SourceEnvironment
    interval: float = field(default=INTERVAL_S, kw_only=True)
    trusts: Trusts | None = field(default=None, kw_only=True)
    status: CertificateStatus = field(default_factory=CertificateStatus, init=False)
    _trust_problem: str = field(default="", init=False)  # reported last

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
            await self.check_trust()
            await self.environment.sleep(self.interval)
            await self.poll()

    async def poll(self) -> None:
        """Poll once; report an error and continue to serve the old pair."""
        try:
            await self._refresh()
        except CertError as error:
            self._report_problem(str(error))
        except Exception as error:  # noqa: BLE001  # any error leaves the old pair in use
            self._report_problem(describe_bug(error))

    async def check_trust(self) -> None:
        """Check whether clients trust the served pair; report distrust without repairing it."""
        if self.trusts is None or self.live.served is None:
            return
        in_sync: bool | None = None
        problem = ""
        try:
            in_sync = await self.trusts(self.live.served)
        except StoreError:
            in_sync = None  # unknown while the API server does not answer
        except Exception as error:  # noqa: BLE001
            problem = f"whether clients trust it is not known: {describe_bug(error)}"
        if in_sync is False:
            problem = "caBundle does not lead to what is served; put its authority there"
        if problem and problem != self._trust_problem:
            self.environment.report_problem(NoticeSubject.CA_BUNDLE, problem)
        self._trust_problem = problem
        self.status = replace(self.status, in_sync=in_sync)

    async def _refresh(self) -> None:
        # In a thread, since the file system may be slow and another process may hold the lock.
        found = await asyncio.to_thread(self.find, self.environment.clock())
        leaf = found.pair.leaf
        if found.pair != self.live.served:
            self.live.swap(found.pair)
            text = f"serving {describe_certificate(leaf)}"
            self.environment.report_success(NoticeSubject.LEAF, text)
        self.status = replace(
            self.status, leaf=leaf, authorities=found.authorities, problem="", ready=True
        )

    def _report_problem(self, problem: str) -> None:
        if problem != self.status.problem:
            self.status = replace(self.status, problem=problem)
            text = f"{problem}; the old certificate is served on"
            self.environment.report_problem(NoticeSubject.LEAF, text)
