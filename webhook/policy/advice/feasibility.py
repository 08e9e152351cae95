"""
Whether replicas can satisfy two hard constraints whose domains are nested, as zones and nodes.

``first_unplaceable`` is the entry point. Outer domains (zones) consist of inner domains (nodes).
The outer constraint limits the pods of each zone, the inner one their division over its nodes.
Only inner domains that are open to the pods are described. A closed one that counts stays empty:
it keeps the minimum of the inner constraint at 0, as too few domains for minDomains do.
``can_place`` compares the final counts that both allow and ignores the order of placement, so
"impossible" holds for every order. A number of pods is reached only through all smaller ones: one
of these may be impossible even if the last is not.

Source: kube-scheduler plugins/podtopologyspread/filtering.go ``Filter``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

FEASIBILITY_REPLICAS = 300  # the most to check: two zones of two nodes take 30 ms
SKEW_PAIRS = 32  # product of two maxSkew up to which every number of pods is checked; 50 ms


@dataclass(frozen=True)
class SkewLimit:
    """
    The limit that one constraint sets.

    Attributes:
        max_skew: Number of pods that a domain may have above the global minimum; at least 1.
        has_minimum: Whether the least full of the described domains sets the minimum; otherwise it
            is 0, because there are fewer domains than minDomains, or because another domain stays
            empty.
    """

    max_skew: int
    has_minimum: bool = True


@dataclass(frozen=True)
class _PodRange:
    """Numbers of pods that the inner constraint allows in each outer domain of one shape."""

    least: int
    most: int
    domains: int


def first_unplaceable(
    replicas: int,
    shapes: Mapping[int, int],
    outer: SkewLimit | None,
    inner: SkewLimit | None,
) -> int | None:
    """
    Find the first of the replicas that has no place, in whatever order they are placed.

    Args:
        replicas: At least 1; all count for both constraints, and no other pod does.
        shapes: Open inner domains of an outer domain -> how many outer domains have as many. They
            may be 0, but not in all of them.

    Returns:
        Its number, from 1; None if none is found. If the limits are large, only the last replica is
        checked.
    """
    numbers = list_numbers(replicas, outer, inner)
    return next((number for number in numbers if not can_place(number, shapes, outer, inner)), None)


def list_numbers(replicas: int, *limits: SkewLimit | None) -> range:
    """List the numbers of replicas to check: all of them, or the last if the limits are large."""
    pairs = prod(limit.max_skew for limit in limits if limit)
    return range(1 if pairs <= SKEW_PAIRS else replicas, replicas + 1)


def can_place(
    replicas: int,
    shapes: Mapping[int, int],
    outer: SkewLimit | None,
    inner: SkewLimit | None,
) -> bool:
    """
    Whether all replicas can be placed; O(replicas² / inner domains) for each shape.

    Args:
        replicas: At least 1; all count for both constraints, and no other pod does.
        shapes: Open inner domains of an outer domain -> how many outer domains have as many. They
            may be 0, but not in all of them.
    """
    # Try every pair of final minimums, one over the inner and one over the outer domains. Given
    # both, each outer domain has a range of pods, and the replicas fit if their number lies
    # between the sums of these ranges' ends.
    inner_open = sum(opened * number for opened, number in shapes.items())
    for floor in minimums(replicas, inner_open, inner):
        ranges = [
            _pod_range(opened, number, floor, replicas, inner) for opened, number in shapes.items()
        ]
        for outer_floor in minimums(replicas, sum(shapes.values()), outer, has_closed=0 in shapes):
            if _holds(replicas, ranges, outer_floor, outer):
                return True
    return False


def minimums(
    replicas: int, domains: int, limit: SkewLimit | None, *, has_closed: bool = False
) -> range:
    """
    Return the global minimums that are possible once all replicas are placed.

    Args:
        replicas: At least 1.
        domains: Number of open domains; at least 1.
        limit: That of the constraint; None without one.
        has_closed: Whether one of the domains is closed.
    """
    # A domain that no pod can enter keeps the minimum at 0.
    if limit is None or not limit.has_minimum or has_closed:
        return range(1)
    # The minimum is at most the average. If it were lower than average - maxSkew, the domains
    # could not hold all replicas.
    most = replicas // domains
    return range(max(0, most - limit.max_skew), most + 1)


def _pod_range(
    opened: int, number: int, floor: int, replicas: int, inner: SkewLimit | None
) -> _PodRange:
    if inner is None:
        return _PodRange(0, replicas if opened else 0, number)
    return _PodRange(opened * floor, opened * (floor + inner.max_skew), number)


def _holds(replicas: int, ranges: list[_PodRange], floor: int, outer: SkewLimit | None) -> bool:
    least = most = 0
    for pods in ranges:
        low = max(pods.least, floor)
        high = pods.most if outer is None else min(pods.most, floor + outer.max_skew)
        if low > high:
            return False
        least += low * pods.domains
        most += high * pods.domains
    return least <= replicas <= most
