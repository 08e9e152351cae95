"""
How a workload rolls out a new revision: its update strategy, and its ReplicaSets.

Entry point: ``read_plan``. What happens then is the subject of ``explain.rollingupdate``.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, Protocol, TypeAlias

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
)
from webhook.cli.inputs.setrevisions import SetRevisions
from webhook.explain.newpods import NewPod
from webhook.explain.rollingupdate.canary import ALL, Canary
from webhook.explain.rollingupdate.setup import ReplicaSetNames, Revisions
from webhook.explain.rollingupdate.sizes import (
    BlueGreen,
    Recreate,
    RollingUpdate,
    RolloutStrategy,
)
from webhook.explain.rollingupdate.statefulsets import StatefulSetPlan
from webhook.policy.api.versions import Version
from webhook.policy.kinds import DEPLOYMENT, REPLICA_SET, ROLLOUT, STATEFUL_SET
from webhook.policy.nextrevision import read_partitioned
from webhook.policy.paths import find_value, is_array, is_object
from webhook.policy.placement.census import ObservedPod
from webhook.policy.podlabels import revision_key
from webhook.policy.rolloutlimits import is_limit, read_limits, scale

NEW_REVISION = "new"
"""Placeholder for the hash of the revision that is rolled out; a real hash has no vowels."""

HONORS_UNAVAILABLE = Version(1, 37)
"""The first version with the feature gate MaxUnavailableStatefulSet on by default."""

ChooseStrategy: TypeAlias = Callable[[int], RolloutStrategy | StatefulSetPlan]
"""Chooses the strategy for a number of replicas."""


class ForeseePod(Protocol):
    """Foresees a new pod of a workload."""

    def __call__(self, revision: NextRevision, ordinal: int) -> NewPod:
        """Return the pod of a revision with an ordinal."""
        ...


class RolloutPlan(msgspec.Struct, frozen=True):
    """
    How a workload rolls out a new revision.

    Attributes:
        choose: Chooses the strategy.
        revisions: Its pods.
        sets: Its ReplicaSets.
        notes: What is supposed; sentences.
        obstacle: Why its rollout is not modelled; empty if it is.
    """

    choose: ChooseStrategy
    revisions: Revisions
    sets: ReplicaSetNames = ReplicaSetNames()
    notes: tuple[str, ...] = ()
    obstacle: str = ""


def read_plan(
    subject: subjects.ExplainSubject,
    cluster: ClusterReader,
    version: Version,
    foresee: ForeseePod,
    replicas: Sequence[ObservedPod],
    *,
    has_unknown_volumes: bool = False,
) -> RolloutPlan | None:
    """
    Read how a workload rolls out.

    Args:
        replicas: Its pods.
        has_unknown_volumes: Whether its pods have claims whose volumes are not known.

    Returns:
        None for a kind whose rollout is not modelled.
    """
    match subject.kind:
        case _ if subject.kind == DEPLOYMENT:
            choose = _read_deployment(subject)
        case _ if subject.kind == STATEFUL_SET:
            choose = _read_stateful_set(subject, version)
        case _ if subject.kind == ROLLOUT:
            choose = _read_argo_rollout(subject, cluster)
        case _:
            return None
    return RolloutPlan(
        choose,
        _list_revisions(subject, cluster, foresee, replicas),
        _name_sets(subject, cluster),
        tuple(_list_notes(subject, version, has_unknown_volumes=has_unknown_volumes)),
        _find_obstacle(subject),
    )


def _list_revisions(
    subject: subjects.ExplainSubject,
    cluster: ClusterReader,
    foresee: ForeseePod,
    replicas: Sequence[ObservedPod],
) -> Revisions:
    """
    Foresee the pods of the stored workload, and those of a new revision of the subject.

    The old pods of an Argo Rollout are those of its stable ReplicaSet, if its template is known.
    """
    find_present = _find_present(subject, cluster, replicas)
    new = NextRevision(subject, {revision_key(subject.kind): NEW_REVISION}, is_new=True)

    @cache
    def build_old(ordinal: int) -> NewPod:
        return foresee(find_present(ordinal), ordinal)

    return Revisions(build_old, cache(partial(foresee, new)))


def _find_present(
    subject: subjects.ExplainSubject, cluster: ClusterReader, replicas: Sequence[ObservedPod]
) -> Callable[[int], NextRevision]:
    """Find the revisions of the pods that the stored workload creates, by their ordinals."""
    stored = find_stored(subject, cluster)
    present = subject if stored is None else replace(subject, value=stored, exists=True)
    if subject.kind == STATEFUL_SET:
        revisions = SetRevisions(present, replicas, cluster)
        revisions.at(revisions.start)  # reads all facts while the cluster is open
        return revisions.at
    stable = _find_stable(subject, cluster)
    if is_object(find_value(stable, subject.path)):
        owner = replace(subject, kind=REPLICA_SET, value=stable)
        return lambda _: NextRevision(owner, is_owned=True)
    revision = find_revision(present, cluster)
    return lambda _: revision


def _find(subject: subjects.ExplainSubject, *path: str) -> Any:
    return find_value(subject.value, ("spec", *path))


def _read_deployment(subject: subjects.ExplainSubject) -> ChooseStrategy:
    if _find(subject, "strategy", "type") == "Recreate":
        return Recreate
    limits = read_limits(_find(subject, "strategy", "rollingUpdate"))
    return lambda replicas: RollingUpdate(replicas, limits.resolve(replicas))


def _read_stateful_set(subject: subjects.ExplainSubject, version: Version) -> ChooseStrategy:
    written = read_partitioned(subject.value)
    plan = StatefulSetPlan(
        name=subject.name,
        start=written.start,
        partition=written.partition,
        is_parallel=_find(subject, "podManagementPolicy") == "Parallel",
        on_delete=_find(subject, "updateStrategy", "type") == "OnDelete",
    )
    if version < HONORS_UNAVAILABLE:
        return lambda _: plan
    limit = _find(subject, "updateStrategy", "rollingUpdate", "maxUnavailable")
    most = limit if is_limit(limit) else 1
    return lambda replicas: replace(plan, unavailable=max(1, scale(most, replicas)))


def _read_argo_rollout(subject: subjects.ExplainSubject, cluster: ClusterReader) -> ChooseStrategy:
    canary = _find(subject, "strategy", "canary")
    if not is_object(canary):
        deletes_previews = _is_stable_active(subject, cluster)
        return lambda replicas: BlueGreen(replicas, deletes_previews=deletes_previews)
    limits, steps = read_limits(canary), canary.get("steps")
    weights = [find_value(step, ("setWeight",)) for step in (steps if is_array(steps) else ())]
    known = [weight for weight in weights if isinstance(weight, int) and 0 <= weight < ALL]
    return lambda replicas: Canary(replicas, limits.resolve(replicas), (*known, ALL))


def _is_stable_active(subject: subjects.ExplainSubject, cluster: ClusterReader) -> bool:
    """
    Whether the active Service of a Rollout selects the stable ReplicaSet, which exists.

    Otherwise, the pods of another ReplicaSet are kept as well.

    Source: argo-rollouts rollout/replicaset.go ``isReplicaSetReferenced``.
    """
    status = find_value(find_stored(subject, cluster), ("status",))
    active = find_value(status, ("blueGreen", "activeSelector"))
    is_stable = active == find_value(status, ("stableRS",))
    return is_stable and _find_stable(subject, cluster) is not None


def _name_sets(subject: subjects.ExplainSubject, cluster: ClusterReader) -> ReplicaSetNames:
    """Name the ReplicaSets of a workload."""
    owned = subjects.list_controlled(REPLICA_SET, subject, cluster)
    stable = _find_stable(subject, cluster)
    return ReplicaSetNames(
        tuple(subjects.name_of(value) for value in sorted(owned, key=created_at)),
        "" if stable is None else subjects.name_of(stable),
    )


def _find_stable(subject: subjects.ExplainSubject, cluster: ClusterReader) -> Json | None:
    """Find the stable ReplicaSet of an Argo Rollout; None for other kinds."""
    if subject.kind != ROLLOUT:
        return None
    owned = subjects.list_controlled(REPLICA_SET, subject, cluster)
    return find_stable(find_stored(subject, cluster), owned)


def _find_obstacle(subject: subjects.ExplainSubject) -> str:
    if subject.kind != ROLLOUT:
        return ""
    strategy = _find(subject, "strategy")
    if find_value(strategy, ("canary", "trafficRouting")) is not None:
        return "a canary with trafficRouting is scaled by the weights of its traffic router"
    known = ("canary", "blueGreen")
    has_one = any(is_object(find_value(strategy, (name,))) for name in known)
    return "" if has_one else "it has no strategy: write canary or blueGreen"


def _list_notes(
    subject: subjects.ExplainSubject, version: Version, *, has_unknown_volumes: bool
) -> Iterator[str]:
    if _find(subject, "paused") is True:
        yield "it is paused: the rollout begins after it is resumed"
    if subject.kind == ROLLOUT:
        yield "pauses, analyses and experiments of the Rollout are taken to end well"
    if _find(subject, "updateStrategy", "type") == "OnDelete":
        yield "updateStrategy OnDelete: the controller replaces a pod only after its deletion"
    if has_unknown_volumes:
        yield (
            "the volumes of its claims are not known: a pod returns to the zone of its volume, and "
            "stays Pending if a hard constraint rejects it there"
        )
    limit = _find(subject, "updateStrategy", "rollingUpdate", "maxUnavailable")
    if subject.kind == STATEFUL_SET and limit is not None and version < HONORS_UNAVAILABLE:
        yield (
            "maxUnavailable has no effect unless the feature gate MaxUnavailableStatefulSet is on; "
            f"before {HONORS_UNAVAILABLE} it is off by default"
        )
