from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from certs.plan import next_step
from certs.state import (
    Lifetimes,
    Revocation,
    RotationAction,
    RotationState,
    RotationStep,
)
from tests.certs import revocation_cases, rotation_cases
from tests.certs.simulation import (
    OVERLAP,
    SECRET_LAG,
    SKEW,
    TICK,
    Cluster,
    Decide,
    Fate,
    Replica,
    at,
)
from tests.certs.states import (
    DAY,
    EMPTY,
    HOUR,
    MINUTE,
    NOW,
    SIGNER,
    authority,
    fresh,
    leaf,
    revoked,
    state,
)

CASES = {**rotation_cases.ROTATIONS, **revocation_cases.REVOCATIONS}


@pytest.mark.parametrize(("given_", "action", "names"), CASES.values(), ids=CASES)
def test_the_next_step(given_: RotationState, action: RotationAction, names: set[str]) -> None:
    assert next_step(given_) == RotationStep(action, frozenset(names))


TODAY = Revocation(at=NOW - HOUR)
STARTS = {
    "it is requested": (None, NOW - HOUR, TODAY),
    "its time is now": (None, NOW, Revocation(at=NOW)),
    "it is for later": (None, NOW + MINUTE, None),
    "it is recorded": (TODAY, NOW - HOUR, None),
    "its request is removed": (TODAY, None, None),
    "its request is older than the last": (TODAY, NOW - DAY, None),
    "its request is newer than the last": (TODAY, NOW - MINUTE, Revocation(at=NOW - MINUTE)),
    "the last has a time to come": (Revocation(at=NOW + DAY), NOW - HOUR, TODAY),
}


@pytest.mark.parametrize(("recorded", "requested", "expected"), STARTS.values(), ids=STARTS)
def test_a_revocation_is_recorded_before_anything_else_changes(
    recorded: Revocation | None, requested: datetime | None, expected: Revocation | None
) -> None:
    given_ = state(SIGNER, recorded=recorded, revoke_requested=requested, everywhere=EMPTY)

    step = next_step(given_)

    assert step.revocation == expected
    assert (step.action is RotationAction.REVOKE) is (expected is not None)


def test_a_leaf_is_signed_before_a_revocation_is_recorded() -> None:
    given_ = state(SIGNER, revoke_requested=NOW, leaf=None)

    assert next_step(given_) == RotationStep(RotationAction.SIGN_LEAF)


ENDS = {
    "the signer has taken over": (revoked(fresh(published=60, promoted=30)), True),
    "the signer was created before the trust in it was complete": (
        revoked(fresh(published=59, promoted=30)),
        False,
    ),
    "it has ended": (revoked(fresh(published=60, promoted=30), ended=True), False),
    "it is for tomorrow": (revoked(fresh(published=60, promoted=30), at=NOW + DAY), False),
    "no revocation": (state(fresh(published=60, promoted=30)), False),
    "a revoked one is left": (
        revoked(authority("left", leaving=True), fresh(published=60, promoted=30)),
        False,
    ),
}


@pytest.mark.parametrize(("given_", "ends"), ENDS.values(), ids=ENDS)
def test_a_revocation_ends_once(given_: RotationState, *, ends: bool) -> None:
    step = next_step(replace(given_, leaf=leaf("fresh")))

    expected = replace(given_.recorded, ended=True) if ends and given_.recorded else None
    assert step.revocation == expected
    assert (step.action is RotationAction.REVOKE) is ends


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


@given(HISTORIES)
def test_no_lagging_client_ever_encounters_an_unknown_issuer(history: History) -> None:
    assert play(history).broken == []


@given(HISTORIES, st.integers(0, 150))
def test_not_even_when_the_secret_is_lost(history: History, moment: int) -> None:
    count, ca, leaf_life, events = history
    cluster = play((count, ca, leaf_life, events[:moment]))

    cluster.lose_secret()
    for number, wait, fate, amount in events[moment:]:
        cluster.wait(wait)
        cluster.happen(number % count, fate, amount)

    assert cluster.broken == []


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
class RevocationHistory:
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
    RevocationHistory,
    skews=st.lists(st.integers(-SKEW, SKEW), min_size=1, max_size=4),
    fates=st.lists(
        st.sampled_from([Fate.ACT, Fate.ACT, Fate.STALL, Fate.CRASH]), min_size=1, max_size=24
    ),
    ca=st.integers(60, 300),
    leaf_life=st.integers(8, 60),
    before=st.integers(0, 200),
    lost=st.booleans(),
)


@given(REVOCATIONS)
def test_a_revoked_authority_leaves_in_time_and_no_client_notices(
    revocation: RevocationHistory,
) -> None:
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
    def breaks(revocation: RevocationHistory) -> bool:
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
