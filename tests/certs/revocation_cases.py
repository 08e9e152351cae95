"""The next step of a revocation: a state, the action, and the authorities that it is about."""

from dataclasses import replace
from datetime import timedelta

from certs.state import RotationAction, RotationState
from tests.certs.states import (
    DAY,
    EMPTY,
    FOREIGN,
    HOUR,
    MINUTE,
    NOW,
    OLD,
    PENDING,
    SIGNER,
    authority,
    fresh,
    leaf,
    revoked,
)

LISTED = frozenset({"fresh", *(f"foreign{number:02}" for number in range(16))})

REVOCATIONS: dict[str, tuple[RotationState, RotationAction, set[str]]] = {
    "the signer is revoked": (
        revoked(SIGNER),
        RotationAction.ADD_CA,
        set(),
    ),
    "a revocation is for tomorrow": (
        revoked(SIGNER, at=NOW + DAY),
        RotationAction.WAIT,
        set(),
    ),
    "the signer was created since the revocation": (
        revoked(SIGNER, at=NOW - DAY, ended=True),
        RotationAction.WAIT,
        set(),
    ),
    "our clock is behind that of a revocation": (
        revoked(SIGNER, at=NOW + MINUTE, server_now=NOW + MINUTE),
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
            fresh(published=3600, promoted=3600),
            FOREIGN,
            leaf=leaf("fresh"),
            at=NOW - HOUR,
            ended=True,
        ),
        RotationAction.DROP,
        {"foreign"},
    ),
    "a foreign one that came after the revocation stays": (
        revoked(
            fresh(published=3600, promoted=3600),
            authority("foreign", age=MINUTE, foreign=MINUTE, promoted=None, published=None),
            leaf=leaf("fresh"),
            at=NOW - HOUR,
            ended=True,
        ),
        RotationAction.WAIT,
        set(),
    ),
    "a leaf of a lost authority that is revoked is replaced early": (
        revoked(fresh(published=10, promoted=10), FOREIGN, leaf=leaf("foreign")),
        RotationAction.SIGN_LEAF,
        set(),
    ),
    "a revoked one leaves by its own successor, though that is revoked, too": (
        revoked(
            OLD,
            authority("second", age=2 * MINUTE, published=MINUTE, promoted=MINUTE / 2),
            authority("third", age=MINUTE, published=timedelta(seconds=9), promoted=None),
            at=NOW - MINUTE,
            leaf=leaf("second"),
        ),
        RotationAction.DROP,
        {"old"},
    ),
    "a foreign one of the time of a revocation leaves by the successor of that": (
        revoked(
            fresh(published=60, promoted=45),
            replace(FOREIGN, validity=fresh(published=60).validity, foreign=NOW - MINUTE),
            leaf=leaf("fresh"),
        ),
        RotationAction.DROP,
        {"foreign"},
    ),
    "a foreign one that came while a revocation runs leaves": (
        revoked(
            fresh(published=60, promoted=45),
            authority("foreign", age=MINUTE, foreign=MINUTE, promoted=None, published=None),
            leaf=leaf("fresh"),
        ),
        RotationAction.DROP,
        {"foreign"},
    ),
    "a foreign one that came while a revocation runs waits like the others": (
        revoked(
            fresh(published=59, promoted=45),
            authority("foreign", age=MINUTE, foreign=MINUTE, promoted=None, published=None),
            leaf=leaf("fresh"),
        ),
        RotationAction.WAIT,
        set(),
    ),
    "the second batch of foreign ones is listed while the revocation runs": (
        revoked(
            fresh(published=60, promoted=45),
            leaf=leaf("fresh"),
            anywhere=LISTED | {"foreign99"},
        ),
        RotationAction.ADD_FOREIGN,
        set(LISTED - {"fresh"}),
    ),
}
