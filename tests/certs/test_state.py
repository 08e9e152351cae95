from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from certs.state import (
    Authority,
    Lifetimes,
    Revocation,
    RotationAction,
    RotationState,
    RotationStep,
    Validity,
    advance,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)

A = Authority(
    name="a", validity=Validity(start=NOW - DAY, end=NOW + DAY), published=NOW, promoted=NOW
)
B, C = replace(A, name="b"), replace(A, name="c", promoted=None)
EXPIRED = Validity(start=NOW - DAY, end=NOW)


def state(*authorities: Authority, everywhere: str = "abc") -> RotationState:
    return RotationState(
        authorities=authorities,
        everywhere=frozenset(everywhere),
        anywhere=frozenset("abc"),
        leaf=None,
        now=NOW,
        server_now=NOW,
    )


def test_renewal_is_due_at_two_thirds_of_a_lifetime() -> None:
    assert Validity(start=NOW, end=NOW + 9 * DAY).renew_at == NOW + 6 * DAY


def test_certificates_last_as_documented() -> None:
    assert Lifetimes() == Lifetimes(ca=365 * DAY, leaf=7 * DAY, overlap=10 * MINUTE)


LIFETIMES = {
    "as shipped": (Lifetimes(), timedelta(seconds=3), timedelta(seconds=150)),
    "the shortest that is not for tests": (
        Lifetimes(overlap=MINUTE),
        timedelta(seconds=3),
        timedelta(seconds=15),
    ),
    "for tests": (
        Lifetimes(overlap=timedelta(seconds=5)),
        timedelta(seconds=0.5),
        timedelta(seconds=1.25),
    ),
}


@pytest.mark.parametrize(("lifetimes", "poll", "tolerance"), LIFETIMES.values(), ids=LIFETIMES)
def test_poll_and_clock_tolerance_derive_from_the_overlap(
    lifetimes: Lifetimes, poll: timedelta, tolerance: timedelta
) -> None:
    assert (lifetimes.poll, lifetimes.clock_tolerance) == (poll, tolerance)


PROBLEMS = {
    "as shipped": (Lifetimes(), ""),
    "leaves of ten seconds": (Lifetimes(leaf=10 * SECOND, overlap=5 * SECOND), ""),
    "leaves as short as may be": (Lifetimes(leaf=5 * SECOND, overlap=5 * SECOND), ""),
    "leaves that end between two looks": (
        Lifetimes(leaf=4 * SECOND, overlap=5 * SECOND),
        "leaves would end before replicas poll again: choose 5s or more",
    ),
    "leaves that end between two looks, which are never rarer than that": (
        Lifetimes(leaf=29 * SECOND),
        "leaves would end before replicas poll again: choose 30s or more",
    ),
    "an authority whose last third holds no overlap": (
        Lifetimes(ca=3 * MINUTE, overlap=MINUTE),
        "a CA would end before its successor signs: choose more than 180s",
    ),
}


@pytest.mark.parametrize(("lifetimes", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_contradicting_lifetimes_are_explained(lifetimes: Lifetimes, problem: str) -> None:
    assert lifetimes.problem == problem


ROLES: dict[str, tuple[tuple[Authority, ...], list[str], str | None, str | None]] = {
    "no authority": ((), [], None, None),
    "one signs": ((A,), ["a"], "a", None),
    "the newest that was promoted signs": ((A, B, C), ["a", "b", "c"], "b", "c"),
    "who leaves is not alive": ((replace(A, leaving=True), B), ["b"], "b", None),
    "who has expired is not alive": ((replace(A, validity=EXPIRED), B), ["b"], "b", None),
    "an older one does not sign again": ((A, replace(B, validity=EXPIRED)), ["a"], None, None),
    "what is pending and expired is not next": (
        (A, replace(C, validity=EXPIRED), replace(C, name="d")),
        ["a", "d"],
        "a",
        "d",
    ),
}


@pytest.mark.parametrize(("authorities", "alive", "signer", "pending"), ROLES.values(), ids=ROLES)
def test_everybody_has_a_role(
    authorities: tuple[Authority, ...],
    alive: list[str],
    signer: str | None,
    pending: str | None,
) -> None:
    found = state(*authorities)

    assert [one.name for one in found.alive] == alive
    assert (found.signer.name if found.signer else None) == signer
    assert (found.pending.name if found.pending else None) == pending


SETTLED = {
    "one overlap ago": (10 * MINUTE, "a", True),
    "not quite": (9 * MINUTE, "a", False),
    "not in every bundle": (10 * MINUTE, "b", False),
}


@pytest.mark.parametrize(("ago", "everywhere", "settled"), SETTLED.values(), ids=SETTLED)
def test_an_authority_is_settled_after_one_overlap_in_every_bundle(
    ago: timedelta, everywhere: str, *, settled: bool
) -> None:
    authority = replace(A, published=NOW - ago)

    assert state(authority, everywhere=everywhere).settled(authority, instead_of="other") is settled


RECORDED = Revocation(at=NOW - MINUTE)


def test_the_successor_of_a_revoked_authority_is_settled_after_ten_seconds() -> None:
    successor = replace(A, published=NOW - 10 * SECOND)
    given = replace(state(successor, B), recorded=RECORDED)

    assert given.settled(successor, instead_of="b")
    assert not given.settled(successor, instead_of="c")


def test_the_successor_of_an_authority_that_is_not_revoked_settles_as_ever() -> None:
    successor = replace(A, published=NOW - 10 * SECOND)
    young = replace(B, validity=Validity(start=NOW, end=NOW + DAY))
    given = replace(state(successor, young), recorded=RECORDED)

    assert not given.settled(successor, instead_of="b")


def test_the_successor_of_a_revoked_authority_is_not_settled_earlier() -> None:
    successor = replace(A, published=NOW - 9.9 * SECOND)
    given = replace(state(successor, B), recorded=RECORDED)

    assert not given.settled(successor, instead_of="b")


@pytest.mark.parametrize(("overlap", "seconds"), [(10 * MINUTE, 60), (MINUTE, 60), (8 * SECOND, 8)])
def test_a_revocation_takes_a_minute_or_an_overlap_of_a_test(
    overlap: timedelta, seconds: int
) -> None:
    assert Lifetimes(overlap=overlap).revocation == seconds * SECOND


@pytest.mark.parametrize(("ago", "revoked"), [(DAY, False), (DAY - SECOND, True), (-SECOND, False)])
def test_a_revocation_in_force_is_of_older_authorities(ago: timedelta, *, revoked: bool) -> None:
    given = replace(state(A), recorded=Revocation(at=NOW - ago))

    assert given.is_revoked(A) is revoked


@pytest.mark.parametrize(
    ("foreign", "ended", "revoked"),
    [(NOW, False, True), (NOW, True, False), (None, False, False)],
    ids=["it runs", "it has ended", "not foreign"],
)
def test_a_revocation_that_runs_is_of_all_foreign_authorities(
    foreign: datetime | None, *, ended: bool, revoked: bool
) -> None:
    recorded = Revocation(at=NOW - DAY, ended=ended)
    given = replace(A, foreign=foreign)

    assert replace(state(given), recorded=recorded).is_revoked(given) is revoked


def test_a_revocation_that_begins_has_not_ended() -> None:
    assert not RECORDED.ended


TAKEN_OVER = {
    "a minute in every bundle, half of it as the signer": (MINUTE, 30 * SECOND, True),
    "less than a minute in every bundle": (59 * SECOND, 59 * SECOND, False),
    "less than half a minute as the signer": (DAY, 29 * SECOND, False),
    "never the signer": (DAY, None, False),
}


@pytest.mark.parametrize(
    ("published", "promoted", "has_taken_over"), TAKEN_OVER.values(), ids=TAKEN_OVER
)
def test_an_authority_takes_over_from_a_revoked_one(
    published: timedelta, promoted: timedelta | None, *, has_taken_over: bool
) -> None:
    since = None if promoted is None else NOW - promoted
    given = replace(A, published=NOW - published, promoted=since)

    assert state(given).has_taken_over(given) is has_taken_over
    assert not state(given, everywhere="").has_taken_over(given)


def test_a_revoked_authority_will_not_sign() -> None:
    assert replace(state(C), recorded=Revocation(at=NOW)).pending is None


def test_a_foreign_authority_is_not_alive() -> None:
    foreign = replace(C, foreign=NOW)

    assert (state(foreign).alive, state(foreign).pending) == ([], None)


def test_an_unpublished_authority_is_not_settled() -> None:
    authority = replace(A, published=None)

    assert state(authority).settled(authority, instead_of="other") is False


VALIDITY = Validity(start=NOW, end=NOW + timedelta(days=365))

OLD, SIGNER = (Authority(name=name, validity=VALIDITY, promoted=NOW) for name in ("old", "signer"))
PENDING = Authority(name="pending", validity=VALIDITY, published=NOW - timedelta(hours=1))

CHANGES = {
    "unpublish": (RotationAction.UNPUBLISH, replace(PENDING, published=None)),
    "record": (RotationAction.RECORD, replace(PENDING, published=NOW)),
    "promote": (RotationAction.PROMOTE, replace(PENDING, promoted=NOW)),
    "drop": (RotationAction.DROP, replace(PENDING, leaving=True)),
}


@pytest.mark.parametrize(("action", "changed"), CHANGES.values(), ids=CHANGES)
def test_a_step_changes_only_the_authorities_it_names(
    action: RotationAction, changed: Authority
) -> None:
    step = RotationStep(action, frozenset({"pending"}))

    assert advance(step, (SIGNER, PENDING), NOW) == (SIGNER, changed)


def test_a_forgotten_authority_is_removed_from_the_list() -> None:
    step = RotationStep(RotationAction.FORGET, frozenset({"old"}))

    assert advance(step, (OLD, SIGNER), NOW) == (SIGNER,)


NOT_WRITES = (
    RotationAction.WAIT,
    RotationAction.DISTRUST,
    RotationAction.SIGN_LEAF,
    RotationAction.INJECT,
    RotationAction.ADD_CA,
    RotationAction.ADD_FOREIGN,
)


@pytest.mark.parametrize("action", NOT_WRITES)
def test_other_steps_leave_the_list_alone(action: RotationAction) -> None:
    assert advance(RotationStep(action), (OLD, SIGNER), NOW) == (OLD, SIGNER)
