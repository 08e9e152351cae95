"""
Corrections that wait to be written; use ``CorrectionTurns``.

Namespaces take turns, then the controllers in each: however many ranks of one tenant are wrong,
those of another wait for one correction of each namespace at most.
"""

from collections import OrderedDict, deque
from collections.abc import Collection, Iterable
from typing import NamedTuple, TypeAlias

from webhook.cluster.rankledger import Controller
from webhook.policy.scaledown.corrections import Correction

_Plans: TypeAlias = OrderedDict[Controller, deque[Correction]]


class Turn(NamedTuple):
    """The next correction, of a pod of a controller."""

    controller: Controller
    correction: Correction


class CorrectionTurns:
    """The planned corrections of controllers; no plan is empty."""

    def __init__(self) -> None:
        """Start with no correction."""
        self._namespaces: OrderedDict[str, _Plans] = OrderedDict()  # the next one first

    def next_turn(self) -> Turn | None:
        """Return the next correction, which stays until ``advance``; None without one."""
        if not self._namespaces:
            return None
        plans = next(iter(self._namespaces.values()))
        controller, corrections = next(iter(plans.items()))
        return Turn(controller, corrections[0])

    def advance(self) -> bool:
        """
        Remove the next correction, and let the others have their turns.

        Returns:
            Whether it was the last one of its controller.

        Raises:
            KeyError: There is none.
        """
        namespace, plans = self._namespaces.popitem(last=False)
        controller, corrections = plans.popitem(last=False)
        corrections.popleft()
        if corrections:
            plans[controller] = corrections
        if plans:
            self._namespaces[namespace] = plans
        return not corrections

    def replace(self, controller: Controller, corrections: Iterable[Correction]) -> None:
        """Replace the plan of a controller, which keeps its turn; without corrections, drop it."""
        plan = deque(corrections)
        plans = self._namespaces.setdefault(controller.namespace, OrderedDict())
        if plan:
            plans[controller] = plan
        else:
            plans.pop(controller, None)
        if not plans:
            del self._namespaces[controller.namespace]

    def clear(self) -> Collection[Controller]:
        """Drop all plans, and return their controllers."""
        controllers = [controller for plans in self._namespaces.values() for controller in plans]
        self._namespaces.clear()
        return controllers
