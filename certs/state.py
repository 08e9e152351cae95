"""
What a decision about our own authority depends on: the words of ``certs.plan``.

Values and questions about them; nothing is decided here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

RENEW_AFTER = 2 / 3
"""Part of a life after which a successor is made; the rest is time to mend what prevents it."""

LOOKS = 10
"""Least looks of a replica during the life of a leaf: at least three are left once it is due."""

OVERLAPS = 3
"""An authority lives longer than that many overlaps: its last third has to hold one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """
    How long things last.

    Attributes:
        ca: Life of an authority; more than ``OVERLAPS`` overlaps.
        leaf: Life of what a replica serves; at least ``LOOKS`` polls.
        overlap: How long everybody may take to notice a change.
    """

    ca: timedelta = timedelta(days=365)
    leaf: timedelta = timedelta(days=7)
    overlap: timedelta = timedelta(minutes=10)

    @property
    def clock_tolerance(self) -> timedelta:
        """How much our clock may differ from the API server's, in either direction."""
        return self.overlap / 4

    @property
    def poll(self) -> timedelta:
        """How often a replica looks: an emptied bundle is to be filled again within 5 s."""
        return min(timedelta(seconds=3), self.overlap / 10)

    @property
    def problem(self) -> str:
        """Why they do not go together, a sentence without its full stop; empty if they do."""
        if self.leaf < LOOKS * self.poll:
            least = LOOKS * self.poll.total_seconds()
            return f"leaves would end before replicas look again: let them live {least:g}s or more"
        if self.ca <= OVERLAPS * self.overlap:
            least = OVERLAPS * self.overlap.total_seconds()
            return f"a CA would end before its successor signs: let it live longer than {least:g}s"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """
    The life of a certificate.

    Attributes:
        start: When it was made; not its NotBefore, which lies earlier.
        end: Its NotAfter; from then on it is refused.
    """

    start: datetime
    end: datetime

    @property
    def renew_at(self) -> datetime:
        """When its successor is due."""
        return self.start + (self.end - self.start) * RENEW_AFTER


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """
    One authority, as the Secret tells of it.

    Attributes:
        name: Its fingerprint.
        validity: Its life.
        published: Since when every bundle has been seen to hold it; None: not yet, or not any more.
        promoted: Since when it signs, or when it began to; None: it is pending.
        leaving: Whether it is to be taken out of the bundles.
    """

    name: str
    validity: Validity
    published: datetime | None = None
    promoted: datetime | None = None
    leaving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """
    What this replica serves.

    Attributes:
        issuer: The name of its authority.
        validity: Its life.
    """

    issuer: str
    validity: Validity


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationState:
    """
    All that a decision depends on; as read from the cluster just now.

    Attributes:
        authorities: The list in the Secret, oldest first.
        everywhere: Names that every bundle holds; without any bundle, all there are.
        anywhere: Names that at least one bundle holds.
        leaf: What is served; None: nothing yet.
        now: Our clock, read before the Secret was.
        server_now: The API server's clock when it answered.
        ca_asked: When somebody asked for a new authority; None: nobody did.
        leaf_asked: When somebody asked for new leaves.
        lifetimes: How long things last.
    """

    authorities: Sequence[Authority]
    everywhere: frozenset[str]
    anywhere: frozenset[str]
    leaf: Leaf | None
    now: datetime
    server_now: datetime
    ca_requested: datetime | None = None
    leaf_requested: datetime | None = None
    lifetimes: Lifetimes = Lifetimes()

    @property
    def alive(self) -> list[Authority]:
        """Authorities that clients should trust, oldest first."""
        return [one for one in self.authorities if not (one.leaving or self.expired(one))]

    @property
    def signer(self) -> Authority | None:
        """The one that signs: the newest that was promoted; None if that one is not alive."""
        newest = next((one for one in reversed(self.authorities) if one.promoted), None)
        return newest if newest in self.alive else None

    @property
    def pending(self) -> Authority | None:
        """The one that is to sign next."""
        return next((one for one in self.alive if not one.promoted), None)

    def expired(self, authority: Authority) -> bool:
        """Tell whether its life is over."""
        return self.now >= authority.validity.end

    def settled(self, authority: Authority) -> bool:
        """Tell whether every client has had one overlap to learn of it."""
        return (
            authority.name in self.everywhere
            and authority.published is not None
            and self.now - authority.published >= self.lifetimes.overlap
        )
