"""
The least skew of a soft constraint that a hard constraint of the same pods allows.

``find_least_skew`` is the entry point. It looks at one hard constraint at a time, with domains that
are nested with those of the soft one, and supposes that every pod may go to every node, whatever
its room. What it finds to be impossible is so in every cluster of these nodes and pods; what it
does not find may be impossible nevertheless.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from webhook.policy.advice.feasibility import FEASIBILITY_REPLICAS, SkewLimit, can_place
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.tallies import PodTally
from webhook.policy.placement.topology import Topology


class LeastSkew(NamedTuple):
    """
    The least skew that a hard constraint allows.

    Attributes:
        skew: More than the maxSkew of the soft constraint, and at most one more than the skew now.
        key: The topology key of the hard constraint.
    """

    skew: int
    key: str


class _Nesting(NamedTuple):
    """
    Domains of the soft constraint within those of the hard one, or the other way round.

    Attributes:
        shapes: Inner domains of an outer one -> how many outer domains have as many.
        outer: The limit of the hard constraint, if the soft domains are within its own.
        inner: Its limit, if its domains are within the soft ones.
    """

    shapes: Mapping[int, int]
    outer: SkewLimit | None
    inner: SkewLimit | None

    def allows(self, pods: int, skew: int) -> bool:
        """Whether pods can be placed with a skew of the soft constraint, at most."""
        soft = SkewLimit(skew)
        return can_place(pods, self.shapes, self.outer or soft, self.inner or soft)


def find_least_skew(
    soft: PodTally, hard: Iterable[PodTally], topology: Topology, demands: Demands
) -> LeastSkew | None:
    """
    Find the least skew of a soft constraint that is possible while the hard ones hold.

    Args:
        soft: Of the domains that the pods can go to; its skew exceeds its maxSkew.
        hard: All hard constraints of the same pods.

    Returns:
        None if a skew of maxSkew is possible, as far as is known.
    """
    constraints = tuple(hard)
    keys = tuple(tally.spread.topology_key for tally in constraints)
    reached = topology.reachable("", keys, demands).values.keys()
    pods = sum(soft.by_node.values())
    is_known = pods <= FEASIBILITY_REPLICAS and reached >= soft.by_node.keys()
    if not is_known or not reached <= soft.domains.values.keys():
        return None
    found = [_find_least(soft, one, reached, pods) for one in constraints if one.matches_pod]
    return max(filter(None, found), default=None)


def _find_least(
    soft: PodTally, hard: PodTally, reached: Iterable[str], pods: int
) -> LeastSkew | None:
    """Find the least skew beside one hard constraint; None if it allows maxSkew, or not known."""
    nesting = _nest(soft, hard, reached) if hard.by_node == soft.by_node else None
    if nesting is None or not nesting.allows(pods, pods):
        return None
    # While the hard constraint does not hold, the skew may be less than it allows.
    skews = range(soft.spread.max_skew, pods)
    least = skews.start + bisect_left(skews, 1, key=lambda skew: nesting.allows(pods, skew))
    return LeastSkew(least, hard.spread.topology_key) if least > skews.start else None


def _nest(soft: PodTally, hard: PodTally, reached: Iterable[str]) -> _Nesting | None:
    """Find how the domains that pods can go to are nested; None if they overlap otherwise."""
    pairs = {(hard.domains.values[name], soft.domains.values[name]) for name in reached}
    outers, inners = (Counter(values) for values in zip(*pairs, strict=True))
    has_enough = len(hard.domains.sizes) >= hard.spread.min_domains
    if len(inners) == len(pairs):
        shapes = Counter(outers[value] for value in hard.domains.sizes)
        return _Nesting(shapes, SkewLimit(hard.spread.max_skew, has_enough), None)
    if len(outers) == len(pairs):
        # A hard domain that no pod can go to stays empty, and with it the minimum at 0.
        is_open = outers.keys() == hard.domains.sizes.keys()
        limit = SkewLimit(hard.spread.max_skew, has_enough and is_open)
        return _Nesting(Counter(inners.values()), None, limit)
    return None
