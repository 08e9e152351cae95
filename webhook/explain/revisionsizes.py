"""
The ReplicaSets of a workload whose rollout waits, each with its revision and its size.

A missing pod belongs to the ReplicaSet that has fewer pods than replicas: ``list_missing``. Which
sizes the controllers choose is decided by the caller.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from webhook.explain.newpods import NewPod, PodSuccession
from webhook.policy.advice.findings import count_of


class RevisionSize(msgspec.Struct, frozen=True):
    """
    A ReplicaSet of a workload.

    Attributes:
        size: Desired number of its pods.
        pod: Its next pod.
    """

    name: str
    size: int
    pod: NewPod


def list_missing(sets: Sequence[RevisionSize], running: Mapping[str, int]) -> PodSuccession:
    """
    List the pods that ReplicaSets create, and those of the first one after them.

    Args:
        sets: At least one.
        running: Name of a ReplicaSet -> its pods that run.
    """
    missing = [one.pod for one in sets for _ in range(max(0, one.size - running.get(one.name, 0)))]

    def build(index: int) -> NewPod:
        return missing[index] if index < len(missing) else sets[0].pod

    # each ReplicaSet creates its pods, whether or not those of another one run
    return PodSuccession(build, is_parallel=True)


def describe_sizes(sets: Sequence[RevisionSize]) -> Iterator[str]:
    """Yield a note on the ReplicaSets that the pods belong to, if there are any."""
    if sets:
        sizes = ", ".join(f"{count_of(one.size, 'pod')} of {one.name}" for one in sets)
        yield f"the ReplicaSets keep their pod templates while the rollout waits: {sizes}"
