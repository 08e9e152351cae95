from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from certs.plan import MOST_FOREIGN, next_step
from certs.state import (
    Authority,
    Leaf,
    Lifetimes,
    RotationAction,
    RotationState,
    RotationStep,
    Validity,
)
from tests.certs.simulation import (
    OVERLAP,
    SECRET_LAG,
    SKEW,
    START,
    TICK,
    Cluster,
    Decide,
    Fate,
    Replica,
    at,
)

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


def revoked(*authorities: Authority, **changes: object) -> RotationState:
    """A state in which all were revoked five minutes ago but ``fresh``."""
    return state(*authorities, **{"revoked": NOW - 5 * MINUTE, **changes})


def fresh(*, published: int, promoted: int | None = None) -> Authority:
    """An authority created since, published and promoted so many seconds ago."""
    return authority(
        "fresh",
        age=5 * MINUTE,
        published=timedelta(seconds=published),
        promoted=None if promoted is None else timedelta(seconds=promoted),
    )


EMPTY: frozenset[str] = frozenset()

CASES: dict[str, tuple[RotationState, RotationAction, set[str]]] = {
    "all is well": (state(SIGNER), RotationAction.WAIT, set()),
    "nothing at all": (state(leaf=None), RotationAction.ADD_CA, set()),
    "a first authority signs at once": (
        state(authority("first", published=None, promoted=None), leaf=None),
        RotationAction.PROMOTE,
        {"first"},
    ),
    "a signer, and nothing served": (state(SIGNER, leaf=None), RotationAction.SIGN_LEAF, set()),
    "what is served is published by the replica that serves it": (
        state(authority("signer", published=None), everywhere=EMPTY, anywhere=EMPTY),
        RotationAction.INJECT,
        set(),
    ),
    "nothing is published by who serves nothing": (
        state(SIGNER, leaf=None, everywhere=EMPTY),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "what every bundle holds is recorded": (
        state(authority("signer", published=None)),
        RotationAction.RECORD,
        {"signer"},
    ),
    "one bundle lacks it": (
        state(SIGNER, PENDING, everywhere=frozenset({"signer"})),
        RotationAction.UNPUBLISH,
        {"pending"},
    ),
    "the bundles were emptied": (
        state(SIGNER, PENDING, everywhere=EMPTY, anywhere=EMPTY),
        RotationAction.UNPUBLISH,
        {"signer", "pending"},
    ),
    "published by a clock that was ahead": (
        state(SIGNER, authority("pending", published=-2 * DAY, promoted=None)),
        RotationAction.UNPUBLISH,
        {"pending"},
    ),
    "our clock is ahead": (
        state(SIGNER, now=NOW + 151 * timedelta(seconds=1)),
        RotationAction.DISTRUST,
        set(),
    ),
    "our clock is behind": (
        state(SIGNER, server_now=NOW + 8 * DAY),
        RotationAction.DISTRUST,
        set(),
    ),
    "our clock is a little ahead": (
        state(SIGNER, now=NOW + 150 * timedelta(seconds=1)),
        RotationAction.WAIT,
        set(),
    ),
    "the leaf is at two thirds of its life": (
        state(SIGNER, leaf=leaf("signer", age=6 * DAY, lifetime=9 * DAY)),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "the leaf is just younger than that": (
        state(SIGNER, leaf=leaf("signer", age=6 * DAY - MINUTE, lifetime=9 * DAY)),
        RotationAction.WAIT,
        set(),
    ),
    "the leaf has expired": (
        state(SIGNER, leaf=leaf("signer", age=7 * DAY)),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "the leaf ends now and its authority is unknown": (
        state(SIGNER, leaf=leaf("lost", age=7 * DAY)),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "published one overlap from now": (
        state(SIGNER, authority("pending", published=-10 * MINUTE, promoted=None)),
        RotationAction.WAIT,
        set(),
    ),
    "one that never signed stands between two that did": (
        state(
            OLD,
            authority("pending", published=MINUTE, promoted=None),
            authority("signer", promoted=8 * DAY, age=9 * DAY),
        ),
        RotationAction.DROP,
        {"old"},
    ),
    "a new leaf would end with the same authority": (
        state(
            authority("signer", age=4 * DAY, lifetime=5 * DAY),
            authority("pending", published=MINUTE, promoted=None),
            leaf=leaf("signer", age=3 * DAY, lifetime=4 * DAY),
        ),
        RotationAction.WAIT,
        set(),
    ),
    "new leaves were requested": (
        state(SIGNER, leaf_requested=NOW - MINUTE),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "new leaves were requested before this one was created": (
        state(SIGNER, leaf_requested=NOW - 2 * HOUR),
        RotationAction.WAIT,
        set(),
    ),
    "new leaves are requested for tomorrow": (
        state(SIGNER, leaf_requested=NOW + DAY),
        RotationAction.WAIT,
        set(),
    ),
    "the leaf follows the signer": (
        state(OLD, SIGNER, leaf=leaf("old")),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "the leaf follows the signer though its clock thinks it too early": (
        state(OLD, authority("signer", published=-MINUTE), leaf=leaf("old")),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "the Secret was lost, and what is served is still trusted": (
        state(
            authority("signer", published=MINUTE),
            leaf=leaf("lost"),
            everywhere=frozenset({"signer", "lost"}),
        ),
        RotationAction.WAIT,
        set(),
    ),
    "the Secret was lost, and the new authority is known by now": (
        state(SIGNER, leaf=leaf("lost"), everywhere=frozenset({"signer", "lost"})),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "the Secret was lost, and no client trusts the served leaf": (
        state(authority("signer", published=MINUTE), leaf=leaf("lost")),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "the Secret was put back to before the signer was promoted": (
        state(
            authority("signer", published=300 * DAY),
            authority("restored", published=HOUR, promoted=None),
            leaf=leaf("restored"),
            everywhere=frozenset({"restored"}),
            anywhere=frozenset({"restored"}),
        ),
        RotationAction.UNPUBLISH,
        {"signer"},
    ),
    "the next authority is known": (state(SIGNER, PENDING), RotationAction.PROMOTE, {"pending"}),
    "the next authority is not known to everybody yet": (
        state(SIGNER, authority("pending", published=9 * MINUTE, promoted=None)),
        RotationAction.WAIT,
        set(),
    ),
    "the signer is at two thirds of its life": (
        state(authority("signer", age=200 * DAY, lifetime=300 * DAY)),
        RotationAction.ADD_CA,
        set(),
    ),
    "its successor exists already": (
        state(
            authority("signer", age=200 * DAY, lifetime=300 * DAY),
            authority("pending", published=MINUTE, promoted=None),
        ),
        RotationAction.WAIT,
        set(),
    ),
    "a new authority was requested": (
        state(SIGNER, ca_requested=NOW - MINUTE),
        RotationAction.ADD_CA,
        set(),
    ),
    "a new authority was requested by a clock that is ahead of ours": (
        state(SIGNER, ca_requested=NOW + MINUTE, server_now=NOW + MINUTE),
        RotationAction.ADD_CA,
        set(),
    ),
    "a new authority was requested before the signer was created": (
        state(SIGNER, ca_requested=NOW - 2 * DAY),
        RotationAction.WAIT,
        set(),
    ),
    "the signer has expired": (
        state(authority("signer", age=2 * YEAR)),
        RotationAction.ADD_CA,
        set(),
    ),
    "the signer has expired and its successor is not known yet": (
        state(
            authority("signer", age=2 * YEAR),
            authority("pending", published=None, promoted=None),
        ),
        RotationAction.PROMOTE,
        {"pending"},
    ),
    "the signer has expired and only one without a key is alive": (
        state(OLD, authority("signer", age=2 * YEAR)),
        RotationAction.ADD_CA,
        set(),
    ),
    "leaves of the retired one may be alive": (
        state(OLD, authority("signer", promoted=7 * DAY + 9 * MINUTE, age=8 * DAY)),
        RotationAction.WAIT,
        set(),
    ),
    "no leaf of the retired one can be alive": (
        state(OLD, authority("signer", promoted=7 * DAY + 10 * MINUTE, age=8 * DAY)),
        RotationAction.DROP,
        {"old"},
    ),
    "a retired one has expired itself": (
        state(authority("old", age=YEAR + 10 * MINUTE), SIGNER),
        RotationAction.DROP,
        {"old"},
    ),
    "a retired one has expired by our clock": (
        state(authority("old", age=YEAR + 9 * MINUTE), SIGNER),
        RotationAction.WAIT,
        set(),
    ),
    "the signer never expires": (
        state(replace(SIGNER, validity=replace(SIGNER.validity, end=LAST))),
        RotationAction.WAIT,
        set(),
    ),
    "one of several retired ones is over": (
        state(
            replace(OLD, name="older"),
            replace(OLD, promoted=NOW - 8 * DAY),
            SIGNER,
        ),
        RotationAction.DROP,
        {"older"},
    ),
    "a bundle still holds what is to leave": (
        state(replace(OLD, leaving=True), SIGNER, anywhere=frozenset({"old", "signer"})),
        RotationAction.INJECT,
        set(),
    ),
    "no bundle holds what is to leave": (
        state(replace(OLD, leaving=True), SIGNER),
        RotationAction.FORGET,
        {"old"},
    ),
    "a bundle holds what the Secret does not": (
        state(SIGNER, anywhere=frozenset({"stranger", "signer"})),
        RotationAction.ADD_FOREIGN,
        {"stranger"},
    ),
    "bundles hold more of that than the Secret lists": (
        state(SIGNER, FOREIGN, anywhere=frozenset({"foreign", *map(str, range(100, 130))})),
        RotationAction.ADD_FOREIGN,
        set(map(str, range(100, 100 + MOST_FOREIGN - 1))),
    ),
    "only foreign ones count against their bound": (
        state(OLD, SIGNER, FOREIGN, anywhere=frozenset({"foreign", *map(str, range(100, 130))})),
        RotationAction.ADD_FOREIGN,
        set(map(str, range(100, 100 + MOST_FOREIGN - 1))),
    ),
    "the leaf ends now, before clients know the signer": (
        state(
            authority("signer", published=MINUTE),
            leaf=leaf("lost", age=7 * DAY),
            everywhere=frozenset({"signer", "lost"}),
        ),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "a foreign one stays as long as its leaves may": (
        state(SIGNER, replace(FOREIGN, foreign=NOW - 7 * DAY - 9 * MINUTE)),
        RotationAction.WAIT,
        set(),
    ),
    "a foreign one leaves like a retired one": (
        state(SIGNER, replace(FOREIGN, foreign=NOW - 7 * DAY - 10 * MINUTE)),
        RotationAction.DROP,
        {"foreign"},
    ),
    "a foreign one never signs": (
        state(FOREIGN, leaf=None),
        RotationAction.ADD_CA,
        set(),
    ),
    "another client removed the foreign one": (
        state(SIGNER, FOREIGN, anywhere=frozenset({"signer"})),
        RotationAction.FORGET,
        {"foreign"},
    ),
    "the signer is revoked": (
        revoked(SIGNER),
        RotationAction.ADD_CA,
        set(),
    ),
    "a revocation is for tomorrow": (
        revoked(SIGNER, revoked=NOW + DAY),
        RotationAction.WAIT,
        set(),
    ),
    "the signer was created since the revocation": (
        revoked(SIGNER, revoked=NOW - DAY),
        RotationAction.WAIT,
        set(),
    ),
    "our clock is behind that of a revocation": (
        revoked(SIGNER, revoked=NOW + MINUTE, server_now=NOW + MINUTE),
        RotationAction.ADD_CA,
        set(),
    ),
    "the next authority is revoked with the signer": (
        revoked(SIGNER, PENDING),
        RotationAction.ADD_CA,
        set(),
    ),
    "a revocation waits for no client that fights for a bundle": (
        revoked(SIGNER, everywhere=EMPTY, anywhere=EMPTY),
        RotationAction.ADD_CA,
        set(),
    ),
    "a revoked authority that never signed leaves at once": (
        revoked(SIGNER, PENDING, fresh(published=9)),
        RotationAction.DROP,
        {"pending"},
    ),
    "the successor of a revoked one signs after ten seconds": (
        revoked(SIGNER, fresh(published=10)),
        RotationAction.PROMOTE,
        {"fresh"},
    ),
    "not earlier": (
        revoked(SIGNER, fresh(published=9)),
        RotationAction.WAIT,
        set(),
    ),
    "a leaf of the revoked one is replaced": (
        revoked(SIGNER, fresh(published=10, promoted=0)),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "the revoked one leaves after a minute": (
        revoked(OLD, SIGNER, FOREIGN, fresh(published=60, promoted=45), leaf=leaf("fresh")),
        RotationAction.DROP,
        {"old", "signer", "foreign"},
    ),
    "the revoked one stays for a minute": (
        revoked(SIGNER, fresh(published=59, promoted=45), leaf=leaf("fresh")),
        RotationAction.WAIT,
        set(),
    ),
    "the revoked one stays until replicas could sign again": (
        revoked(SIGNER, fresh(published=300, promoted=29), leaf=leaf("fresh")),
        RotationAction.WAIT,
        set(),
    ),
    "the revoked one stays until its successor is back in every bundle": (
        revoked(
            SIGNER,
            fresh(published=60, promoted=45),
            leaf=leaf("fresh"),
            everywhere=frozenset({"signer"}),
        ),
        RotationAction.UNPUBLISH,
        {"fresh"},
    ),
    "a revoked one comes back with an old bundle": (
        revoked(
            fresh(published=3600, promoted=3600), FOREIGN, leaf=leaf("fresh"), revoked=NOW - HOUR
        ),
        RotationAction.DROP,
        {"foreign"},
    ),
    "a foreign one that came after the revocation stays": (
        revoked(
            fresh(published=3600, promoted=3600),
            authority("foreign", age=MINUTE, foreign=MINUTE, promoted=None, published=None),
            leaf=leaf("fresh"),
            revoked=NOW - HOUR,
        ),
        RotationAction.WAIT,
        set(),
    ),
    "a leaf of a lost authority that is revoked is replaced early": (
        revoked(fresh(published=10, promoted=10), FOREIGN, leaf=leaf("foreign")),
        RotationAction.SIGN_LEAF,
        set(),
    ),
}


@pytest.mark.parametrize(("given_", "action", "names"), CASES.values(), ids=CASES)
def test_the_next_step(given_: RotationState, action: RotationAction, names: set[str]) -> None:
    assert next_step(given_) == RotationStep(action, frozenset(names))


SEARCH = (Phase.generate,)  # the first counterexample will do, however long it is

EVENTS = st.tuples(
    st.integers(0, 4),
    st.integers(0, 12),
    st.sampled_from([Fate.ACT] * 6 + [Fate.STALL] * 3 + [Fate.CRASH, Fate.JUMP, Fate.MEND]),
    st.integers(-9, 9),
)
HISTORIES = st.tuples(
    st.integers(1, 5),  # replicas
    st.integers(60, 300),  # life of an authority, in ticks
    st.integers(4, 60),  # life of a leaf, in ticks
    st.lists(EVENTS, min_size=20, max_size=160),
)
History = tuple[int, int, int, list[tuple[int, int, Fate, int]]]


def play(history: History, decide: Decide = next_step) -> Cluster:
    count, ca, leaf_life, events = history
    lifetimes = Lifetimes(ca=ca * TICK, leaf=leaf_life * TICK, overlap=OVERLAP * TICK)
    cluster = Cluster(lifetimes, decide, [Replica() for _ in range(count)])
    for number, wait, fate, amount in events:
        cluster.wait(wait)
        cluster.happen(number % count, fate, amount)
    return cluster


@settings(max_examples=400, deadline=None)
@given(HISTORIES)
def test_no_lagging_client_ever_encounters_an_unknown_issuer(history: History) -> None:
    assert play(history).broken == []


@settings(max_examples=100, deadline=None)
@given(HISTORIES, st.integers(0, 150))
def test_not_even_when_the_secret_is_lost(history: History, moment: int) -> None:
    count, ca, leaf_life, events = history
    cluster = play((count, ca, leaf_life, events[:moment]))

    cluster.lose_secret()
    for number, wait, fate, amount in events[moment:]:
        cluster.wait(wait)
        cluster.happen(number % count, fate, amount)

    assert cluster.broken == []


@settings(max_examples=100, deadline=None)
@given(HISTORIES, st.integers(0, 150), st.integers(0, 30))
def test_not_even_when_an_old_secret_is_restored(history: History, moment: int, age: int) -> None:
    count, ca, leaf_life, events = history
    cluster = play((count, ca, leaf_life, events[:moment]))

    cluster.restore_secret(age)
    for number, wait, fate, amount in events[moment:]:
        cluster.wait(wait)
        cluster.happen(number % count, fate, amount)

    assert cluster.broken == []


@dataclass
class Revocation:
    """A cluster in which every replica takes all its steps in every other tick."""

    skews: list[int]
    fates: list[Fate]  # of the replicas in the ticks between
    ca: int
    leaf_life: int
    before: int  # ticks until the revocation
    lost: bool  # whether the Secret is lost just before

    def play(self, decide: Decide = next_step) -> Cluster:
        lifetimes = Lifetimes(ca=self.ca * TICK, leaf=self.leaf_life * TICK, overlap=OVERLAP * TICK)
        cluster = Cluster(lifetimes, decide, [Replica(skew=skew) for skew in self.skews])
        self.run(cluster, self.before)
        if self.lost:
            cluster.lose_secret()
            self.run(cluster, 2)
        cluster.wait(1)
        cluster.revoke()
        return cluster

    def run(self, cluster: Cluster, ticks: int) -> None:
        for tick in range(ticks):
            cluster.wait(1)
            for number in range(len(self.skews)):
                fate = self.fates[(tick + 7 * number) % len(self.fates)] if tick % 2 else Fate.ACT
                cluster.happen(number, fate, SECRET_LAG)


REVOCATIONS = st.builds(
    Revocation,
    skews=st.lists(st.integers(-SKEW, SKEW), min_size=1, max_size=4),
    fates=st.lists(
        st.sampled_from([Fate.ACT, Fate.ACT, Fate.STALL, Fate.CRASH]), min_size=1, max_size=24
    ),
    ca=st.integers(60, 300),
    leaf_life=st.integers(8, 60),
    before=st.integers(0, 200),
    lost=st.booleans(),
)


@settings(max_examples=100, deadline=None)
@given(REVOCATIONS)
def test_a_revoked_authority_leaves_in_time_and_no_client_notices(revocation: Revocation) -> None:
    cluster = revocation.play()
    moment = at(cluster.tick)

    # Two ticks to publish, a quarter of an overlap to sign, two for the others to follow.
    revocation.run(cluster, 2 + OVERLAP // 4 + 2 * 2)
    valid = {one.name for one in cluster.created if one.validity.start >= moment}
    assert all(replica.leaf is None or replica.leaf.issuer in valid for replica in cluster.replicas)

    revocation.run(cluster, OVERLAP)
    assert set.union(*map(set, cluster.bundles[-1][1])) <= valid
    assert {one.name for one in cluster.secrets[-1][1]} <= valid

    revocation.run(cluster, 2 * OVERLAP)
    assert cluster.broken == []
    assert 1 <= len(valid) <= 2


def sooner(given_: RotationState) -> RotationStep:
    """The planner in whose revocation the new authority signs at once."""
    ahead = [
        replace(a, published=shifted(a.published, given_.lifetimes.revocation / 6))
        for a in given_.authorities
    ]
    return next_step(replace(given_, authorities=ahead))


def merciless(given_: RotationState) -> RotationStep:
    """The planner that drops a revoked authority before the replicas could sign again."""
    ahead = [
        replace(
            a,
            published=shifted(a.published, given_.lifetimes.revocation * bool(a.promoted)),
            promoted=shifted(a.promoted, given_.lifetimes.revocation),
        )
        for a in given_.authorities
    ]
    return next_step(replace(given_, authorities=ahead))


@pytest.mark.parametrize("mutant", [sooner, merciless], ids=lambda mutant: mutant.__doc__)
def test_a_hastier_revocation_fails_the_same_property(
    mutant: Callable[[RotationState], RotationStep],
) -> None:
    def breaks(revocation: Revocation) -> bool:
        cluster = revocation.play(mutant)
        is_sound = not cluster.broken
        revocation.run(cluster, 3 * OVERLAP)
        return is_sound and bool(cluster.broken)

    unhurried = settings(max_examples=2000, deadline=None, database=None, phases=SEARCH)

    find(REVOCATIONS, breaks, settings=unhurried)  # raises if there is none


def shifted(moment: datetime | None, by: timedelta) -> datetime | None:
    return moment and moment - by


def impatient(given_: RotationState) -> RotationStep:
    """The planner without the overlap before a new authority signs."""
    overlap = given_.lifetimes.overlap
    ahead = [replace(a, published=shifted(a.published, overlap)) for a in given_.authorities]
    return next_step(replace(given_, authorities=ahead))


def ruthless(given_: RotationState) -> RotationStep:
    """The planner that ends the trust in an authority as soon as another one signs."""
    patience = given_.lifetimes.leaf + given_.lifetimes.overlap
    ahead = [replace(a, promoted=shifted(a.promoted, patience)) for a in given_.authorities]
    return next_step(replace(given_, authorities=ahead))


def credulous(given_: RotationState) -> RotationStep:
    """The planner that believes any clock."""
    return next_step(replace(given_, server_now=given_.now))


def abrupt(given_: RotationState) -> RotationStep:
    """The planner that lets a new authority sign before it is in any bundle."""
    pending = given_.pending
    return (
        RotationStep(RotationAction.PROMOTE, frozenset({pending.name}))
        if pending
        else next_step(given_)
    )


MUTANTS = [impatient, ruthless, credulous, abrupt]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__doc__)
def test_a_planner_without_one_of_its_cautions_fails_the_same_property(
    mutant: Callable[[RotationState], RotationStep],
) -> None:
    unhurried = settings(max_examples=2000, deadline=None, database=None, phases=SEARCH)

    assert find(HISTORIES, lambda history: bool(play(history, mutant).broken), settings=unhurried)


@settings(max_examples=25, deadline=None)
@given(
    count=st.integers(1, 5),
    ca=st.integers(100, 300),
    leaf_life=st.integers(4, 60),
    poll=st.integers(1, 2),
)
def test_rotation_continues_while_a_replica_runs(
    count: int, ca: int, leaf_life: int, poll: int
) -> None:
    rounds = 4 * ca // poll
    everyday = [
        (number, poll if number == 0 else 0, Fate.ACT, 0)
        for _ in range(rounds)
        for number in range(count)
    ]

    cluster = play((count, ca, leaf_life, everyday))

    names = frozenset(one.name for one in cluster.secrets[-1][1])
    assert len(cluster.created) >= 4
    assert len(cluster.in_need) == 1
    assert len(names) <= 3
    assert cluster.bundles[-1][1] == (names, names)
    assert cluster.broken == []
    assert all(
        replica.leaf and at(cluster.tick) < replica.leaf.validity.end
        for replica in cluster.replicas
    )
