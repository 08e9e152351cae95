"""
The pods of a rolling update that runs: those that wait are placed beside the old ones.

``continue_update`` is the entry point. The controller removes an old pod only if enough others are
available, so that a new pod without a node keeps an old one. Pods that are placed get ready; one
that runs and is not ready stays so. Old pods that wait come last: they are removed first.

Source: kubernetes pkg/controller/deployment/rolling.go ``reconcileOldReplicaSets``.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.explain.newpods import ALIKE, NewPodPlacement, describe_choice, place_pods
from webhook.explain.removal import Surplus, WorkloadPods
from webhook.explain.removalorder import find_readiness, is_older
from webhook.explain.removedpods import remove_pods
from webhook.explain.runningupdate import RunningUpdate
from webhook.explain.scenario import Scenario
from webhook.policy.placement.census import ObservedPod


class ReplacedPods(NamedTuple):
    """
    What the controllers of a workload have done when they go no further.

    Attributes:
        surplus: The pods that are removed, and all notes.
        pending: Number of pods without a node.
        desired: Number of pods that the controllers want then.
    """

    surplus: Surplus
    placement: NewPodPlacement
    pending: int
    desired: int


class _SurgePods(msgspec.Struct, frozen=True):
    """
    The pods at a moment.

    Attributes:
        old: Old pods that run.
        old_waiting: Number of old ones that wait, as those whose nodes are lost.
        named: Those of them that exist without a node.
        new: Number of new pods, with those that wait.
        new_waiting: Number of new ones that wait.
        new_ready: Number of new ones that are ready.
    """

    old: tuple[ObservedPod, ...]
    old_waiting: int
    named: tuple[ObservedPod, ...]
    new: int
    new_waiting: int
    new_ready: int

    @property
    def desired(self) -> int:
        """Number of all pods."""
        return len(self.old) + self.old_waiting + self.new

    def count_removable(self, update: RunningUpdate, replicas: int) -> int:
        """Count the old pods that the controller removes now."""
        old = len(self.old) + self.old_waiting, sum(map(_is_ready, self.old))
        return update.count_removable(replicas, old, (self.new, self.new_ready))

    def place_new(self, number: int) -> "_SurgePods":
        """Return the pods after new ones were placed."""
        return replace(
            self, new_waiting=self.new_waiting - number, new_ready=self.new_ready + number
        )

    def remove_old(self, number: int, pods: WorkloadPods) -> tuple["_SurgePods", Surplus]:
        """Remove old pods, those without a node first."""
        gone = min(number, self.old_waiting)
        found = Surplus()
        if number > gone:
            found = pods.find_first_ranked(self.old, number - gone)
        names = {pod.metadata.name for pod in found.pods}
        left = replace(
            self,
            old=tuple(pod for pod in self.old if pod.metadata.name not in names),
            old_waiting=self.old_waiting - gone,
            named=self.named[gone:],
        )
        return left, Surplus((*self.named[:gone], *found.pods), found.notes)


def continue_update(
    scenario: Scenario,
    pods: WorkloadPods,
    update: RunningUpdate,
    lost: Collection[str],
    replicas: int,
) -> ReplacedPods:
    """
    Place the pods that wait, and remove old ones as far as the others are available.

    Args:
        scenario: The changed cluster.
        pods: Those before the change.
        lost: Names of nodes that the change removes; their pods wait.
        replicas: Desired number of pods.
    """
    done = _place_and_remove(scenario, pods, update, _observe(pods, lost), replicas)
    surge, end = done.surge, done.end
    waiting = surge.new_waiting + surge.old_waiting
    last = place_pods(end, waiting)
    notes = (
        *done.notes,
        *describe_choice(end, waiting, ALIKE, last.placed),
        *update.describe(replicas, surge.desired),
    )
    return ReplacedPods(
        Surplus(done.removed, tuple(dict.fromkeys(notes))),
        last._replace(placed=done.placed + last.placed),
        waiting - last.placed.total(),
        surge.desired,
    )


class _UpdateProgress(NamedTuple):
    """The pods and the cluster when the controller removes no further pod; and what it did."""

    surge: _SurgePods
    end: Scenario
    placed: Counter[str]
    removed: tuple[ObservedPod, ...]
    notes: tuple[str, ...]


def _place_and_remove(
    scenario: Scenario,
    pods: WorkloadPods,
    update: RunningUpdate,
    surge: _SurgePods,
    replicas: int,
) -> _UpdateProgress:
    """Place new pods and remove old ones in turn: each removal may make room for a new pod."""
    placed, removed, notes = Counter[str](), list[ObservedPod](), list[str]()
    while True:
        added = place_pods(scenario, surge.new_waiting)
        notes += describe_choice(scenario, surge.new_waiting, ALIKE, added.placed)
        placed += added.placed
        surge = surge.place_new(added.placed.total())
        number = surge.count_removable(update, replicas)
        if number <= 0:
            return _UpdateProgress(surge, added.end, placed, tuple(removed), tuple(notes))
        pods = pods.follow(added.placed, ())
        surge, gone = surge.remove_old(number, pods)
        pods = pods.follow({}, gone.pods)
        removed += gone.pods
        notes += gone.notes
        scenario = remove_pods(added.end, gone.pods, pods.placed)


def _observe(pods: WorkloadPods, lost: Collection[str]) -> _SurgePods:
    old = [pod for pod in pods.pods if is_older(pod, pods.newest)]
    new = [pod for pod in pods.pods if not is_older(pod, pods.newest)]
    old_running, new_running = _select_running(old, lost), _select_running(new, lost)
    return _SurgePods(
        old=old_running,
        old_waiting=len(old) - len(old_running),
        named=tuple(pod for pod in old if not pod.spec.node_name),
        new=len(new),
        new_waiting=len(new) - len(new_running),
        new_ready=sum(map(_is_ready, new_running)),
    )


def _select_running(pods: Sequence[ObservedPod], lost: Collection[str]) -> tuple[ObservedPod, ...]:
    return tuple(pod for pod in pods if pod.spec.node_name and pod.spec.node_name not in lost)


def _is_ready(pod: ObservedPod) -> bool:
    return find_readiness(pod) is not False
