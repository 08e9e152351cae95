"""
Serve a pair that stands somewhere else, and look there again and again.

A pair that cannot be used never takes the place of one that can.
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
"""How long a new pair may go unnoticed; the same as cert-manager's and controller-runtime's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPair:
    """
    What stands there.

    Attributes:
        pair: What to serve.
        authorities: What clients have to trust; empty if unknown.
    """

    pair: CertificatePair
    authorities: tuple[x509.Certificate, ...]


Find = Callable[[datetime], LoadedPair]
"""Finds the pair that is good at that time, or raises a ``CertError``; it may block."""


Trusts = Callable[[CertificatePair], Awaitable[bool | None]]
"""Tells whether clients trust a pair; None: not known. It may raise a ``StoreError``."""


async def unknown_trust(_pair: CertificatePair) -> bool | None:
    """Know nothing of clients."""
    return None


class PollingSource:
    """The newest good pair that ``find`` has found, as a ``CertificateSource``."""

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
        Remember where to look, and where to put what is found.

        Args:
            interval: Seconds between two looks.
            trusts: Asked after each look; its answer changes ``status.in_sync``, nothing else.
        """
        self._find = find
        self._live = live
        self._environment = environment
        self._interval = interval
        self._trusts = trusts
        self._status = CertificateStatus()
        self._doubt = ""  # why it was not known who trusts it, when last reported

    @property
    def status(self) -> CertificateStatus:
        """How it stands; ready as soon as one pair is served."""
        return self._status

    async def start(self) -> None:
        """
        Serve what stands there.

        Raises:
            CertError: Nothing that can be used.
        """
        await self._refresh()

    async def run(self) -> None:
        """Look every ``interval`` seconds."""
        while True:
            await self.compare()
            await self._environment.sleep(self._interval)
            await self.look()

    async def look(self) -> None:
        """Look once; trouble is reported, and the old pair is served on."""
        try:
            await self._refresh()
        except CertError as error:
            self._complain(str(error))
        except Exception as error:  # noqa: BLE001  # the old pair is good, whatever this is
            self._complain(describe_bug(error))

    async def compare(self) -> None:
        """Ask whether what is served is trusted; if not, that is for others to put right."""
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
        # In a thread, since a file system may be slow, and a lock may be held.
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
