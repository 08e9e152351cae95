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

A certificate that only a bundle contains is *foreign*: clients may need it after the Secret was
lost. The Secret lists since when; it leaves like a retired authority, for the same time later. A
bundle that was emptied or restored makes its authorities unpublished again.

A requested revocation is recorded in the Secret first, so that it outlasts the request. Every older
authority then counts as *revoked*, whatever its phase, and so does every foreign one until the
revocation has *ended*. A successor is created at once and signs a sixth of
``Lifetimes.revocation`` after every bundle contains it. An authority leaves one
``Lifetimes.revocation`` after that same time, even if its successor is revoked by then. The
revocation ends when no bundle contains a revoked one, however many batches that takes.

A process keeps no state that it cannot read back, so it may stop between any two steps. Several
replicas may attempt the same step: one write succeeds, the others read again.

Guarantee: a client that acts on data younger than half an overlap encounters no unknown issuer;
during a revocation, one that acts on data younger than a sixth of ``Lifetimes.revocation``.
The other half covers clocks that differ; a replica whose clock is off by more than a quarter of an
overlap does nothing. An authority is created, and its phases are timed, by the API server's clock.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from certs.state import Authority, Leaf, Revocation, RotationAction, RotationState, RotationStep

MOST_FOREIGN = 16
"""Foreign certificates that the Secret lists at a time: 20 KB of 1 MiB. Others are listed later."""


def next_step(state: RotationState) -> RotationStep:
    """Choose the next step: that of the first rule that returns one."""
    # The order of PLAN_RULES is the priority: a later rule may rely on what earlier ones exclude.
    steps = (rule(state) for rule in PLAN_RULES)
    return next((step for step in steps if step is not None), RotationStep(RotationAction.WAIT))


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


def start_revocation(state: RotationState) -> RotationStep | None:
    """Record a requested revocation once its time has come, in case the request is removed."""
    at, last = state.revoke_requested, state.revocation
    if at is None or at > state.server_now or (last is not None and last.at >= at):
        return None
    return RotationStep(RotationAction.REVOKE, revocation=Revocation(at=at))


def replace_revoked(state: RotationState) -> RotationStep | None:
    """Create the successor of a revoked signer; one that is pending is revoked with it."""
    # This precedes the writes of bundles, which another client may undo again and again.
    assert state.signer is not None  # begin() returned a step otherwise
    is_needed = state.is_revoked(state.signer) and state.pending is None
    return RotationStep(RotationAction.ADD_CA) if is_needed else None


def list_foreign(state: RotationState) -> RotationStep | None:
    """List since when a bundle contains a certificate that the Secret does not."""
    listed = {ca.name for ca in state.authorities}
    room = MOST_FOREIGN - sum(ca.foreign is not None for ca in state.authorities)
    names = frozenset(sorted(state.anywhere - listed)[:room])
    return RotationStep(RotationAction.ADD_FOREIGN, names) if names else None


def unpublish(state: RotationState) -> RotationStep | None:
    """Restart the overlap for authorities that a bundle lost, or that a wrong clock published."""
    # A time of publication in the future was written by a clock that was fast.
    latest = state.server_now + state.lifetimes.overlap
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
    """Remove leaving authorities from the list, and foreign ones that another client removed."""
    # inject() comes first and found no leaving one in a bundle.
    return _step(
        RotationAction.FORGET,
        *(
            ca
            for ca in state.authorities
            if ca.leaving or (ca.foreign and ca.name not in state.anywhere)
        ),
    )


def promote(state: RotationState) -> RotationStep | None:
    """Promote the next authority once every client has had the time to learn of it."""
    pending, signer = state.pending, state.signer
    assert signer is not None  # begin() returned a step otherwise
    if pending is None or not state.settled(pending, instead_of=signer.name):
        return None
    return _step(RotationAction.PROMOTE, pending)


def renew(state: RotationState) -> RotationStep | None:
    """Create the next authority in time or on request; only one may be pending."""
    signer = state.signer
    assert signer is not None  # begin() returned a step otherwise
    if state.pending is not None:
        return None
    due = state.now >= signer.validity.renew_at
    requested = _is_requested(state.ca_requested, signer.validity.start, state.server_now)
    return RotationStep(RotationAction.ADD_CA) if due or requested else None


def drop(state: RotationState) -> RotationStep | None:
    """Stop trusting authorities that are revoked, have expired, or whose leaves all have."""
    ended = _list_retired(state) | _list_revoked(state)
    overlap = state.lifetimes.overlap
    return _step(
        RotationAction.DROP,
        *(
            ca
            for ca in state.authorities  # none is leaving: forget() comes first
            # A slower clock may still see it as valid: wait for one overlap.
            if ca.name in ended or state.now - overlap >= ca.validity.end
        ),
    )


def end_revocation(state: RotationState) -> RotationStep | None:
    """End a revocation when no revoked authority is left, so that later foreign ones may stay."""
    # list_foreign() comes first and found none that is not listed.
    running = state.revocation
    if running is None or running.ended or any(map(state.is_revoked, state.authorities)):
        return None
    assert state.signer is not None  # begin() returned a step otherwise
    if not state.has_taken_over(state.signer):
        return None
    return RotationStep(RotationAction.REVOKE, revocation=replace(running, ended=True))


PlanRule = Callable[[RotationState], RotationStep | None]
"""Returns a step, or None if the rule does not apply."""

PLAN_RULES: tuple[PlanRule, ...] = (
    distrust_a_clock,
    begin,
    sign,
    start_revocation,
    replace_revoked,
    list_foreign,
    unpublish,
    inject,
    record,
    forget,
    promote,
    renew,
    drop,
    end_revocation,
)
"""Rules by priority: serving comes first, cleaning up last."""


def _list_retired(state: RotationState) -> set[str]:
    """List authorities of which no leaf can be valid."""
    # Replicas may sign with the old signer until they read of its successor, one overlap later at
    # most; that last leaf then lasts for the lifetime of a leaf.
    patience = state.lifetimes.leaf + state.lifetimes.overlap
    promoted = [ca for ca in state.authorities if ca.promoted]
    ends = [(ca.name, successor.promoted) for ca, successor in pairwise(promoted)]
    ends += [(ca.name, ca.foreign) for ca in state.authorities]
    return {name for name, end in ends if end and state.server_now - end >= patience}


def _list_revoked(state: RotationState) -> set[str]:
    """List revoked authorities that no replica needs: a successor has signed, or they never did."""
    successors = [ca for ca in state.authorities if state.has_taken_over(ca)]
    return {
        ca.name
        for ca in state.authorities
        if state.is_revoked(ca)
        and (
            not (ca.promoted or ca.foreign)
            # A foreign one may be listed after the authority that replaces it was created.
            or any(
                successor.validity.start > ca.validity.start or not state.is_revoked(successor)
                for successor in successors
            )
        )
    }


def _step(action: RotationAction, *authorities: Authority | None) -> RotationStep | None:
    names = frozenset(ca.name for ca in authorities if ca is not None)
    return RotationStep(action, names) if names else None


def _is_due(state: RotationState, leaf: Leaf, signer: Authority) -> bool:
    """Whether the same signer should sign again."""
    if _is_requested(state.leaf_requested, leaf.validity.start, state.now):
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
    return unknown or state.settled(signer, instead_of=leaf.issuer)


def _is_requested(requested: datetime | None, created: datetime, now: datetime) -> bool:
    """Whether a request is open: nothing was created after it, and its time has come."""
    return requested is not None and created < requested <= now
