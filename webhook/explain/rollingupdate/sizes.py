"""
How many pods each ReplicaSet shall have next, as the controllers of its workload decide.

A strategy is a value; its ``decide`` is one synchronization of the controller. Numbers alone are
decided here. Which pods are created and deleted is the subject of ``replicasets``.

Source: kubernetes pkg/controller/deployment/{rolling,recreate}.go; argo-rollouts
rollout/{canary,bluegreen,replicaset}.go, utils/replicaset/canary.go.
"""

from abc import abstractmethod
from collections.abc import Sequence

import msgspec

from webhook.explain.abstractstructs import AbstractStructMeta
from webhook.explain.runningupdate import shrink_old
from webhook.policy.rolloutlimits import PodLimits


class SetSizes(msgspec.Struct, frozen=True):
    """
    The ReplicaSets of a workload: old ones, the first created first, and the new one last.

    The stable one of an Argo Rollout is the last of the old ones, whenever it was created.

    Attributes:
        desired: Number of pods of each.
        available: Ready pods of each.
        stage: Index of the step of a canary; 0 for others.
    """

    desired: tuple[int, ...]
    available: tuple[int, ...]
    stage: int = 0

    @property
    def new(self) -> int:
        """Desired number of new pods."""
        return self.desired[-1]

    @property
    def old(self) -> tuple[int, ...]:
        """Desired numbers of old pods."""
        return self.desired[:-1]


class RolloutStrategy(msgspec.Struct, frozen=True, metaclass=AbstractStructMeta):
    """How a controller replaces the pods of a workload; ``replicas`` is their desired number."""

    replicas: int

    @abstractmethod
    def decide(self, sizes: SetSizes) -> SetSizes:
        """Decide the next sizes and stage; the same ones if there is nothing to do now."""

    @abstractmethod
    def __str__(self) -> str:
        """Describe the strategy, as ``maxSurge 1, maxUnavailable 0``."""

    def is_finished(self, sizes: SetSizes) -> bool:
        """Whether all replicas are new and available, and no other pod is left."""
        goal = (*(0 for _ in sizes.old), self.replicas)
        return sizes.desired == goal and sizes.available[-1] >= self.replicas


class Recreate(RolloutStrategy, frozen=True):
    """Delete all old pods, and then create the new ones."""

    def __str__(self) -> str:
        return "Recreate"

    def decide(self, sizes: SetSizes) -> SetSizes:
        """Source: recreate.go ``rolloutRecreate``."""
        goal = 0 if any(sizes.old) else self.replicas
        return msgspec.structs.replace(sizes, desired=(*(0 for _ in sizes.old), goal))


class RollingUpdate(RolloutStrategy, frozen=True):
    """Create new pods and delete old ones in turn, within limits."""

    limits: PodLimits

    def __str__(self) -> str:
        return str(self.limits)

    def decide(self, sizes: SetSizes) -> SetSizes:
        """Source: rolling.go ``rolloutRolling``."""
        grown = self._grow(sizes)
        if grown != sizes.new:
            return msgspec.structs.replace(sizes, desired=(*sizes.old, grown))
        return msgspec.structs.replace(sizes, desired=(*self._shrink(sizes), sizes.new))

    def _grow(self, sizes: SetSizes) -> int:
        """Source: deployment_util.go ``NewRSNewReplicas``."""
        room = self.replicas + self.limits.surge - sum(sizes.desired)
        return sizes.new + max(0, min(room, self.replicas - sizes.new))

    def _shrink(self, sizes: SetSizes) -> Sequence[int]:
        least = self.replicas - self.limits.unavailable
        *ready, new_ready = sizes.available
        return shrink_old(sizes.old, ready, (sizes.new, new_ready), least)


class BlueGreen(RolloutStrategy, frozen=True):
    """
    Create all new pods beside the old ones, and delete these once all new ones are available.

    Attributes:
        deletes_previews: Whether only the last of the old ReplicaSets waits for that, as the stable
            and active one. The pods of others are deleted before, after a delay.
    """

    deletes_previews: bool = False

    def __str__(self) -> str:
        return "blueGreen"

    def decide(self, sizes: SetSizes) -> SetSizes:
        """
        Decide on the new ReplicaSet first, then on previews before it, and on the stable one last.

        Source: bluegreen.go ``reconcileBlueGreenReplicaSets``, ``reconcileBlueGreenPause``,
        ``scaleDownOldReplicaSetsForBlueGreen``.
        """
        if sizes.new != self.replicas:
            return msgspec.structs.replace(sizes, desired=(*sizes.old, self.replicas))
        if self.deletes_previews and any(sizes.old[:-1]):
            previews = (0 for _ in sizes.old[:-1])
            return msgspec.structs.replace(sizes, desired=(*previews, *sizes.desired[-2:]))
        if sizes.available[-1] < self.replicas:
            return sizes
        return msgspec.structs.replace(sizes, desired=(*(0 for _ in sizes.old), sizes.new))
