"""States of a rotation, as the planner gets them: authorities, leaves and bundles at NOW."""

from dataclasses import replace
from datetime import datetime, timedelta

from certs.state import Authority, Leaf, Revocation, RotationState, Validity
from tests.certs.simulation import START

YEAR = timedelta(days=365)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
NOW = datetime(2030, 1, 1, tzinfo=START.tzinfo)
LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=START.tzinfo)  # RFC 5280: no end at all


def authority(
    name: str,
    *,
    age: timedelta = DAY,
    lifetime: timedelta = YEAR,
    published: timedelta | None = HOUR,
    promoted: timedelta | None = HOUR,
    leaving: bool = False,
    foreign: timedelta | None = None,
) -> Authority:
    """Each event as many seconds ago as given; None: never."""
    return Authority(
        name=name,
        validity=Validity(start=NOW - age, end=NOW - age + lifetime),
        published=None if published is None else NOW - published,
        promoted=None if promoted is None else NOW - promoted,
        leaving=leaving,
        foreign=None if foreign is None else NOW - foreign,
    )


def leaf(issuer: str, *, age: timedelta = HOUR, lifetime: timedelta = 7 * DAY) -> Leaf:
    return Leaf(issuer=issuer, validity=Validity(start=NOW - age, end=NOW - age + lifetime))


OLD = authority("old", age=300 * DAY, promoted=299 * DAY, published=299 * DAY)
SIGNER = authority("signer")
PENDING = authority("pending", promoted=None)
FOREIGN = authority("foreign", published=None, promoted=None, foreign=DAY)


def state(*authorities: Authority, **changes: object) -> RotationState:
    """A state that needs no step: every bundle has every name, and the clocks agree."""
    names = frozenset(one.name for one in authorities if not one.leaving)
    well = RotationState(
        authorities=authorities,
        everywhere=names - {one.name for one in authorities if one.foreign},
        anywhere=names,
        leaf=leaf("signer"),
        now=NOW,
        server_now=NOW,
    )
    return replace(well, **changes)  # type: ignore[arg-type]  # the cases name what they change


def revoked(
    *authorities: Authority,
    at: datetime = NOW - 5 * MINUTE,
    ended: bool = False,
    **changes: object,
) -> RotationState:
    """A state in which all were revoked five minutes ago but ``fresh``."""
    return state(*authorities, recorded=Revocation(at=at, ended=ended), **changes)


def fresh(*, published: int, promoted: int | None = None, age: timedelta = 5 * MINUTE) -> Authority:
    """An authority created since, published and promoted so many seconds ago."""
    return authority(
        "fresh",
        age=age,
        published=timedelta(seconds=published),
        promoted=None if promoted is None else timedelta(seconds=promoted),
    )


EMPTY: frozenset[str] = frozenset()
