"""
Input and output of the rotation planner: the state of all authorities and leaves, and the steps.

``RotationState`` is the entry point. ``certs.plan`` maps it to a ``RotationStep``, and ``advance``
applies that to the list of authorities in the Secret. No I/O, no clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto

RENEW_AFTER = 2 / 3
"""Share of a lifetime after which the successor is due; the rest is time to fix problems."""

MIN_POLLS = 10  # polls of a replica in the lifetime of a leaf: at least three remain once it is due

MIN_OVERLAPS = 3
"""An authority lasts longer than this many overlaps: its last third must contain one."""

REVOCATION = timedelta(seconds=60)
"""
Longest time for which a revoked authority stays trusted once its successor is.

API servers notice a changed ``caBundle`` within a second. The successor signs after 10 s (a sixth),
and replicas read every 3 s: the rest is for one that stands still.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """
    Lifetimes of certificates.

    Attributes:
        ca: Of an authority; more than ``MIN_OVERLAPS`` overlaps.
        leaf: Of a leaf; at least ``MIN_POLLS`` polls.
        overlap: Time in which every client notices a change of trust.
    """

    ca: timedelta = timedelta(days=365)
    leaf: timedelta = timedelta(days=7)
    overlap: timedelta = timedelta(minutes=10)

    @property
    def clock_tolerance(self) -> timedelta:
        """How much our clock may differ from the API server's, in either direction."""
        return self.overlap / 4

    @property
    def revocation(self) -> timedelta:
        """How long a revoked authority stays in the bundles after its successor is in all."""
        return min(REVOCATION, self.overlap)

    @property
    def poll(self) -> timedelta:
        """Interval between two reads of a replica; an emptied bundle is filled again within 5 s."""
        return min(timedelta(seconds=3), self.overlap / 10)

    @property
    def problem(self) -> str:
        """Why the lifetimes contradict each other, without a full stop; empty if they do not."""
        if self.leaf < MIN_POLLS * self.poll:
            least = MIN_POLLS * self.poll.total_seconds()
            return f"leaves would end before replicas poll again: choose {least:g}s or more"
        if self.ca <= MIN_OVERLAPS * self.overlap:
            least = MIN_OVERLAPS * self.overlap.total_seconds()
            return f"a CA would end before its successor signs: choose more than {least:g}s"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """
    Validity period of a certificate.

    Attributes:
        start: Time of its creation; its NotBefore is earlier.
        end: Its NotAfter; clients refuse it from then on.
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
    One authority, as the Secret describes it.

    Attributes:
        name: Its fingerprint.
        validity: Its validity period.
        published: When every bundle was first seen to contain it; None: not all bundles do.
        promoted: When it became the signer; None: it is pending.
        leaving: Whether it is being removed from the bundles.
        foreign: Since when a bundle contains it though no replica created it for this Secret;
            None: it is ours.
    """

    name: str
    validity: Validity
    published: datetime | None = None
    promoted: datetime | None = None
    leaving: bool = False
    foreign: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """
    The last revocation, as the Secret describes it; it outlasts the annotation that requested it.

    Attributes:
        at: All authorities created before this time are revoked.
        ended: Whether every revoked authority has left; until then all foreign ones count as such.
    """

    at: datetime
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """The leaf that this replica serves, with the name of its authority."""

    issuer: str
    validity: Validity


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationState:
    """
    Everything the planner depends on, as just read from the cluster.

    Attributes:
        authorities: The list in the Secret, oldest first.
        everywhere: Names in every bundle; all names if there is no bundle.
        anywhere: Names in at least one bundle.
        leaf: The served leaf; None: no leaf yet.
        now: Our clock, read before the Secret was.
        server_now: The API server's clock when it answered.
        ca_requested: When a new authority was requested; None: not requested.
        leaf_requested: When new leaves were requested; None: not requested.
        revoke_requested: When a revocation was requested; None: not requested.
        recorded: The revocation in the Secret; None: there was none.
        lifetimes: Lifetimes of certificates.
    """

    authorities: Sequence[Authority]
    everywhere: frozenset[str]
    anywhere: frozenset[str]
    leaf: Leaf | None
    now: datetime
    server_now: datetime
    ca_requested: datetime | None = None
    leaf_requested: datetime | None = None
    revoke_requested: datetime | None = None
    recorded: Revocation | None = None
    lifetimes: Lifetimes = Lifetimes()

    @property
    def alive(self) -> list[Authority]:
        """Authorities that clients should trust, oldest first."""
        return [
            authority
            for authority in self.authorities
            if not (authority.leaving or authority.foreign) and self.now < authority.validity.end
        ]

    @property
    def signer(self) -> Authority | None:
        """The authority that signs: the newest promoted one; None if it is not alive."""
        promoted = [authority for authority in self.authorities if authority.promoted]
        return promoted[-1] if promoted and promoted[-1] in self.alive else None

    @property
    def pending(self) -> Authority | None:
        """The authority that will sign next."""
        waiting = (
            authority
            for authority in self.alive
            if not (authority.promoted or self.is_revoked(authority))
        )
        return next(waiting, None)

    @property
    def revocation(self) -> Revocation | None:
        """The recorded revocation; None before its time, when it would revoke new authorities."""
        is_past = self.recorded is not None and self.recorded.at <= self.server_now
        return self.recorded if is_past else None

    def is_revoked(self, authority: Authority) -> bool:
        """Whether an authority is older than the revocation, or foreign while that runs."""
        revocation = self.revocation
        return revocation is not None and (
            authority.validity.start < revocation.at
            or (authority.foreign is not None and not revocation.ended)
        )

    def settled(self, authority: Authority, *, instead_of: str) -> bool:
        """Whether every client has had the time to learn of the successor of an authority."""
        hurry = any(ca.name == instead_of and self.is_revoked(ca) for ca in self.authorities)
        patience = self.lifetimes.revocation / 6 if hurry else self.lifetimes.overlap
        return self.trusted_for(authority) >= patience

    def has_taken_over(self, authority: Authority) -> bool:
        """Whether an authority has signed for so long that no replica needs a revoked one."""
        span = self.lifetimes.revocation
        # A replica that stood still in between gets half of the time to sign again.
        return (
            authority.promoted is not None
            and self.trusted_for(authority) >= span
            and self.server_now - authority.promoted >= span / 2
        )

    def trusted_for(self, authority: Authority) -> timedelta:
        """Return how long every bundle has contained an authority; 0 if one does not."""
        if authority.published is None or authority.name not in self.everywhere:
            return timedelta(0)
        return self.server_now - authority.published


class RotationAction(Enum):
    """What a step does; ``advance`` applies the actions that change only the Secret."""

    WAIT = auto()  # nothing to do; read again after the poll interval
    DISTRUST = auto()  # our clock or the API server's is off: change nothing
    ADD_CA = auto()  # create an authority and append it to the list
    ADD_FOREIGN = auto()  # append a certificate that only a bundle contains
    SIGN_LEAF = auto()  # sign a leaf with the signer and serve it
    UNPUBLISH = auto()  # a bundle lacks it: not every client knows it
    INJECT = auto()  # write the bundles
    RECORD = auto()  # every bundle contains it: record since when
    FORGET = auto()  # no bundle contains it: remove it from the list
    PROMOTE = auto()  # make it the signer
    DROP = auto()  # remove it from the bundles
    REVOKE = auto()  # record that a revocation begins or has ended


@dataclass(frozen=True, slots=True)
class RotationStep:
    """The next step, with the names of the authorities concerned, or the revocation to record."""

    action: RotationAction
    names: frozenset[str] = frozenset()
    revocation: Revocation | None = None


def advance(
    step: RotationStep, authorities: Sequence[Authority], now: datetime
) -> tuple[Authority, ...]:
    """
    Apply a step to the list as read; actions that do not write the list change nothing.

    Args:
        now: The API server's clock, which all replicas share.
    """
    change = _CHANGES.get(step.action)
    if step.action is RotationAction.FORGET:
        return tuple(ca for ca in authorities if ca.name not in step.names)
    if change is None:
        return tuple(authorities)
    return tuple(change(ca, now) if ca.name in step.names else ca for ca in authorities)


_CHANGES: dict[RotationAction, Callable[[Authority, datetime], Authority]] = {
    RotationAction.UNPUBLISH: lambda ca, _: replace(ca, published=None),
    RotationAction.RECORD: lambda ca, now: replace(ca, published=now),
    RotationAction.PROMOTE: lambda ca, now: replace(ca, promoted=now),
    RotationAction.DROP: lambda ca, _: replace(ca, leaving=True),
}
