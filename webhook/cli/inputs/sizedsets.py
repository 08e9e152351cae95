"""
ReplicaSets of a workload whose rollout waits: a paused Deployment, or a canary of Argo Rollouts.

Entry point: ``read_sized_sets``. The pods of both revisions stay, and each ReplicaSet replaces its
own. A Deployment that is not paused and a canary at 100 % go on to the new revision, which so has
the next pod.

Source: kubernetes pkg/controller/deployment/sync.go ``scale``; argo-rollouts
utils/replicaset/canary.go ``GetCurrentSetWeight``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.manifestcluster import Json
from webhook.cli.inputs.revisions import (
    NextRevision,
    created_at,
    find_revision,
    find_stable,
    find_stored,
    is_paused,
    list_active,
)
from webhook.explain.rollingupdate.canary import ALL, approximate
from webhook.explain.rollingupdate.proportions import ActiveSet, scale_sets
from webhook.policy.kinds import REPLICA_SET, ROLLOUT
from webhook.policy.paths import find_value, is_array, is_object
from webhook.policy.rolloutlimits import read_limits

_MOST = "deployment.kubernetes.io/max-replicas"
"""Source: pkg/controller/deployment/util ``MaxReplicasAnnotation``."""


class SizedSet(msgspec.Struct, frozen=True):
    """
    A ReplicaSet of a workload.

    Attributes:
        revision: That of its pods.
        size: Desired number of its pods.
    """

    revision: NextRevision
    size: int

    @property
    def name(self) -> str:
        """Its name."""
        return self.revision.subject.name


class _WaitingRollout(NamedTuple):
    """
    The ReplicaSets that have pods while a rollout waits.

    Attributes:
        resize: Returns their sizes for a number of replicas of the workload.
    """

    sets: Sequence[tuple[Json, int]]
    resize: Callable[[int], Sequence[int]]


def read_sized_sets(
    subject: subjects.ExplainSubject, cluster: ClusterReader, replicas: int
) -> tuple[SizedSet, ...]:
    """
    Read the ReplicaSets of a workload whose rollout waits, with their sizes for its replicas.

    Returns:
        The one that grows first, and the others. Empty if all new pods have one revision, or if
        the ReplicaSets are not known.
    """
    if not (is_paused(subject) or subject.kind == ROLLOUT):
        return ()
    stored = find_stored(subject, cluster)
    owned = subjects.list_controlled(REPLICA_SET, subject, cluster)
    found = (
        _read_paused(subject, stored, owned)
        if is_paused(subject)
        else _read_canary(find_revision(subject, cluster), stored, owned)
    )
    if found is None:
        return ()
    sizes = [size for _, size in found.sets]
    scaled, larger = found.resize(replicas), found.resize(replicas + 1)
    if find_value(stored, ("spec", "replicas"), 1) != replicas or sum(sizes) < replicas:
        sizes = list(scaled)
    growth = (less - more for less, more in zip(scaled, larger, strict=True))
    sized = (
        SizedSet(NextRevision(replace(subject, kind=REPLICA_SET, value=one), is_owned=True), size)
        for (one, _), size in zip(found.sets, sizes, strict=True)
    )
    return tuple(one for _, one in sorted(zip(growth, sized, strict=True), key=lambda it: it[0]))


def choose_revision(sets: Sequence[SizedSet], running: Mapping[str, int]) -> NextRevision:
    """
    Choose the revision of the next pod.

    Args:
        sets: From ``read_sized_sets``, at least one.
        running: Name of a ReplicaSet -> its pods that run.
    """
    lacking = (one for one in sets if running.get(one.name, 0) < one.size)
    return next(lacking, sets[0]).revision


def _read_paused(
    subject: subjects.ExplainSubject, stored: Json | None, owned: Sequence[Json]
) -> _WaitingRollout | None:
    active = sorted(list_active(subject, owned), key=lambda pair: created_at(pair[0]))
    if len(active) <= 1:
        return None
    strategy = find_value(subject.value, ("spec", "strategy"))
    is_fixed = find_value(strategy, ("type",)) == "Recreate"
    known = _count(find_value(stored, ("status", "replicas")))
    sets = [ActiveSet(size, _read_most(value) or known) for value, size in active]
    limits = read_limits(find_value(strategy, ("rollingUpdate",)))

    def resize(wanted: int) -> Sequence[int]:
        if is_fixed:
            return [one.size for one in sets]
        return scale_sets(sets, wanted, limits.resolve(wanted).surge)

    return _WaitingRollout(active, resize)


def _read_most(value: Json) -> int:
    """Read the most pods of the Deployment when a ReplicaSet was scaled; 0 if it is not known."""
    written = find_value(value, ("metadata", "annotations", _MOST))
    return int(written) if isinstance(written, str) and written.isdecimal() else 0


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _read_canary(
    newest: NextRevision, stored: Json | None, owned: Sequence[Json]
) -> _WaitingRollout | None:
    """
    Read the stable ReplicaSet and that of the canary.

    Args:
        newest: The revision that the Rollout rolls out.
    """
    subject, status = newest.subject, find_value(stored, ("status",))
    canary = find_value(stored, ("spec", "strategy", "canary"))
    weight = _find_weight(canary, status)
    if weight is None or not newest.is_owned:
        return None
    others = [one for one in owned if subjects.name_of(one) != subject.name]
    stable = find_stable(stored, others)
    active = [one for one, _ in list_active(subject, others)]
    if stable is None or any(one != stable for one in active):
        return None
    if not is_object(find_value(stable, subject.path)):
        return None
    limits = read_limits(canary)

    def resize(wanted: int) -> Sequence[int]:
        counts = approximate(wanted, weight, limits.resolve(wanted).surge)
        return counts.stable, counts.new

    sets = (stable, subject.value)
    sized = [(one, _count(find_value(one, ("spec", "replicas")))) for one in sets]
    return _WaitingRollout(sized, resize)


def _find_weight(canary: Any, status: Any) -> int | None:
    """
    Find the weight of the present step of a canary; None if it goes on, or is not modelled.

    Source: ``GetCurrentSetWeight``.
    """
    if not is_object(canary) or find_value(canary, ("trafficRouting",)) is not None:
        return None
    if find_value(status, ("promoteFull",)) is True:
        return None
    if find_value(status, ("abort",)) is True:
        return 0
    steps = find_value(canary, ("steps",))
    steps = steps if is_array(steps) else []
    present = _count(find_value(status, ("currentStepIndex",)))
    if present >= len(steps):
        return None
    weights = (find_value(step, ("setWeight",)) for step in reversed(steps[: present + 1]))
    weight = next((one for one in weights if isinstance(one, int)), 0)
    return weight if 0 <= weight < ALL else None
