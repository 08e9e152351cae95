"""
The ranks that pods would have if they had got them when they were bound; use ``rank_pods``.

It changes no rank and no other deletion cost that a pod has already.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from webhook.policy.placement.census import ObservedPod
from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    RANK_ANNOTATION,
    annotate_rank,
    read_rank,
)

_Place = tuple[str, str]  # name of the controller, and the domain


class ForecastRank(NamedTuple):
    """A pod, with its rank; the rank is None if it has none and cannot get one."""

    pod: ObservedPod
    rank: int | None


def rank_of(pod: ObservedPod) -> int | None:
    """Return the rank of a pod; None if it has no deletion cost, or one that is no rank."""
    annotations = pod.metadata.annotations or {}
    rank = read_rank(annotations.get(DELETION_COST), annotations.get(RANK_ANNOTATION))
    return rank if rank > 0 else None


def rank_pods(pods: Sequence[ObservedPod], domains: Mapping[str, str]) -> list[ForecastRank]:
    """
    Give ranks to the pods that have a node and no deletion cost, the oldest first; O(n log n).

    Args:
        domains: Name of each node that has a domain -> the domain.

    Returns:
        The pods in the same order, with the deletion costs of their ranks.
    """
    ranks = [rank_of(pod) for pod in pods]
    held: dict[_Place, set[int]] = {}
    for pod, rank in zip(pods, ranks, strict=True):
        if rank is not None:
            held.setdefault(_place_of(pod, domains), set()).add(rank)
    free: dict[_Place, Iterator[int]] = {}
    ranked = list(map(ForecastRank, pods, ranks))
    for index in sorted(range(len(pods)), key=lambda index: _age_of(pods[index])):
        pod = pods[index]
        place = _place_of(pod, domains)
        if place[1] and DELETION_COST not in (pod.metadata.annotations or {}):
            if place not in free:
                free[place] = _list_free(held.get(place, set()))
            rank = next(free[place])
            ranked[index] = ForecastRank(_add_rank(pod, rank), rank)
    return ranked


def _list_free(taken: Collection[int]) -> Iterator[int]:
    return (rank for rank in count(1) if rank not in taken)


def _place_of(pod: ObservedPod, domains: Mapping[str, str]) -> _Place:
    owner = pod.controller
    return owner.name if owner else "", domains.get(pod.spec.node_name or "", "")


def _age_of(pod: ObservedPod) -> tuple[str, str]:
    """Order pods by creation; timestamps of Kubernetes are in UTC and of one length."""
    return pod.metadata.creation_timestamp or "", pod.metadata.name or ""


def _add_rank(pod: ObservedPod, rank: int) -> ObservedPod:
    annotations = (pod.metadata.annotations or {}) | annotate_rank(rank)
    return replace(pod, metadata=replace(pod.metadata, annotations=annotations))
