"""The next step of a revocation: a state, the action, and the authorities that it is about."""

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

REVOCATIONS: dict[str, tuple[RotationState, RotationAction, set[str]]] = {
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
