"""
Steps of a rotation: what one does, and how it changes the list of authorities in the Secret.

``certs.plan`` chooses a ``RotationStep``; ``advance`` applies it to the list. No I/O, no clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto

from certs.state import Authority


class RotationAction(Enum):
    """What a step does; ``advance`` applies the actions that change only the Secret."""

    WAIT = auto()  # nothing to do; read again after the poll interval
    DISTRUST = auto()  # our clock or the API server's is off: change nothing
    ADD_CA = auto()  # create an authority and append it to the list
    ADD_FOREIGN = auto()  # append a certificate that only a bundle contains
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


def advance(
    step: RotationStep, authorities: Sequence[Authority], now: datetime
) -> tuple[Authority, ...]:
    """
    Apply a step to the list as read; actions that do not write the list change nothing.

    Args:
        now: The API server's clock, which all replicas share.
    """
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
