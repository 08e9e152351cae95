"""
Pods that are being deleted, and that have ended when a new pod is placed: ``EndingPods``.

A pod that is being deleted keeps its resources, ports and anti-affinity until it has ended. Some
controllers create no pod before that, and a what-if supposes it where nothing delays it.
"""

from collections.abc import Iterator, Sequence

import msgspec

from webhook.policy.advice.findings import join_names

MOST_POD_NAMES = 5  # of pods in a sentence


class EndingPods(msgspec.Struct, frozen=True):
    """
    The names of these pods.

    Attributes:
        awaited: Pods whose end the controller awaits before it creates others in their place.
        stuck: Those of them on nodes that are not ready.
        simulated: Other pods, which a what-if supposes to have ended.
        enough: Number of awaited pods that have ended when the next one is created; 0 for all.
    """

    awaited: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    simulated: tuple[str, ...] = ()
    enough: int = 0

    def describe(self, sentence: str) -> str:
        """Put the pods that the next one awaits before the sentence about its placement."""
        if not self.awaited:
            return sentence
        names, verb, _ = _refer(self.awaited)
        some = 0 < self.enough < len(self.awaited)
        of, then = (f"{self.enough} of ", "when all have ended, it") if some else ("", "then it")
        return (
            f"is not created before the end of {of}{names}, which {verb} being deleted"
            f"{self._describe_stuck()}; {then} {sentence}"
        )

    def _describe_stuck(self) -> str:
        if not self.stuck:
            return ""
        where = _STUCK if len(self.stuck) == 1 else " on nodes that are not ready"
        if self.stuck == self.awaited:
            return where
        return f" ({join_names(self.stuck, most=MOST_POD_NAMES)}{where})"

    @property
    def notes(self) -> Iterator[str]:
        """What the pods mean for a what-if, in sentences."""
        if self.awaited:
            names, verb, its = _refer(self.awaited)
            yield f"{names} {verb} being deleted: no new pod takes {its} place before {its} end"
        if self.stuck:
            names, verb, its = _refer(self.stuck)
            yield f"{names} {verb} being deleted{_STUCK}: that may delay {its} end"
        if self.simulated:
            names, verb, its = _refer(self.simulated)
            yield f"{names} {verb} being deleted: {its} end is supposed to precede the simulation"


NONE_ENDING = EndingPods()

_STUCK = " on a node that is not ready"


def _refer(names: Sequence[str]) -> tuple[str, str, str]:
    """Join names, and return them with the verb and the possessive pronoun that follow."""
    joined = join_names(names, most=MOST_POD_NAMES)
    return (joined, "is", "its") if len(names) == 1 else (joined, "are", "their")
