"""
The pods that ReplicaSets create and delete for a rolling update: ``ReplicaSetController``.

How many is decided in ``sizes``. Which pods are deleted is the order of ``removalorder``. Pods that
differ by their age alone may swap places in it while the rolling update runs, since ages are
compared by their order of magnitude: which of them goes first counts as not determined.

Source: kubernetes pkg/controller/replicaset/replica_set.go ``manageReplicas``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from webhook.explain.rollingupdate.sizes import RolloutStrategy, SetSizes
from webhook.explain.rollingupdate.state import OpenRemoval, ReplicaKind, RolloutState


class ReplicaSetController:
    """
    The controllers of a workload with ReplicaSets.

    Attributes:
        strategy: Decides on the sizes.
    """

    def __init__(
        self,
        strategy: RolloutStrategy,
        kinds: Sequence[ReplicaKind],
        ages: Mapping[tuple[str, int], Sequence[int]],
        *,
        ignores_nodes: bool = False,
    ) -> None:
        """
        Store what decides on pods.

        Args:
            kinds: By their numbers. A ReplicaSet that grows creates pods of its last kind.
            ages: Node name and kind -> positions of the pods there in the order of removal,
                ascending, as far as it is determined now.
            ignores_nodes: Whether any pod may go first, however many are on its node.
        """
        self.strategy = strategy
        self._kinds = kinds
        self._ages = ages
        self._ignores_nodes = ignores_nodes
        self._created = {kind.owner: kind.number for kind in kinds}

    def ignore_nodes(self) -> "ReplicaSetController":
        """Return the controllers without the part of the order that depends on nodes."""
        return ReplicaSetController(self.strategy, self._kinds, self._ages, ignores_nodes=True)

    def measure(self, state: RolloutState) -> SetSizes:
        """Measure the ReplicaSets."""
        available = [0] * len(state.sizes)
        for kind in chain.from_iterable(pods for _, pods in state.placed):
            available[self._kinds[kind].owner] += self._kinds[kind].is_ready
        for kind in state.starting:
            available[self._kinds[kind].owner] -= self._kinds[kind].is_ready
        return SetSizes(state.sizes, tuple(available), state.stage)

    def is_finished(self, state: RolloutState) -> bool:
        """Whether the rolling update has reached its end."""
        return self.strategy.is_finished(self.measure(state))

    def advance(self, state: RolloutState) -> RolloutState | None:
        """Synchronize the controllers once; None if there is nothing to do now."""
        before = self.measure(state)
        after = self.strategy.decide(before)
        if after == before:
            return None
        changed = replace(state, sizes=after.desired, stage=after.stage)
        for owner, (was, now) in enumerate(zip(state.sizes, after.desired, strict=True)):
            if now < was:
                changed = self._shrink(changed, owner, was - now)
            elif now > was:
                changed = changed.create([self._created[owner]] * (now - was))
        return changed

    def _shrink(self, state: RolloutState, owner: int, number: int) -> RolloutState:
        """Delete pods; those without a node first."""
        waiting = [kind for kind in state.pending if self._kinds[kind].owner == owner][:number]
        for kind in waiting:
            state = state.delete(kind, "")
        return self._delete_placed(state, owner, number - len(waiting))

    def _delete_placed(self, state: RolloutState, owner: int, number: int) -> RolloutState:
        """Delete whole ranks of pods, and leave the last one open if not all of it is deleted."""
        for removal, pods in self._rank(state, owner):
            if number <= 0:
                break
            if number < len(pods):
                nodes = tuple(sorted({node for node, _ in pods}))
                return replace(state, removal=OpenRemoval(number, owner, removal, nodes))
            for node, kind in pods:
                state = state.delete(kind, node)
            number -= len(pods)
        return state

    def _rank(
        self, state: RolloutState, owner: int
    ) -> Iterator[tuple[tuple[int, ...], list[tuple[str, int]]]]:
        """
        Yield the pods of a ReplicaSet in the order of removal, those of equal rank together.

        Source: pkg/controller/controller_utils.go ``ActivePodsWithRanks``.
        """
        ranks: dict[tuple[tuple[int, ...], int], list[tuple[str, int]]] = {}
        for node, pods in state.placed:
            for kind in pods:
                if self._kinds[kind].owner == owner:
                    beside = 0 if self._ignores_nodes else len(pods)
                    rank = (self._kinds[kind].removal, -beside)
                    ranks.setdefault(rank, []).append((node, kind))
        for removal, on_node in sorted(ranks):
            yield removal, ranks[removal, on_node]

    def list_removable(self, state: RolloutState) -> list[tuple[str, int]]:
        """List the pods one of which is deleted next, by node and kind; the first one by now."""
        removal, nodes = state.removal, dict(state.placed)
        if removal is None:
            return []
        found = {
            (node, kind)
            for node in removal.nodes
            for kind in nodes.get(node, ())
            if (self._kinds[kind].owner, self._kinds[kind].removal)
            == (removal.owner, removal.removal)
        }
        left = {pod: Counter(nodes[pod[0]])[pod[1]] for pod in found}
        return sorted(found, key=lambda pod: (self._find_age(pod, left[pod]), pod))

    def _find_age(self, pod: tuple[str, int], left: int) -> int:
        """Find the position of the next pod of a kind on a node, ``left`` of which are left."""
        ages = self._ages.get(pod, ())
        return ages[-left] if left <= len(ages) else -1

    def remove(self, state: RolloutState, node: str, kind: int) -> RolloutState:
        """Delete one of the removable pods."""
        removal = state.removal
        assert removal is not None, "pods are removable only while some are to be deleted"
        rest = replace(removal, number=removal.number - 1) if removal.number > 1 else None
        return replace(state.delete(kind, node), removal=rest)

    def describe(self, before: RolloutState, after: RolloutState) -> str:
        """Describe what the controllers did between two states."""
        old, new = (sum(state.sizes[:-1]) for state in (before, after))
        changes = [
            f"{name} {was} -> {now}"
            for name, was, now in (("new", before.sizes[-1], after.sizes[-1]), ("old", old, new))
            if was != now
        ]
        return ", ".join(changes)

    def name_pod(self, kind: int) -> str:
        """Return no name: pods of a kind are alike."""
        del kind
        return ""
