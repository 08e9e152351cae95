"""The next step of a rotation: a state, the action, and the authorities that it is about."""

from dataclasses import replace
from datetime import timedelta

from certs.plan import MOST_FOREIGN
from certs.state import RotationAction, RotationState
from tests.certs.states import (
    DAY,
    EMPTY,
    FOREIGN,
    HOUR,
    LAST,
    MINUTE,
    NOW,
    OLD,
    PENDING,
    SIGNER,
    YEAR,
    authority,
    leaf,
    state,
)

ROTATIONS: dict[str, tuple[RotationState, RotationAction, set[str]]] = {
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
    "no bundle exists, and so none contains the signer": (
        state(SIGNER, anywhere=EMPTY),
        RotationAction.WAIT,
        set(),
    ),
    "a leaf of an unknown issuer stays while the signer is not in every bundle": (
        state(SIGNER, leaf=leaf("lost"), everywhere=EMPTY, anywhere=EMPTY),
        RotationAction.UNPUBLISH,
        {"signer"},
    ),
    "a request of the second in which the signer was created is fulfilled": (
        state(SIGNER, ca_requested=NOW - DAY),
        RotationAction.WAIT,
        set(),
    ),
}
