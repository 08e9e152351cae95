"""
Plan the rotation of our own authorities: pure functions of what is trusted, served, and the time.

``next_step`` is the entry point: it maps a ``RotationState`` to the next ``RotationStep``.
``certs.rotate`` carries the step out. This module reads no clock and performs no I/O.

Theory of operation
-------------------
kube-apiserver trusts the certificates in the ``caBundle`` of a webhook configuration, and notices
a change with a delay. Every replica signs its own leaf, so replicas must agree on the signer. They
share one Secret with a list of authorities, oldest first. An authority passes through these phases;
each arrow is one write, which fails if another replica has written since the Secret was read:

    pending -> published -> signing -> retired -> leaving -> (removed)

* *pending*: its certificate and key are in the Secret. No replica signs with it.
* *published*: every ``caBundle`` contains it; the Secret records since when.
* *signing*: promoted one overlap later; every replica that reads the Secret signs with it.
* *retired*: a newer authority was promoted. It stays trusted until none of its leaves can be valid:
  for the lifetime of a leaf and one overlap.
* *leaving*: it is being removed from the bundles. It stays in the Secret until no bundle contains
  it, so that a crash in between is repaired.

Other certificates in a bundle stay: clients may need them after the Secret was lost. A bundle that
was emptied or restored makes its authorities unpublished again.

A process keeps no state that it cannot read back, so it may stop between any two steps. Several
replicas may attempt the same step: one write succeeds, the others read again.

Guarantee: a client that acts on data younger than half an overlap encounters no unknown issuer.
The other half covers clocks that differ; a replica whose clock is off by more than a quarter of an
overlap does nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from itertools import pairwise

from certs.state import Authority, Leaf, RotationState, Validity


class RotationAction(Enum):
    """What a step does; ``advance`` applies the actions that change only the Secret."""

    WAIT = auto()  # nothing to do; read again after the poll interval
    DISTRUST = auto()  # our clock or the API server's is off: change nothing
    ADD_CA = auto()  # create an authority and append it to the list
    SIGN_LEAF = auto()  # sign a leaf with the signer and serve it
    UNPUBLISH = auto()  # a bundle lacks it: not every client knows it
    INJECT = auto()  # write the bundles
    RECORD = auto()  # every bundle contains it: record since when
    FORGET = auto()  # no bundle contains it: remove it from the list
    PROMOTE = auto()  # make it the signer
    DROP = auto()  # remove it from the bundles


@dataclass(frozen=True, slots=True)
class RotationStep:
    """The next step, with the names of the authorities concerned."""

    action: RotationAction
    names: frozenset[str] = frozenset()


def next_step(state: RotationState) -> RotationStep:
    """Choose the next step: that of the first rule that returns one."""
    # The order of PLAN_RULES is the priority: a later rule may rely on what earlier ones exclude.
    steps = (rule(state) for rule in PLAN_RULES)
    return next((step for step in steps if step is not None), RotationStep(RotationAction.WAIT))


def advance(
    step: RotationStep, authorities: Sequence[Authority], now: datetime
) -> tuple[Authority, ...]:
    """Apply a step to the list as read; actions that do not write the list change nothing."""
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


def distrust_a_clock(state: RotationState) -> RotationStep | None:
    """Do nothing while the clocks differ: elapsed time means nothing to a clock that jumped."""
    difference = abs(state.now - state.server_now)
    is_off = difference > state.lifetimes.clock_tolerance
    return RotationStep(RotationAction.DISTRUST) if is_off else None


def begin(state: RotationState) -> RotationStep | None:
    """Get a first signer; without one nothing is served, so no client has to learn of it first."""
    if state.signer is not None:
        return None
    return _step(RotationAction.PROMOTE, state.pending) or RotationStep(RotationAction.ADD_CA)


def sign(state: RotationState) -> RotationStep | None:
    """Renew the leaf in time, and replace it when the signer changes."""
    leaf, signer = state.leaf, state.signer
    assert signer is not None  # begin() returned a step otherwise
    if leaf is None or state.now >= leaf.validity.end:
        return RotationStep(RotationAction.SIGN_LEAF)
    wanted = _is_due if leaf.issuer == signer.name else _should_change_issuer
    return RotationStep(RotationAction.SIGN_LEAF) if wanted(state, leaf, signer) else None


def unpublish(state: RotationState) -> RotationStep | None:
    """Restart the overlap for authorities that a bundle lost, or that a wrong clock published."""
    # A time of publication in the future was written by a clock that was fast.
    latest = state.now + state.lifetimes.overlap
    return _step(
        RotationAction.UNPUBLISH,
        *(
            ca
            for ca in state.alive
            if ca.published and (ca.name not in state.everywhere or ca.published > latest)
        ),
    )


def inject(state: RotationState) -> RotationStep | None:
    """Write the bundles if one lacks a trusted authority or contains a leaving one."""
    missing = any(ca.name not in state.everywhere for ca in state.alive)
    extra = any(ca.name in state.anywhere for ca in state.authorities if ca.leaving)
    return RotationStep(RotationAction.INJECT) if missing or extra else None


def record(state: RotationState) -> RotationStep | None:
    """Start the overlap of new authorities."""
    # inject() comes first and found nothing missing, so every bundle contains them.
    return _step(RotationAction.RECORD, *(ca for ca in state.alive if ca.published is None))


def forget(state: RotationState) -> RotationStep | None:
    """Remove leaving authorities from the list."""
    # inject() comes first and found none of them in a bundle.
    return _step(RotationAction.FORGET, *(ca for ca in state.authorities if ca.leaving))


def promote(state: RotationState) -> RotationStep | None:
    """Promote the next authority once every client has had one overlap to learn of it."""
    pending = state.pending
    return _step(RotationAction.PROMOTE, pending) if pending and state.settled(pending) else None


def renew(state: RotationState) -> RotationStep | None:
    """Create the next authority in time or on request; only one may be pending."""
    signer = state.signer
    if signer is None or state.pending is not None:
        return None
    due = state.now >= signer.validity.renew_at
    requested = _is_requested(state.ca_requested, signer.validity, state.now)
    return RotationStep(RotationAction.ADD_CA) if due or requested else None


def drop(state: RotationState) -> RotationStep | None:
    """Stop trusting authorities that have expired, or whose leaves have all expired."""
    # Replicas may sign with the old signer until they read of its successor, one overlap later at
    # most; that last leaf then lasts for the lifetime of a leaf.
    overlap = state.lifetimes.overlap
    patience = state.lifetimes.leaf + overlap
    promoted = [ca for ca in state.authorities if ca.promoted]
    retired = {
        ca.name
        for ca, successor in pairwise(promoted)
        if successor.promoted and state.now - successor.promoted >= patience
    }
    return _step(
        RotationAction.DROP,
        *(
            ca
            for ca in state.authorities
            # A slower clock may still see it as valid: wait for one overlap.
            if not ca.leaving and (ca.name in retired or state.now - overlap >= ca.validity.end)
        ),
    )


PlanRule = Callable[[RotationState], RotationStep | None]
"""Returns a step, or None if the rule does not apply."""

PLAN_RULES: tuple[PlanRule, ...] = (
    distrust_a_clock,
    begin,
    sign,
    unpublish,
    inject,
    record,
    forget,
    promote,
    renew,
    drop,
)
"""Rules by priority: serving comes first, cleaning up last."""


def _step(action: RotationAction, *authorities: Authority | None) -> RotationStep | None:
    names = frozenset(ca.name for ca in authorities if ca is not None)
    return RotationStep(action, names) if names else None


def _is_due(state: RotationState, leaf: Leaf, signer: Authority) -> bool:
    """Whether the same signer should sign again."""
    if _is_requested(state.leaf_requested, leaf.validity, state.now):
        return True
    # Shortly before the signer expires, a new leaf would expire no later than the old one.
    next_end = min(state.now + state.lifetimes.leaf, signer.validity.end)
    return state.now >= leaf.validity.renew_at and next_end > leaf.validity.end


def _should_change_issuer(state: RotationState, leaf: Leaf, signer: Authority) -> bool:
    """Whether a leaf of the signer should replace one of another authority."""
    if any(ca.name == leaf.issuer and ca.promoted for ca in state.authorities):
        return True  # the usual rotation: the signer was promoted once all clients knew it
    # The Secret was lost or restored. Clients still trust the served leaf, so wait until the signer
    # is settled; unless they trust only the signer: then change at once.
    unknown = leaf.issuer not in state.everywhere and signer.name in state.everywhere
    return unknown or state.settled(signer)


def _is_requested(requested: datetime | None, validity: Validity, now: datetime) -> bool:
    """Whether a request is open: nothing was created after it, and its time has come."""
    return requested is not None and validity.start < requested <= now
