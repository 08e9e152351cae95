"""
The pods of a workload during a rolling update: ``RolloutState``.

Pods are known by their kind only: what distinguishes them for constraints and controllers. A pod
that is deleted is gone at once; constraints do not count it while it terminates.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from webhook.explain.newpods import NewPod
from webhook.policy.placement.filters.filterpods import FilterPod


class ReplicaKind(msgspec.Struct, frozen=True):
    """
    Pods that are alike.

    Attributes:
        number: Its index among all kinds of the rolling update.
        owner: Index of its ReplicaSet, the new one last; of a StatefulSet, of its ordinal.
        pod: What such a pod takes of its node.
        new: What kube-scheduler places; None if no such pod is ever placed.
        is_new: Whether it is of the new revision.
        removal: What the ReplicaSet controller compares before the pods on a node; the least goes
            first.
        is_ready: Whether such pods are ready once they have a node.
    """

    number: int
    owner: int
    pod: FilterPod
    new: NewPod | None
    is_new: bool
    removal: tuple[int, ...] = ()
    is_ready: bool = True

    @property
    def pods(self) -> tuple[FilterPod, ...]:
        """What such a pod takes, and the pod to place, if any is placed."""
        return (self.pod,) if self.new is None else (self.pod, self.new.pod)


NodePods = tuple[int, ...]
"""The kinds of the pods on a node, sorted; each as often as it has pods there."""


class OpenRemoval(msgspec.Struct, frozen=True):
    """
    Pods of which the controller deletes some, and it is not determined which.

    Attributes:
        number: How many are yet to be deleted; at least 1.
        owner: The ReplicaSet whose pods they are.
        removal: What their kinds have in common.
        nodes: Names of the nodes that they are on, sorted.
    """

    number: int
    owner: int
    removal: tuple[int, ...]
    nodes: tuple[str, ...]


class RolloutState(msgspec.Struct, frozen=True):
    """
    A moment of a rolling update; hashable.

    Attributes:
        sizes: Desired number of pods of each ReplicaSet, the new one last; empty for a StatefulSet.
        stage: Index of the step of a canary; 0 for others.
        placed: Nodes with pods, sorted by name.
        pending: Kinds of the pods without a node, sorted.
        starting: Kinds of the pods that have a node and are not ready yet, sorted.
        removal: Pods that are being deleted; None if all are chosen.
    """

    sizes: tuple[int, ...]
    stage: int
    placed: tuple[tuple[str, NodePods], ...]
    pending: NodePods
    starting: NodePods
    removal: OpenRemoval | None = None

    def list_kinds(self) -> Iterator[int]:
        """Yield the kind of each pod."""
        yield from self.pending
        for _, pods in self.placed:
            yield from pods

    def create(self, kinds: Iterable[int]) -> "RolloutState":
        """Return the state with more pods without a node."""
        return replace(self, pending=tuple(sorted((*self.pending, *kinds))))

    def bind(self, kind: int, node: str) -> "RolloutState":
        """Return the state with a pending pod on a node, where it starts."""
        nodes = dict(self.placed)
        nodes[node] = tuple(sorted((*nodes.get(node, ()), kind)))
        return replace(
            self,
            placed=tuple(sorted(nodes.items())),
            pending=without(self.pending, kind),
            starting=tuple(sorted((*self.starting, kind))),
        )

    def start(self, kind: int) -> "RolloutState":
        """Return the state with one more ready pod."""
        return replace(self, starting=without(self.starting, kind))

    def delete(self, kind: int, node: str) -> "RolloutState":
        """Return the state without a pod; ``node`` is empty for a pending one."""
        if not node:
            return replace(self, pending=without(self.pending, kind))
        nodes = dict(self.placed)
        nodes[node] = without(nodes[node], kind)
        starting = self.starting
        return replace(
            self,
            placed=tuple((name, pods) for name, pods in nodes.items() if pods),
            starting=without(starting, kind) if kind in starting else starting,
        )


def without(kinds: NodePods, kind: int) -> NodePods:
    """Return the kinds without one pod."""
    at = kinds.index(kind)
    return (*kinds[:at], *kinds[at + 1 :])
