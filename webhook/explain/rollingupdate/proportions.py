"""
The sizes of the ReplicaSets of a paused Deployment when it is scaled: ``scale_sets``.

The Deployment controller shares replicas among all ReplicaSets that have some, so that scaling does
not advance the rollout.

Source: kubernetes pkg/controller/deployment/sync.go ``scale``, util/deployment_util.go
``GetReplicaSetProportion``.
"""

from collections.abc import Sequence
from math import floor
from typing import NamedTuple


class ActiveSet(NamedTuple):
    """
    A ReplicaSet that has replicas.

    Attributes:
        size: Number of its replicas, at least 1.
        most: Most pods of the Deployment when it was scaled last; 0 if that is not known.
    """

    size: int
    most: int = 0


def scale_sets(sets: Sequence[ActiveSet], replicas: int, surge: int) -> tuple[int, ...]:
    """
    Compute the sizes of ReplicaSets, in their order.

    Args:
        sets: At least one, the first created first.
        replicas: Of the Deployment.
        surge: Number of pods beyond the replicas.
    """
    allowed = replicas + surge if replicas else 0
    left = allowed - sum(one.size for one in sets)
    if not left:
        return tuple(one.size for one in sets)
    sizes = [one.size for one in sets]
    # of equal ones, the newest grows first, and the oldest shrinks first
    by_age = range(len(sets))[:: -1 if left > 0 else 1]
    order = sorted(by_age, key=lambda index: -sets[index].size)
    for index in order:
        share = _find_share(sets[index], allowed)
        share = min(share, left) if left > 0 else max(share, left) if left else 0
        sizes[index] += share
        left -= share
    sizes[order[0]] = max(0, sizes[order[0]] + left)
    return tuple(sizes)


def _find_share(one: ActiveSet, allowed: int) -> int:
    """
    Find how many replicas a ReplicaSet gets, or loses, in proportion to its size.

    Source: ``getReplicaSetFraction``.
    """
    if not allowed:
        return -one.size
    if not one.most:
        return 0
    return floor(one.size * allowed / one.most + 0.5) - one.size
