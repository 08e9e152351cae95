"""
The pods that the StatefulSet controller replaces, by their ordinals: ``StatefulSetController``.

Source: kubernetes pkg/controller/statefulset stateful_set_control.go ``updateStatefulSet``,
``processReplica``, ``updateStatefulSetAfterInvariantEstablished``; stateful_set_utils.go
``newVersionedStatefulSetPod``, ``getStatefulSetMaxUnavailable``.
"""

from collections.abc import Iterator, Sequence

import msgspec

from webhook.explain.rollingupdate.state import ReplicaKind, RolloutState
from webhook.policy.advice.findings import join_names


class StatefulSetPlan(msgspec.Struct, frozen=True):
    """
    How a StatefulSet replaces its pods.

    Attributes:
        name: Of the StatefulSet.
        start: The first ordinal.
        partition: Number of pods, from the first one, that are not replaced.
        is_parallel: Whether pods are created although one before them does not run.
        unavailable: Most pods that may be unavailable; 0 if the feature gate is off.
        on_delete: Whether no pod is replaced, by updateStrategy OnDelete.
    """

    name: str
    start: int = 0
    partition: int = 0
    is_parallel: bool = False
    unavailable: int = 0
    on_delete: bool = False

    def __str__(self) -> str:
        if self.on_delete:
            return "OnDelete"
        parts = [f"partition {self.partition}"] if self.partition else []
        if self.unavailable:
            parts.append(f"maxUnavailable {self.unavailable}")
        return ", ".join([*parts, "Parallel" if self.is_parallel else "OrderedReady"])


class StatefulSetController:
    """The controller of a StatefulSet."""

    def __init__(
        self, plan: StatefulSetPlan, old: Sequence[ReplicaKind], new: Sequence[ReplicaKind]
    ) -> None:
        """
        Store the plan.

        Args:
            old: Kind of the old pod with each ordinal.
            new: The same of the new pods.
        """
        self._plan = plan
        self._old, self._new = old, new
        self._kinds = {kind.number: kind for kind in (*old, *new)}

    def ignore_nodes(self) -> "StatefulSetController":
        """Return the controller itself: ordinals decide."""
        return self

    def is_finished(self, state: RolloutState) -> bool:
        """Whether all pods run, and those from the partition on are new."""
        pods = self._find_pods(state)
        return all(
            kind is not None
            and self._is_available(kind, state)
            and (kind.is_new or index < self._plan.partition or self._plan.on_delete)
            for index, kind in enumerate(pods)
        )

    def _find_pods(self, state: RolloutState) -> list[ReplicaKind | None]:
        """Find the pod with each ordinal; None where there is none."""
        found: list[ReplicaKind | None] = [None] * len(self._old)
        for number in state.list_kinds():
            found[self._kinds[number].owner] = self._kinds[number]
        return found

    def _is_available(self, kind: ReplicaKind, state: RolloutState) -> bool:
        return kind.is_ready and kind.number not in (*state.pending, *state.starting)

    def advance(self, state: RolloutState) -> RolloutState | None:
        """Synchronize the controller once; None if there is nothing to do now."""
        pods = self._find_pods(state)
        missing = [index for index, kind in enumerate(pods) if kind is None]
        if self._plan.is_parallel:
            if missing:
                return state.create(map(self._number, missing))
        else:
            blocked = next(
                (
                    index
                    for index, kind in enumerate(pods)
                    if kind is None or not self._is_available(kind, state)
                ),
                None,
            )
            if blocked is not None:
                is_missing = pods[blocked] is None
                return state.create([self._number(blocked)]) if is_missing else None
        deleted = list(self._list_deleted(pods, state))
        for kind in deleted:
            state = state.delete(kind.number, _find_node(state, kind.number))
        return state if deleted else None

    def _number(self, index: int) -> int:
        """Return the kind of a new pod: below the partition, it is of the old revision."""
        kinds = self._old if index < self._plan.partition or self._plan.on_delete else self._new
        return kinds[index].number

    def _list_deleted(
        self, pods: Sequence[ReplicaKind | None], state: RolloutState
    ) -> Iterator[ReplicaKind]:
        """Yield the pods to delete now."""
        if self._plan.on_delete:
            return
        left = [kind for kind in pods[self._plan.partition :] if kind is not None][::-1]
        if self._plan.unavailable:
            yield from self._list_within_limit(pods, left, state)
            return
        # The pod before the last replaced one must be available.
        for kind in left:
            if not kind.is_new:
                yield kind
                return
            if not self._is_available(kind, state):
                return

    def _list_within_limit(
        self,
        pods: Sequence[ReplicaKind | None],
        left: Sequence[ReplicaKind],
        state: RolloutState,
    ) -> Iterator[ReplicaKind]:
        """
        Yield the old pods to delete with ``maxUnavailable``.

        Those that are not available go first, without a limit. There are none with OrderedReady.

        Args:
            left: The pods from the partition on, the highest ordinals first.

        Source: stateful_set_control.go ``updateStatefulSetAfterInvariantEstablished`` of
        Kubernetes 1.37.
        """
        down = sum(kind is None or not self._is_available(kind, state) for kind in pods)
        outdated = [kind for kind in left if not kind.is_new]
        yield from (kind for kind in outdated if not self._is_available(kind, state))
        available = [kind for kind in outdated if self._is_available(kind, state)]
        yield from available[: max(0, self._plan.unavailable - down)]

    def list_removable(self, state: RolloutState) -> list[tuple[str, int]]:
        """No choice is open: ordinals decide."""
        del state
        return []

    def remove(self, state: RolloutState, node: str, kind: int) -> RolloutState:
        """Delete a pod."""
        return state.delete(kind, node)

    def describe(self, before: RolloutState, after: RolloutState) -> str:
        """Describe what the controller did between two states."""
        was, now = set(before.list_kinds()), set(after.list_kinds())
        gone, made = (
            {self._kinds[number].owner for number in kinds} for kinds in (was - now, now - was)
        )
        verbs = ("replaces", gone & made), ("deletes", gone - made), ("creates", made - gone)
        return ", ".join(f"{verb} {self._join(sorted(of))}" for verb, of in verbs if of)

    def name_pod(self, kind: int) -> str:
        """Return the name of the pod of a kind."""
        return self._name_index(self._kinds[kind].owner)

    def _join(self, indexes: Sequence[int]) -> str:
        return join_names(list(map(self._name_index, indexes)), most=3)

    def _name_index(self, index: int) -> str:
        return f"{self._plan.name}-{self._plan.start + index}"


def _find_node(state: RolloutState, number: int) -> str:
    """Find the node of the pod of a kind; empty for a pending one."""
    return next((node for node, pods in state.placed if number in pods), "")
