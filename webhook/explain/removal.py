"""
Scaling down: which pods of a workload its controller removes, and where that is not determined.

``WorkloadPods.find_surplus`` is the entry point. Controllers do not look at topology spread
constraints when they remove pods, so scaling down can make a workload uneven. The order of the
ReplicaSet controller is the subject of ``removalorder``.

Source: kubernetes pkg/controller/replicaset/replica_set.go ``getPodsToDelete``,
pkg/controller/statefulset stateful_set_control.go.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate, islice

import msgspec
from msgspec.structs import replace

from webhook.explain.newpods import ALIKE, NewPod, PodSuccession
from webhook.explain.removalchoice import RemovalChoice
from webhook.explain.removalorder import (
    NOTHING_JOINED,
    RemovalGroup,
    find_readiness,
    is_older,
    order_pods,
)
from webhook.explain.revisionsizes import RevisionSize, list_missing
from webhook.explain.runningupdate import RunningUpdate
from webhook.policy.completionindexes import read_index
from webhook.policy.kinds import REPLICA_SET
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.filters.filterpods import FilterPod

BURST = 500
"""
Most pods that the controller removes before it orders the others anew.

Source: pkg/controller/replicaset/replica_set.go ``BurstReplicas``.
"""

_RACE = (
    "which pods of %s are removed is not determined: the ReplicaSets remove pods independently, "
    "and each counts those of the others on a node until they are deleted"
)

_HELD = (
    "a replica has no node: with podManagementPolicy OrderedReady, no pod is removed before all "
    "replicas are ready"
)

MOST_RACES = 20
"""Most nodes on which the removal of a pod by another ReplicaSet is tried."""

_ordinal = re.compile(r"(?P<set>.*)-(?P<ordinal>[0-9]+)", re.ASCII).fullmatch
"""Name of a StatefulSet's pod. Source: stateful_set_utils.go ``statefulPodRegex``."""


class RemovalOrder(StrEnum):
    """How a controller chooses the pods to remove."""

    REPLICA_SET = "ReplicaSet"
    ORDINAL = "StatefulSet"
    INDEX = "Indexed Job"
    UNKNOWN = "unknown"


class Surplus(msgspec.Struct, frozen=True):
    """
    The pods that a controller removes.

    Attributes:
        pods: In the order of removal.
        notes: Where the choice is not determined, or is not known; sentences.
        choice: Which of them could be others; None if all are determined, or if several
            ReplicaSets have such a choice.
    """

    pods: tuple[ObservedPod, ...] = ()
    notes: tuple[str, ...] = ()
    choice: RemovalChoice | None = None

    @property
    def outcome(self) -> tuple[frozenset[str | None], tuple[str, ...]]:
        """The names of the pods, in no order, and the notes."""
        return frozenset(pod.metadata.name for pod in self.pods), self.notes

    def hold(self) -> "Surplus":
        """Return what an OrderedReady StatefulSet removes while one of its replicas has no node."""
        return Surplus(notes=(_HELD,)) if self.pods else self


class WorkloadPods(msgspec.Struct, frozen=True, kw_only=True):
    """
    The pods of a workload, and what decides which of them go first.

    Attributes:
        name: Name of the workload.
        pods: Its active pods, also those without a node.
        related: Pods of all ReplicaSets with the same controller; none for a ReplicaSet without
            a controller, and for a ReplicationController.
        order: How its controller chooses.
        newest: Name of the newest ReplicaSet, whose pods go last; empty if it is not known.
        start: First ordinal of a StatefulSet.
        now: The present time, in seconds since 1970.
        succession: Its new pods; of a Job, without the indexes that need none.
        placed: Name of a pod -> what it takes of its node.
        pending: Name of a pod without a node -> what kube-scheduler places, without its name and
            uid; empty unless a rollout is simulated.
        sets: Its ReplicaSets with their sizes, if its rollout waits; empty otherwise.
        update: Its rolling update, if one runs; None otherwise.
        joined: Node name -> further ``related`` pods, which a what-if places there.
    """

    name: str
    pods: tuple[ObservedPod, ...]
    related: tuple[ObservedPod, ...]
    order: RemovalOrder
    newest: str = ""
    start: int = 0
    now: float = 0.0
    succession: PodSuccession = ALIKE
    placed: Mapping[str, FilterPod] = {}
    pending: Mapping[str, NewPod] = {}
    sets: tuple[RevisionSize, ...] = ()
    update: RunningUpdate | None = None
    joined: Mapping[str, int] = NOTHING_JOINED

    @property
    def removes_last(self) -> bool:
        """
        Whether its controller removes no pod before all replicas run.

        Source: stateful_set_control.go ``updateStatefulSet``.
        """
        return self.order is RemovalOrder.ORDINAL and not self.succession.is_parallel

    def is_updating(self, replicas: int) -> bool:
        """Whether pods beyond a number of replicas are those of a rolling update."""
        number = len(self.pods)
        return self.update is not None and replicas < number <= self.update.find_most(replicas)

    def count_desired(self, replicas: int) -> int:
        """Count the pods of a workload with a number of replicas; ReplicaSets may have more."""
        return sum(one.size for one in self.sets) if self.sets else replicas

    def lose_nodes(self, names: Collection[str]) -> "WorkloadPods":
        """Return the pods without those on nodes that are lost."""
        left = tuple(pod for pod in self.pods if pod.spec.node_name not in names)
        return replace(self, pods=left)

    def follow(self, placed: Mapping[str, int], removed: Iterable[ObservedPod]) -> "WorkloadPods":
        """
        Return the pods after a step of a rolling update.

        Args:
            placed: Node name -> pods of the newest ReplicaSet that the step places there.
            removed: The pods that it removes.
        """
        names = {pod.metadata.name for pod in removed}
        left = tuple(pod for pod in self.related if pod.metadata.name not in names)
        joined = Counter(self.joined) + Counter(placed) if left else NOTHING_JOINED
        return replace(self, related=left, joined=joined)

    def find_surplus(self, replicas: int) -> Surplus:
        """Find the pods to remove, for a desired number of pods."""
        if self.sets:
            return self._find_surplus_of_sets()
        if self.order is RemovalOrder.ORDINAL:
            return self._find_highest_ordinals(replicas)
        number = len(self.pods) - replicas
        if self.order is RemovalOrder.INDEX or number <= 0:
            return Surplus()  # a Job is not scaled down
        return self.find_first_ranked(self.pods, number)

    def _find_surplus_of_sets(self) -> Surplus:
        """Find the pods that each ReplicaSet removes of its own."""
        owned = [(one, self._select_set(one.name)) for one in self.sets]
        found = [pods.find_surplus(one.size) for one, pods in owned]
        removed = tuple(pod for surplus in found for pod in surplus.pods)
        notes = [note for surplus in found for note in surplus.notes]
        notes += (
            _RACE % one.name
            for (one, pods), surplus in zip(owned, found, strict=True)
            if any(
                other.find_surplus(one.size).outcome != surplus.outcome
                for other in _lose_others(pods, removed)
            )
        )
        choices = [surplus.choice for surplus in found if surplus.choice]
        choice = choices[0] if len(choices) == 1 else None
        return Surplus(removed, tuple(dict.fromkeys(notes)), choice)

    def _select_set(self, name: str) -> "WorkloadPods":
        """Return the pods of one ReplicaSet."""
        own = tuple(pod for pod in self.pods if find_owner(pod) == name)
        return replace(self, pods=own, newest="", sets=())

    def _find_highest_ordinals(self, replicas: int) -> Surplus:
        """Find the pods whose ordinals are out of range, the highest first."""
        wanted = range(self.start, self.start + replicas)
        found = ((self.find_ordinal(pod), pod) for pod in self.pods)
        numbered = [(ordinal, pod) for ordinal, pod in found if ordinal >= 0]
        surplus = [(ordinal, pod) for ordinal, pod in numbered if ordinal not in wanted]
        surplus.sort(key=lambda pair: -pair[0])
        return Surplus(tuple(pod for _, pod in surplus))

    def find_new_pods(self, surplus: Surplus) -> PodSuccession:
        """Find the pods to create beside those that run, and stay."""
        removed = {pod.metadata.name for pod in surplus.pods}
        kept = [pod for pod in self.pods if pod.metadata.name not in removed]
        placed = [pod for pod in kept if pod.spec.node_name]
        if self.sets:
            return list_missing(self.sets, Counter(map(find_owner, placed)))
        taken = self.succession.taken.union(map(self.find_ordinal, placed))
        if self.order is not RemovalOrder.ORDINAL:
            return replace(self.succession, taken=taken)
        waiting = frozenset(self.find_ordinal(pod) for pod in kept if not pod.spec.node_name)
        return replace(self.succession, taken=taken, waiting=waiting)

    def describe_waiting(
        self, replicas: int, surplus: Surplus, succession: PodSuccession
    ) -> Iterator[str]:
        """
        Yield a note if a pod that is not ready keeps the controller from further steps.

        Args:
            replicas: Desired number of pods.
            surplus: The pods to remove.
            succession: The pods to create, from ``find_new_pods``.

        Source: stateful_set_control.go ``processReplica``.
        """
        if self.order is not RemovalOrder.ORDINAL or succession.is_parallel:
            return
        wanted = range(self.start, self.start + replicas)
        unready = {self.find_ordinal(pod) for pod in self.pods if find_readiness(pod) is False}
        first = min(unready & succession.taken & {*wanted}, default=-1)
        missing = any(one not in succession.taken for one in wanted if one > first)
        if first >= 0 and (missing or surplus.pods):
            yield (
                f"{self.name}-{first} is not ready: with podManagementPolicy OrderedReady, no "
                "later pod is created and none is removed before it is"
            )

    def find_ordinal(self, pod: ObservedPod) -> int:
        """Return the ordinal of a pod of this StatefulSet, or of this Job; -1 without one."""
        if self.order is RemovalOrder.INDEX:
            return read_index(pod.metadata.annotations, pod.metadata.labels)
        found = _ordinal(pod.metadata.name or "")
        return int(found["ordinal"]) if found and found["set"] == self.name else -1

    def find_first_ranked(self, left: Sequence[ObservedPod], number: int) -> Surplus:
        """Find the first pods in the order of ReplicaSets, in bursts; at least 1 of those left."""
        removed: list[ObservedPod] = []
        names: set[str | None] = set()
        while True:
            burst = min(BURST, number - len(removed))
            rest = [pod for pod in left if pod.metadata.name not in names]
            if burst == len(rest):
                return Surplus((*removed, *rest))
            related = (pod for pod in self.related if pod.metadata.name not in names)
            groups = order_pods(rest, related, self.now, self.newest, self.joined)
            removed += [pod for group in groups for pod in group.pods][:burst]
            if len(removed) == number:
                choice = _find_choice(groups, burst)
                notes = tuple(self._list_notes(groups, choice))
                return Surplus(tuple(removed), notes, choice)
            names.update(pod.metadata.name for pod in removed)

    def _list_notes(
        self, groups: Sequence[RemovalGroup], choice: RemovalChoice | None
    ) -> Iterable[str]:
        if self.order is RemovalOrder.UNKNOWN:
            yield "which pods the controller removes is not known: the order of ReplicaSets is used"
        if any(is_older(pod, self.newest) for group in groups for pod in group.pods):
            yield (
                "a rollout is running: pods of older ReplicaSets are removed first, and the "
                "controller may scale several ReplicaSets at once"
            )
        if choice is not None:
            yield choice.describe()


def _lose_others(pods: WorkloadPods, removed: Sequence[ObservedPod]) -> Iterator[WorkloadPods]:
    """Yield the pods of a ReplicaSet after others have removed some, on one node or on all."""
    own = {pod.metadata.name for pod in pods.pods}
    others = [pod for pod in removed if pod.metadata.name not in own]
    by_node = {pod.spec.node_name: pod for pod in others}
    if others:
        yield pods.follow({}, others)
    for pod in islice(by_node.values(), MOST_RACES):
        yield pods.follow({}, [pod])


def find_owner(pod: ObservedPod) -> str:
    """Find the name of the ReplicaSet that a pod belongs to; empty without one."""
    controller = pod.controller
    return controller.name if controller and controller.kind == REPLICA_SET.kind else ""


def _find_choice(groups: Sequence[RemovalGroup], number: int) -> RemovalChoice | None:
    """Find the group of which some pods, and not all, are among the first; None without one."""
    starts = accumulate((len(group.pods) for group in groups), initial=0)
    first = ((group, number - start) for group, start in zip(groups, starts, strict=False))
    found = (RemovalChoice(group, left) for group, left in first if 0 < left < len(group.pods))
    return next(found, None)
