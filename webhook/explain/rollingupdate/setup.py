"""
Prepare a rolling update from the pods of a workload, with or without ReplicaSets.

``prepare_sets`` and ``prepare_ordinals`` are the entry points. Pods that are missing are created as
pods of the old revision before the rolling update; those that are Pending are placed as they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count

import msgspec
from msgspec.structs import replace

from webhook.explain.newpods import NewPod
from webhook.explain.removal import WorkloadPods
from webhook.explain.removalorder import find_readiness, order_pods, removal_key
from webhook.explain.removedpods import remove_pods, take_pod
from webhook.explain.rollingupdate.replicasets import ReplicaSetController
from webhook.explain.rollingupdate.simulation import RolloutSetup
from webhook.explain.rollingupdate.sizes import RolloutStrategy, SetSizes
from webhook.explain.rollingupdate.state import ReplicaKind, RolloutState
from webhook.explain.rollingupdate.statefulsets import (
    StatefulSetController,
    StatefulSetPlan,
)
from webhook.explain.scenario import Scenario
from webhook.policy.advice.findings import count_of
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.filters.filterpods import FilterPod

_RUNNING = (2, 1, 0)  # the ``removal_key`` of a pod that runs, is ready, and has no deletion cost


class Filling(RolloutStrategy, frozen=True):
    """Leave the sizes as they are: the ReplicaSets create what is missing."""

    def __str__(self) -> str:
        return ""

    def decide(self, sizes: SetSizes) -> SetSizes:
        """Return the sizes themselves."""
        return sizes


class Revisions(msgspec.Struct, frozen=True):
    """
    The pods that a workload creates.

    Attributes:
        old: Builds a pod of the present revision, by its index among the ordinals.
        new: Builds one of the new revision.
    """

    old: Callable[[int], NewPod]
    new: Callable[[int], NewPod]


class ReplicaSetNames(msgspec.Struct, frozen=True):
    """
    Names of the ReplicaSets of a workload.

    Attributes:
        by_age: The first created first. A ReplicaSet that is not among them comes before them.
        stable: That of the stable one of an Argo Rollout, which is the last of the old ones, even
            without pods. If it is empty, the last created one that has pods is the last.
    """

    by_age: tuple[str, ...] = ()
    stable: str = ""


def prepare_sets(
    scenario: Scenario,
    pods: WorkloadPods,
    strategy: RolloutStrategy,
    revisions: Revisions,
    sets: ReplicaSetNames,
) -> RolloutSetup:
    """
    Prepare the rolling update of a workload with ReplicaSets.

    Args:
        scenario: The cluster with all pods.
        pods: Those of the workload that are not lost.
        sets: Its ReplicaSets.
    """
    kept = pods.pods
    names = _order_sets(kept, sets)
    old, new = revisions.old(0), revisions.new(0)
    kinds: list[ReplicaKind] = []
    numbers: dict[object, int] = {}
    found: list[tuple[int, str]] = []  # kind and node of each pod
    for pod in kept:
        kind = _describe_pod(pod, names.index(_owner_of(pod)), old, pods)
        number = numbers.setdefault(_identify(kind), len(kinds))
        if number == len(kinds):
            kinds.append(replace(kind, number=number))
        found.append((number, pod.spec.node_name or ""))
    missing = max(0, strategy.replicas - len(kept))
    owners = max(1, len(names))
    lost = _make_kind(len(kinds), owners - 1, old, is_new=False)
    kinds += [lost, replace(_make_kind(0, owners, new, is_new=True), number=len(kinds) + 1)]
    sizes = [0] * (owners + 1)
    for number, _ in found:
        sizes[kinds[number].owner] += 1
    sizes[owners - 1] += missing
    start = _start(tuple(sizes), [*found, *[(lost.number, "")] * missing])
    ages = _find_ages(kept, [number for number, _ in found], pods)
    return RolloutSetup(
        scenario=remove_pods(scenario, pods.pods, pods.placed),
        kinds=kinds,
        start=start,
        filling=ReplicaSetController(Filling(strategy.replicas), kinds, ages),
        updating=ReplicaSetController(strategy, kinds, ages),
        strategy=str(strategy),
        replicas=strategy.replicas,
        find_next=lambda _: new,
        notes=_describe_missing(missing),
    )


def prepare_ordinals(
    scenario: Scenario,
    pods: WorkloadPods,
    plan: StatefulSetPlan,
    revisions: Revisions,
    replicas: int,
) -> RolloutSetup:
    """Prepare the rolling update of a StatefulSet; the arguments are as for ``prepare_sets``."""
    present = {pods.find_ordinal(pod) - plan.start: pod for pod in pods.pods}
    old: list[ReplicaKind] = []
    for index in range(replicas):
        pod, new = present.get(index), revisions.old(plan.start + index)
        kind = _make_kind(index, index, new, is_new=False)
        if pod is not None:
            kind = replace(_describe_pod(pod, index, new, pods), number=index)
        old.append(kind)
    new_kinds = [
        _make_kind(replicas + index, index, revisions.new(plan.start + index), is_new=True)
        for index in range(replicas)
    ]
    found = [
        (index, present[index].spec.node_name or "")
        for index in range(replicas)
        if index in present
    ]
    filling = replace(plan, partition=replicas, unavailable=0)
    kinds = [*old, *new_kinds]
    return RolloutSetup(
        scenario=remove_pods(scenario, pods.pods, pods.placed),
        kinds=kinds,
        start=_start((), found),
        filling=StatefulSetController(filling, old, new_kinds),
        updating=StatefulSetController(plan, old, new_kinds),
        strategy=str(plan),
        replicas=replicas,
        find_next=partial(_find_next, plan, revisions, kinds),
        notes=_describe_missing(replicas - len(found)),
    )


def _find_next(
    plan: StatefulSetPlan, revisions: Revisions, kinds: Sequence[ReplicaKind], state: RolloutState
) -> NewPod:
    """
    Find the pod with the first ordinal that has none.

    Source: kubernetes pkg/controller/statefulset stateful_set_utils.go
    ``newVersionedStatefulSetPod``.
    """
    taken = {kinds[number].owner for number in state.list_kinds()}
    index = next(index for index in count() if index not in taken)
    build = revisions.old if index < plan.partition else revisions.new
    return build(plan.start + index)


def _owner_of(pod: ObservedPod) -> str:
    return pod.controller.name if pod.controller else ""


def _order_sets(pods: Iterable[ObservedPod], sets: ReplicaSetNames) -> list[str]:
    """Order the ReplicaSets that have pods by age, after unknown ones, and the stable one last."""
    owners = set(map(_owner_of, pods)) - {sets.stable}
    known = (name for name in sets.by_age if name in owners)
    last = [sets.stable] if sets.stable else []
    return [*sorted(owners.difference(sets.by_age)), *known, *last]


def _describe_pod(pod: ObservedPod, owner: int, new: NewPod, pods: WorkloadPods) -> ReplicaKind:
    """
    Describe a pod; one without a node will take what it requires.

    Args:
        new: A new pod of its revision.
        pods: Those of the workload.
    """
    to_place = _find_new(pod, new, pods.pending)
    to_run = None if pod.spec.node_name else to_place
    return ReplicaKind(
        number=0,
        owner=owner,
        pod=_reduce(take_pod(pod, pods.placed) if to_run is None else to_run.pod),
        new=to_place,
        is_new=False,
        removal=removal_key(pod),
        is_ready=find_readiness(pod) is not False,
    )


def _find_new(pod: ObservedPod, new: NewPod, pending: Mapping[str, NewPod]) -> NewPod | None:
    """
    Find what kube-scheduler places of a pod: a Pending one as it is, if that is known.

    Others are like a new pod of their revision if they have its labels; None if they do not.
    """
    own = None if pod.spec.node_name else pending.get(pod.metadata.name or "")
    is_alike = (pod.metadata.labels or {}) == new.pod.labels
    return own or (new if is_alike else None)


def _make_kind(number: int, owner: int, new: NewPod, *, is_new: bool) -> ReplicaKind:
    return ReplicaKind(
        number=number,
        owner=owner,
        pod=_reduce(new.pod),
        new=new,
        is_new=is_new,
        removal=_RUNNING,
    )


def _reduce(pod: FilterPod) -> FilterPod:
    """Keep what a pod takes of its node, and what keeps others away from it."""
    return FilterPod(
        pod.namespace,
        pod.labels,
        requests=pod.requests,
        ports=pod.ports,
        anti_affinity=pod.anti_affinity,
        volumes=pod.volumes,
    )


def _identify(kind: ReplicaKind) -> object:
    pods = msgspec.json.encode((kind.pod, kind.new), order="deterministic")
    return kind.owner, pods, kind.removal, kind.is_ready


def _start(sizes: tuple[int, ...], pods: Iterable[tuple[int, str]]) -> RolloutState:
    """Build the first state from the kinds and nodes of pods; pending ones have no node."""
    placed: dict[str, list[int]] = {}
    for number, node in pods:
        placed.setdefault(node, []).append(number)
    pending = placed.pop("", [])
    nodes = tuple((node, tuple(sorted(kinds))) for node, kinds in sorted(placed.items()))
    return RolloutState(sizes, 0, nodes, tuple(sorted(pending)), ())


def _find_ages(
    pods: Sequence[ObservedPod], numbers: Sequence[int], workload: WorkloadPods
) -> Mapping[tuple[str, int], Sequence[int]]:
    """Find the positions of pods in the order of removal, by their node and kind."""
    kinds = {id(pod): number for pod, number in zip(pods, numbers, strict=True)}
    ages: dict[tuple[str, int], list[int]] = {}
    groups = order_pods(pods, (), workload.now)
    ordered = [pod for group in groups for pod in group.pods]
    for position, pod in enumerate(ordered):
        ages.setdefault((pod.spec.node_name or "", kinds[id(pod)]), []).append(position)
    return ages


def _describe_missing(number: int) -> tuple[str, ...]:
    if number <= 0:
        return ()
    has = "has no pod yet, and is" if number == 1 else "have no pod yet, and are"
    return (f"{count_of(number, 'replica')} {has} placed before the rollout",)
