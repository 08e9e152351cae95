"""
What to do next about our own authority: pure functions of what is trusted, served, and the time.

Theory of operation
-------------------
kube-apiserver trusts what the ``caBundle`` of a webhook configuration holds, and learns of a
change with a delay. Replicas sign their own leaves, so they have to agree on who signs. All that
they agree on stands in one Secret: a list of authorities, oldest first. An authority lives like
this, and each arrow is one write that fails if somebody else wrote first:

    pending -> published -> signing -> retired -> leaving -> (gone)

* *pending*: its certificate and key are in the Secret. Nobody signs with it.
* *published*: every ``caBundle`` was seen to hold it; the Secret says since when.
* *signing*: one overlap later it was promoted; replicas that read this sign with it.
* *retired*: a newer one was promoted. It stays trusted until none of its leaves can be alive: the
  life of a leaf, and one overlap, after that.
* *leaving*: it is taken out of the bundles. It stays in the Secret, so that a crash in between
  is made good, until no bundle holds it.

What a bundle holds beyond the list is left alone: it may be what clients need after the Secret
was lost. A bundle that was emptied or put back makes its authorities unpublished again.

A process keeps nothing that it cannot read back, so it may die between any two steps, and any
number of replicas may take the same step: one of them wins, the others look again.

The bound: nobody meets an unknown issuer who acts on data less than half an overlap old. The other
half is for clocks that differ; a replica whose clock is off by more than a quarter of an overlap
does nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from itertools import pairwise

from certs.state import Authority, Leaf, RotationState, Validity


class RotationAction(Enum):
    """What can be done; ``advance`` says which of them are writes of the Secret alone."""

    WAIT = auto()  # all is well, look again later
    DISTRUST = auto()  # our clock or the API server's is wrong: touch nothing
    ADD_CA = auto()  # make an authority, and put it at the end of the list
    SIGN_LEAF = auto()  # sign with the signer, and serve that
    UNPUBLISH = auto()  # a bundle lost it: it is not known to everybody any more
    INJECT = auto()  # write the bundles
    RECORD = auto()  # every bundle holds it: note since when
    FORGET = auto()  # no bundle holds it: take it off the list
    PROMOTE = auto()  # let it sign
    DROP = auto()  # it is to leave the bundles


@dataclass(frozen=True, slots=True)
class RotationStep:
    """
    What to do next.

    Attributes:
        action: What.
        names: To which authorities; empty where the action says it all.
    """

    action: RotationAction
    names: frozenset[str] = frozenset()


def next_step(state: RotationState) -> RotationStep:
    """Decide; the first rule that has something to say is obeyed."""
    steps = (rule(state) for rule in PLAN_RULES)
    return next((step for step in steps if step is not None), RotationStep(RotationAction.WAIT))


def advance(
    step: RotationStep, authorities: Sequence[Authority], now: datetime
) -> tuple[Authority, ...]:
    """
    Write down what a step does to the list; actions that are no writes of it change nothing.

    Args:
        authorities: The list as it was read; the write must fail if it has changed since.
    """
    change = _CHANGES.get(step.action)
    if step.action is RotationAction.FORGET:
        return tuple(one for one in authorities if one.name not in step.names)
    if change is None:
        return tuple(authorities)
    return tuple(change(one, now) if one.name in step.names else one for one in authorities)


_CHANGES: dict[RotationAction, Callable[[Authority, datetime], Authority]] = {
    RotationAction.UNPUBLISH: lambda one, _: replace(one, published=None),
    RotationAction.RECORD: lambda one, now: replace(one, published=now),
    RotationAction.PROMOTE: lambda one, now: replace(one, promoted=now),
    RotationAction.DROP: lambda one, _: replace(one, leaving=True),
}


def distrust_a_clock(state: RotationState) -> RotationStep | None:
    """Waiting for time to pass means nothing to a clock that jumped."""
    off = abs(state.now - state.server_now)
    return RotationStep(RotationAction.DISTRUST) if off > state.lifetimes.clock_tolerance else None


def begin(state: RotationState) -> RotationStep | None:
    """Without a signer nothing can be served, so nobody has to be waited for."""
    if state.signer is not None:
        return None
    return _step(RotationAction.PROMOTE, state.pending) or RotationStep(RotationAction.ADD_CA)


def sign(state: RotationState) -> RotationStep | None:
    """Renew the leaf in time, and follow the signer."""
    leaf, signer = state.leaf, state.signer
    assert signer is not None  # else begin() has spoken
    if leaf is None or state.now >= leaf.validity.end:
        return RotationStep(RotationAction.SIGN_LEAF)
    wanted = _is_due if leaf.issuer == signer.name else _should_change_issuer
    return RotationStep(RotationAction.SIGN_LEAF) if wanted(state, leaf, signer) else None


def unpublish(state: RotationState) -> RotationStep | None:
    """Count anew for what a bundle lost, and for what a wrong clock has published."""
    latest = state.now + state.lifetimes.overlap
    return _step(
        RotationAction.UNPUBLISH,
        *(
            one
            for one in state.alive
            if one.published and (one.name not in state.everywhere or one.published > latest)
        ),
    )


def inject(state: RotationState) -> RotationStep | None:
    """Make every bundle hold what is trusted, and nothing that is to leave."""
    missing = any(one.name not in state.everywhere for one in state.alive)
    extra = any(one.name in state.anywhere for one in state.authorities if one.leaving)
    return RotationStep(RotationAction.INJECT) if missing or extra else None


def record(state: RotationState) -> RotationStep | None:
    """Begin to count the overlap: ``inject`` had nothing to add."""
    return _step(RotationAction.RECORD, *(one for one in state.alive if one.published is None))


def forget(state: RotationState) -> RotationStep | None:
    """Clear the list: ``inject`` had nothing to take out."""
    return _step(RotationAction.FORGET, *(one for one in state.authorities if one.leaving))


def promote(state: RotationState) -> RotationStep | None:
    """Sign with the next authority once everybody knows it."""
    pending = state.pending
    return _step(RotationAction.PROMOTE, pending) if pending and state.settled(pending) else None


def renew(state: RotationState) -> RotationStep | None:
    """Make the next authority in time, or when asked; one at a time."""
    signer = state.signer
    if signer is None or state.pending is not None:
        return None
    due = state.now >= signer.validity.renew_at
    requested = _asked_since(state.ca_requested, signer.validity, state.now)
    return RotationStep(RotationAction.ADD_CA) if due or requested else None


def drop(state: RotationState) -> RotationStep | None:
    """End the trust in what has expired, and in what nobody can be serving any more."""
    overlap = state.lifetimes.overlap
    patience = state.lifetimes.leaf + overlap
    promoted = [one for one in state.authorities if one.promoted]
    retired = {
        one.name
        for one, successor in pairwise(promoted)
        if successor.promoted and state.now - successor.promoted >= patience
    }
    return _step(
        RotationAction.DROP,
        *(
            one
            for one in state.authorities
            # By another clock, what has expired by ours may be alive.
            if not one.leaving and (one.name in retired or state.now >= one.validity.end + overlap)
        ),
    )


PlanRule = Callable[[RotationState], RotationStep | None]
"""Says what to do, or None: nothing, as far as this rule goes."""

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
"""In the order in which they are asked: to be served comes first, to tidy up last."""


def _step(action: RotationAction, *authorities: Authority | None) -> RotationStep | None:
    names = frozenset(one.name for one in authorities if one is not None)
    return RotationStep(action, names) if names else None


def _is_due(state: RotationState, leaf: Leaf, signer: Authority) -> bool:
    """Tell whether the same signer should sign again."""
    if _asked_since(state.leaf_requested, leaf.validity, state.now):
        return True
    # Shortly before the signer ends, a new leaf would end no later than the old one.
    lives_longer = min(state.now + state.lifetimes.leaf, signer.validity.end)
    return state.now >= leaf.validity.renew_at and lives_longer > leaf.validity.end


def _should_change_issuer(state: RotationState, leaf: Leaf, signer: Authority) -> bool:
    """Tell whether a leaf of another authority should give way to one of the signer."""
    if any(one.name == leaf.issuer and one.promoted for one in state.authorities):
        return True  # the usual change: the signer was promoted after it, when all knew it
    # The Secret was lost or put back. Clients still trust what is served, so there is time;
    # unless they do not, and would trust the signer.
    unknown = leaf.issuer not in state.everywhere and signer.name in state.everywhere
    return unknown or state.settled(signer)


def _asked_since(requested: datetime | None, validity: Validity, now: datetime) -> bool:
    """A wish is fulfilled by what was made after it; one from the future waits for its time."""
    return requested is not None and validity.start < requested <= now
