"""
The order in which the ReplicaSet controller removes pods, as groups within which it has none.

``order_pods`` is the entry point. The controller's comparison is no order of all pods: pods can be
equal, and since times of one order of magnitude are compared by uid, but equal times by what
follows, three pods can each go before the next one. What the controller's sort does with such pods
depends on their order before, which is random. They form a group: a strongly connected component
of the relation *does not go after*. Any sort leaves the groups in their order.

Source: kubernetes pkg/controller/controller_utils.go ``ActivePodsWithRanks``,
pkg/controller/replicaset/replica_set.go ``getPodsRankedByRelatedPodsOnSameNode``.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from math import log2
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from webhook.policy.placement.census import ContainerStatus, ObservedPod
from webhook.policy.scaledown.ranks import DELETION_COST, parse_cost

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}  # ``podPhaseToOrdinal``
_ALWAYS = "Always"  # restartPolicy of a sidecar
_READY = "Ready"
_NO_TIME = -2  # goes before every rank of an age, the least of which is -1


NOTHING_JOINED: Mapping[str, int] = MappingProxyType({})
"""No pods are placed."""


class RemovalGroup(msgspec.Struct, frozen=True):
    """
    Pods among which the order of removal is not determined; usually one.

    Attributes:
        equal: Whether the controller finds no difference between them, rather than a circle.
    """

    pods: tuple[ObservedPod, ...]
    equal: bool = True


class _RankedPod(msgspec.Struct):
    """
    A pod with what is compared last, and its score.

    Attributes:
        score: Twice the number of pods that go before it, and the number of those equal to it.
    """

    pod: ObservedPod
    ready: float | None
    restarts: tuple[int, int]
    created: float | None
    uid: str
    score: int = 0


_Scoring: TypeAlias = Callable[[Sequence[_RankedPod]], None]
"""Adds to the scores of pods that are equal in everything that is compared before."""


def order_pods(
    pods: Iterable[ObservedPod],
    related: Iterable[ObservedPod],
    now: float,
    newest: str = "",
    joined: Mapping[str, int] = NOTHING_JOINED,
) -> list[RemovalGroup]:
    """
    Order pods as the controller removes them, the first ones first; O(n log n).

    Args:
        pods: Active pods, in any order.
        related: Pods of all ReplicaSets with the same controller.
        now: The present time, in seconds since 1970.
        newest: Name of the newest ReplicaSet, whose pods go last; empty if there is only one.
        joined: Node name -> further pods of these ReplicaSets that are placed there.
    """
    ranks = Counter(pod.spec.node_name or "" for pod in related if pod.is_active)
    ranks.update(joined)

    def key(pod: ObservedPod) -> tuple[bool, bool, tuple[int, int, int], int]:
        """Older revision, not assigned, the pod itself, pods on the node."""
        node = pod.spec.node_name or ""
        return not is_older(pod, newest), bool(node), removal_key(pod), -ranks[node]

    runs = groupby(sorted(pods, key=key), key)
    return [group for _, run in runs for group in _split(list(map(_rank, run)), now)]


def removal_key(pod: ObservedPod) -> tuple[int, int, int]:
    """Return what is compared before the pods on a node: phase, readiness, deletion cost."""
    phase = (pod.status.phase if pod.status else None) or ""
    return _PHASES.get(phase, 0), is_ready(pod), deletion_cost(pod)


def is_older(pod: ObservedPod, newest: str) -> bool:
    """Whether the pod belongs to another ReplicaSet than the newest one, which has this name."""
    owner = pod.controller
    return bool(newest) and (owner.name if owner else "") != newest


def _split(pods: Sequence[_RankedPod], now: float) -> Iterator[RemovalGroup]:
    """
    Order pods by their score, and split them where all before go before all after.

    The scores of any k pods add up to at least k (k - 1), for the pairs among them; they add up to
    no more exactly if all of them go before all others.
    """
    _score_times(pods, _read_ready, now, lambda alike: _score_restarts(alike, now))
    # By name, so that a choice that is not determined is the same for any order of the input.
    ordered = sorted(pods, key=lambda ranked: (ranked.score, ranked.pod.metadata.name or ""))
    total = start = 0
    for end, ranked in enumerate(ordered, start=1):
        total += ranked.score
        if total == end * (end - 1):
            yield _as_group(ordered[start:end])
            start = end


def _as_group(ranked: Sequence[_RankedPod]) -> RemovalGroup:
    compared = {(one.ready, one.restarts, one.created) for one in ranked}
    return RemovalGroup(tuple(one.pod for one in ranked), len(compared) == 1)


def _score_times(
    pods: Sequence[_RankedPod],
    read: Callable[[_RankedPod], float | None],
    now: float,
    then: _Scoring,
) -> None:
    """Score pods by the magnitude of their age; if it is the same, unequal times by uid."""
    for similar in _score_groups(pods, lambda ranked: _rank_age(read(ranked), now)):
        _score_uids(similar, 1)
        for alike in _group(similar, read):
            _score_uids(alike, -1)  # equal times are not compared by uid, but by what follows
            then(alike)


def _score_restarts(pods: Sequence[_RankedPod], now: float) -> None:
    for alike in _score_groups(pods, lambda ranked: tuple(-number for number in ranked.restarts)):
        _score_times(alike, _read_created, now, _score_equal)


def _score_equal(pods: Sequence[_RankedPod]) -> None:
    for ranked in pods:
        ranked.score += len(pods) - 1


def _score_uids(pods: Sequence[_RankedPod], sign: int) -> None:
    uids = sorted(ranked.uid for ranked in pods)
    for ranked in pods:
        before, after = bisect_left(uids, ranked.uid), bisect_right(uids, ranked.uid)
        ranked.score += sign * (2 * before + after - before - 1)


def _score_groups(
    pods: Sequence[_RankedPod], key: Callable[[_RankedPod], tuple[int, ...]]
) -> Iterator[list[_RankedPod]]:
    """Score pods by a key, and yield those of each key; the lowest goes first."""
    before = 0
    for _, found in groupby(sorted(pods, key=key), key):
        group = list(found)
        for ranked in group:
            ranked.score += 2 * before
        before += len(group)
        yield group


def _group(
    pods: Iterable[_RankedPod], key: Callable[[_RankedPod], Hashable]
) -> Iterable[list[_RankedPod]]:
    groups: dict[Hashable, list[_RankedPod]] = {}
    for ranked in pods:
        groups.setdefault(key(ranked), []).append(ranked)
    return groups.values()


def _rank(pod: ObservedPod) -> _RankedPod:
    metadata = pod.metadata
    created = _parse_time(metadata.creation_timestamp)
    return _RankedPod(pod, _ready_time(pod), _restarts(pod), created, metadata.uid or "")


def _read_ready(ranked: _RankedPod) -> float | None:
    return ranked.ready


def _read_created(ranked: _RankedPod) -> float | None:
    return ranked.created


def _rank_age(time: float | None, now: float) -> tuple[int, ...]:
    """Source: controller_utils.go ``logarithmicRankDiff``, in nanoseconds; no time goes first."""
    if time is None:
        return (_NO_TIME,)
    age = (now - time) * 1e9
    return (int(log2(age)) if age > 0 else -1,)


def is_ready(pod: ObservedPod) -> bool:
    """Whether the condition Ready of a pod is True; of several, the first one counts."""
    return _ready_condition(pod)[0] == "True"


def find_readiness(pod: ObservedPod) -> bool | None:
    """Return whether a pod is ready; None if it does not say."""
    status = _ready_condition(pod)[0]
    return None if status is None else status == "True"


def _ready_condition(pod: ObservedPod) -> tuple[str | None, str | None]:
    """Source: pkg/api/v1/pod/util.go ``GetPodConditionFromList``."""
    conditions = (pod.status.conditions if pod.status else None) or ()
    found = (item for item in conditions if item.type == _READY)
    return next(((item.status, item.last_transition_time) for item in found), (None, None))


def deletion_cost(pod: ObservedPod) -> int:
    """
    Return the deletion cost of a pod; 0 if it has none, or one that cannot be parsed.

    Source: pkg/apis/core/v1/helper ``GetDeletionCostFromPodAnnotations``.
    """
    return parse_cost((pod.metadata.annotations or {}).get(DELETION_COST, "")) or 0


def _ready_time(pod: ObservedPod) -> float | None:
    """Return since when a pod is ready; 0 for pods that are not, which are not compared."""
    status, since = _ready_condition(pod)
    return _parse_time(since) if status == "True" else 0.0


def _parse_time(written: str | None) -> float | None:
    """Parse a timestamp as seconds since 1970; None if it is missing, invalid or Go's zero."""
    try:
        time = datetime.fromisoformat(written or "")
    except ValueError:
        return None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return None if time == _ZERO else time.timestamp()


_ZERO = datetime(1, 1, 1, tzinfo=UTC)  # time.Time{} of Go


def _restarts(pod: ObservedPod) -> tuple[int, int]:
    """
    Return the most restarts of a container, and those of a sidecar.

    Source: controller_utils.go ``maxContainerRestarts``.
    """
    status = pod.status
    initial = pod.spec.init_containers or ()
    sidecars = {item.name for item in initial if item.restart_policy == _ALWAYS}
    started = (status.init_container_statuses if status else None) or ()
    return (
        _most_restarts((status.container_statuses if status else None) or ()),
        _most_restarts(item for item in started if item.name in sidecars),
    )


def _most_restarts(statuses: Iterable[ContainerStatus]) -> int:
    return max((item.restart_count or 0 for item in statuses), default=0)
