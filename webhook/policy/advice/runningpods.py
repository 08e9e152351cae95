"""Running pods of a workload, in groups of pods that are alike."""

from collections.abc import Mapping

import msgspec

from webhook.policy.model import PodTemplate


class RunningPods(msgspec.Struct, frozen=True):
    """
    Running or pending pods of a workload that are alike.

    Attributes:
        pod: One of them; the others have the same labels, constraints and owner.
        nodes: Node name -> pods on it, at least 1; pods without a node are under ``""``.
        replaced: Whether a rollout that runs is about to delete them.
        unordered: Whether a rollout runs of which the newest revision is not known, so that it may
            be about to delete them.
        awaits_spread: Whether kube-scheduler finds no node for them, also by their constraints.
    """

    pod: PodTemplate
    nodes: Mapping[str, int]
    replaced: bool = False
    unordered: bool = False
    awaits_spread: bool = False

    @property
    def number(self) -> int:
        """Number of pods; at least 1."""
        return sum(self.nodes.values())

    @property
    def placed(self) -> int:
        """Number of pods that have a node."""
        return self.number - self.nodes.get("", 0)
