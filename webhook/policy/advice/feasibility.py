"""
Whether a number of replicas can meet two hard constraints at once, one of them within the other.

The zones of a cluster hold its nodes: a constraint on the outer domains decides how many pods each
holds, one on the inner domains how they are divided there. This is arithmetic on the counts that
the two allow in the end; which pod goes where first is not asked, so what is said to be impossible
is so in every order.

Source: kube-scheduler plugins/podtopologyspread/filtering.go ``Filter``.
"""

from collections.abc import Mapping
from typing import NamedTuple

FEASIBILITY_REPLICAS = (
    300  # that are looked at: two nodes of two zones take 22 500 steps, some 30 ms
)


class SkewLimit(NamedTuple):
    """
    What one constraint allows.

    Attributes:
        max_skew: Most pods that a domain may hold above the global minimum; at least 1.
        has_minimum: Whether that is the least full domain's; else it is 0, for want of domains.
    """

    max_skew: int
    has_minimum: bool = True


class OuterDomain(NamedTuple):
    """
    What an outer domain is made of.

    Attributes:
        open: Inner domains that the pods may go to.
        shut: Inner domains that count, and that the pods may not go to.
    """

    open: int
    shut: int


class _Room(NamedTuple):
    """How many pods each of some outer domains may hold, by the inner constraint."""

    least: int
    most: int
    domains: int


def can_place(
    replicas: int,
    shapes: Mapping[OuterDomain, int],
    outer: SkewLimit | None,
    inner: SkewLimit | None,
) -> bool:
    """
    Whether there is a way to place the replicas.

    Takes O(replicas² / inner domains) for each shape.

    Args:
        replicas: At least 1; all count for both constraints, and no other pod does.
        shapes: Of the outer domains -> how many there are of each; at least one, and one of them
            has an open inner domain.
        outer: None if there is no such constraint.
        inner: None if there is no such constraint.
    """
    inner_open = sum(shape.open * number for shape, number in shapes.items())
    has_shut = any(shape.shut for shape in shapes)
    emptied = not all(shape.open for shape in shapes)
    for floor in _floors(replicas, inner_open, inner, has_shut=has_shut):
        rooms = [_room(shape, number, floor, replicas, inner) for shape, number in shapes.items()]
        for outer_floor in _floors(replicas, sum(shapes.values()), outer, has_shut=emptied):
            if _hold(replicas, rooms, outer_floor, outer):
                return True
    return False


def _floors(replicas: int, domains: int, limit: SkewLimit | None, *, has_shut: bool) -> range:
    """The global minimums that are possible when all replicas are placed."""
    if limit is None or not limit.has_minimum or has_shut:
        return range(1)
    most = replicas // domains
    return range(max(0, most - limit.max_skew), most + 1)


def _room(
    shape: OuterDomain, number: int, floor: int, replicas: int, inner: SkewLimit | None
) -> _Room:
    if inner is None:
        return _Room(0, replicas if shape.open else 0, number)
    return _Room(shape.open * floor, shape.open * (floor + inner.max_skew), number)


def _hold(replicas: int, rooms: list[_Room], floor: int, outer: SkewLimit | None) -> bool:
    """Whether domains hold exactly the replicas, each no less and no more than it may."""
    least = most = 0
    for room in rooms:
        low = max(room.least, floor)
        high = room.most if outer is None else min(room.most, floor + outer.max_skew)
        if low > high:
            return False
        least += low * room.domains
        most += high * room.domains
    return least <= replicas <= most
