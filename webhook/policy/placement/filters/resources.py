"""
Resources in the units of the scheduler: ``Resources``.

Source: pkg/scheduler/framework/types.go ``Resource``.
"""

from collections.abc import Mapping

import msgspec


class Resources(msgspec.Struct, frozen=True, gc=False):
    """
    What a pod requests, or what a node has for pods.

    Attributes:
        milli_cpu: Thousandths of a CPU.
        memory: Bytes.
        ephemeral_storage: Bytes.
        pods: Number of pods that a node allows; 0 for a pod.
        scalars: Extended resources, huge pages and others -> whole units; never changed.
    """

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    pods: int = 0
    scalars: Mapping[str, int] = msgspec.field(default_factory=dict[str, int])

    @property
    def amounts(self) -> dict[str, int]:
        """The name of a resource -> its amount, without the number of pods."""
        amounts = {
            "cpu": self.milli_cpu,
            "memory": self.memory,
            "ephemeral-storage": self.ephemeral_storage,
        }
        return amounts | dict(sorted(self.scalars.items())) if self.scalars else amounts

    def plus(self, other: "Resources", times: int = 1) -> "Resources":
        """Add other resources some times; -1 subtracts them."""
        scalars = self.scalars
        if other.scalars:
            scalars = dict(scalars)
            for name, number in other.scalars.items():
                scalars[name] = scalars.get(name, 0) + times * number
        return Resources(
            self.milli_cpu + times * other.milli_cpu,
            self.memory + times * other.memory,
            self.ephemeral_storage + times * other.ephemeral_storage,
            self.pods,
            scalars,
        )


NO_RESOURCES = Resources()
