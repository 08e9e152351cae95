"""
The worst order in which replicas can be placed under two hard constraints with nested domains.

``find_first_pending`` is the entry point; ``feasibility`` is about the best order, and describes
the two constraints. kube-scheduler places one pod after another and moves none, so that pods can be
placed where the next one has no place, although other places would have left it one.

Such a dead end is known by its numbers of pods alone. Let m be the pods of the least full outer
domain, and f those of the least full inner one. No outer domain has more than m + maxSkew pods, no
inner one more than f + maxSkew: when its last pod was placed, the minimum was m or f at most. In a
dead end, an outer domain is closed by the outer constraint, and then has exactly m + maxSkew pods,
or all of its inner domains are closed, with exactly f + maxSkew pods each. One with m pods is of
the second kind, and one that contains an inner domain with f pods is of the first. The fewest pods
of a dead end are the sum of the fewest of each outer domain. A test compares the result with all
orders, in which every dead end can be reached.

Source: kube-scheduler plugins/podtopologyspread/filtering.go ``Filter``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.policy.advice.feasibility import SkewLimit


def find_first_pending(
    replicas: int, shapes: Mapping[int, int], outer: SkewLimit, inner: SkewLimit
) -> int | None:
    """
    Find the first of the replicas that has no place in some order; O(replicas x shapes²).

    Args:
        replicas: At least 1; all count for both constraints, and no other pod does.
        shapes: Open inner domains of an outer domain -> how many outer domains have as many. They
            may be 0, but not in all of them.

    Returns:
        Its number, from 1; None if all replicas have a place in every order.
    """
    ends = (end.count_pods() for end in _dead_ends(replicas, shapes, outer, inner))
    fewest = min((pods for pods in ends if pods is not None), default=replicas)
    return fewest + 1 if fewest < replicas else None


@dataclass(frozen=True)
class _DeadEnd:
    """
    Numbers of pods with which no pod may have a place.

    Attributes:
        opened: Open inner domains of an outer domain, at least 1 -> outer domains that have them.
        floor: Pods of the least full inner domain.
        full: Pods of an inner domain that is closed.
        base: Pods of the least full outer domain.
        top: Pods of an outer domain that is closed.
        needs_floor: Whether an open inner domain must have ``floor`` pods.
    """

    opened: Mapping[int, int]
    floor: int
    full: int
    base: int
    top: int
    needs_floor: bool

    def count_pods(self) -> int | None:
        """Count the fewest pods of this dead end; None if there is no such dead end."""
        total, has_floor = 0, not self.needs_floor
        for size, domains in self.opened.items():
            filled = size * self.full
            if self.base <= filled <= self.top:  # all its inner domains are closed
                total += domains * filled
            elif size * self.floor <= self.top < filled:  # the outer constraint closes it
                total += domains * self.top
                has_floor = has_floor or self.top <= filled - (self.full - self.floor)
            else:
                return None
        return total if has_floor else None


def _dead_ends(
    replicas: int, shapes: Mapping[int, int], outer: SkewLimit, inner: SkewLimit
) -> Iterator[_DeadEnd]:
    """Yield every combination of minimums with which fewer than all replicas may be placed."""
    opened = {size: domains for size, domains in shapes.items() if size}
    inner_open = sum(size * domains for size, domains in opened.items())
    for floor in range((replicas - 1) // inner_open + 1 if inner.has_minimum else 1):
        full = floor + inner.max_skew
        # A closed outer domain keeps the minimum at 0.
        is_pinned = not outer.has_minimum or 0 in shapes
        for base in [0] if is_pinned else [size * full for size in opened]:
            yield _DeadEnd(opened, floor, full, base, base + outer.max_skew, inner.has_minimum)
