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

from certs.situation import Authority, Leaf, Situation, Validity


class Action(Enum):
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
class Step:
    """
    What to do next.

    Attributes:
        action: What.
        names: To which authorities; empty where the action says it all.
    """

    action: Action
    names: frozenset[str] = frozenset()


def next_step(situation: Situation) -> Step:
    """Decide; the first rule that has something to say is obeyed."""
    steps = (rule(situation) for rule in RULES)
    return next((step for step in steps if step is not None), Step(Action.WAIT))


def advance(step: Step, authorities: Sequence[Authority], now: datetime) -> tuple[Authority, ...]:
    """
    Write down what a step does to the list; actions that are no writes of it change nothing.

    Args:
        authorities: The list as it was read; the write must fail if it has changed since.
    """
    change = _CHANGES.get(step.action)
    if step.action is Action.FORGET:
        return tuple(one for one in authorities if one.name not in step.names)
    if change is None:
        return tuple(authorities)
    return tuple(change(one, now) if one.name in step.names else one for one in authorities)


_CHANGES: dict[Action, Callable[[Authority, datetime], Authority]] = {
    Action.UNPUBLISH: lambda one, _: replace(one, published=None),
    Action.RECORD: lambda one, now: replace(one, published=now),
    Action.PROMOTE: lambda one, now: replace(one, promoted=now),
    Action.DROP: lambda one, _: replace(one, leaving=True),
}


def distrust_a_clock(situation: Situation) -> Step | None:
    """Waiting for time to pass means nothing to a clock that jumped."""
    off = abs(situation.now - situation.server_now)
    return Step(Action.DISTRUST) if off > situation.lifetimes.clock_tolerance else None


def begin(situation: Situation) -> Step | None:
    """Without a signer nothing can be served, so nobody has to be waited for."""
    if situation.signer is not None:
        return None
    return _step(Action.PROMOTE, situation.pending) or Step(Action.ADD_CA)


def sign(situation: Situation) -> Step | None:
    """Renew the leaf in time, and follow the signer."""
    leaf, signer = situation.leaf, situation.signer
    assert signer is not None  # else begin() has spoken
    if leaf is None or situation.now >= leaf.validity.end:
        return Step(Action.SIGN_LEAF)
    wanted = _is_due if leaf.issuer == signer.name else _should_change_issuer
    return Step(Action.SIGN_LEAF) if wanted(situation, leaf, signer) else None


def unpublish(situation: Situation) -> Step | None:
    """Count anew for what a bundle lost, and for what a wrong clock has published."""
    latest = situation.now + situation.lifetimes.overlap
    return _step(
        Action.UNPUBLISH,
        *(
            one
            for one in situation.alive
            if one.published and (one.name not in situation.everywhere or one.published > latest)
        ),
    )


def inject(situation: Situation) -> Step | None:
    """Make every bundle hold what is trusted, and nothing that is to leave."""
    missing = any(one.name not in situation.everywhere for one in situation.alive)
    extra = any(one.name in situation.anywhere for one in situation.authorities if one.leaving)
    return Step(Action.INJECT) if missing or extra else None


def record(situation: Situation) -> Step | None:
    """Begin to count the overlap: ``inject`` had nothing to add."""
    return _step(Action.RECORD, *(one for one in situation.alive if one.published is None))


def forget(situation: Situation) -> Step | None:
    """Clear the list: ``inject`` had nothing to take out."""
    return _step(Action.FORGET, *(one for one in situation.authorities if one.leaving))


def promote(situation: Situation) -> Step | None:
    """Sign with the next authority once everybody knows it."""
    pending = situation.pending
    return _step(Action.PROMOTE, pending) if pending and situation.settled(pending) else None


def renew(situation: Situation) -> Step | None:
    """Make the next authority in time, or when asked; one at a time."""
    signer = situation.signer
    if signer is None or situation.pending is not None:
        return None
    due = situation.now >= signer.validity.renew_at
    asked = _asked_since(situation.ca_asked, signer.validity, situation.now)
    return Step(Action.ADD_CA) if due or asked else None


def drop(situation: Situation) -> Step | None:
    """End the trust in what has expired, and in what nobody can be serving any more."""
    overlap = situation.lifetimes.overlap
    patience = situation.lifetimes.leaf + overlap
    promoted = [one for one in situation.authorities if one.promoted]
    retired = {
        one.name
        for one, successor in pairwise(promoted)
        if successor.promoted and situation.now - successor.promoted >= patience
    }
    return _step(
        Action.DROP,
        *(
            one
            for one in situation.authorities
            # By another clock, what has expired by ours may be alive.
            if not one.leaving
            and (one.name in retired or situation.now >= one.validity.end + overlap)
        ),
    )


Rule = Callable[[Situation], Step | None]
"""Says what to do, or None: nothing, as far as this rule goes."""

RULES: tuple[Rule, ...] = (
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


def _step(action: Action, *authorities: Authority | None) -> Step | None:
    names = frozenset(one.name for one in authorities if one is not None)
    return Step(action, names) if names else None


def _is_due(situation: Situation, leaf: Leaf, signer: Authority) -> bool:
    """Tell whether the same signer should sign again."""
    if _asked_since(situation.leaf_asked, leaf.validity, situation.now):
        return True
    # Shortly before the signer ends, a new leaf would end no later than the old one.
    lives_longer = min(situation.now + situation.lifetimes.leaf, signer.validity.end)
    return situation.now >= leaf.validity.renew_at and lives_longer > leaf.validity.end


def _should_change_issuer(situation: Situation, leaf: Leaf, signer: Authority) -> bool:
    """Tell whether a leaf of another authority should give way to one of the signer."""
    if any(one.name == leaf.issuer and one.promoted for one in situation.authorities):
        return True  # the usual change: the signer was promoted after it, when all knew it
    # The Secret was lost or put back. Clients still trust what is served, so there is time;
    # unless they do not, and would trust the signer.
    unknown = leaf.issuer not in situation.everywhere and signer.name in situation.everywhere
    return unknown or situation.settled(signer)


def _asked_since(asked: datetime | None, validity: Validity, now: datetime) -> bool:
    """A wish is fulfilled by what was made after it; one from the future waits for its time."""
    return asked is not None and validity.start < asked <= now
