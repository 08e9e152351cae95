"""
Edits of a pod: changes that its author could make, each with its sentence.

An edit turns a scenario into another one. Whether that helps is decided in ``changes``.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from functools import reduce

import msgspec
from msgspec.structs import replace

from webhook.policy.explain.scenario import Scenario, short_key
from webhook.policy.model import SCHEDULE_ANYWAY, Taint
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.taints import Toleration, render_taint


class _AbstractStructMeta(msgspec.StructMeta, ABCMeta):
    """Metaclass of structs with abstract methods."""


class ScenarioEdit(
    msgspec.Struct,
    frozen=True,
    rename="camel",
    tag_field="edit",
    tag=lambda name: name[0].lower() + name[1:],
    metaclass=_AbstractStructMeta,
):
    """One change of a scenario."""

    @abstractmethod
    def __str__(self) -> str:
        """Describe the edit."""

    @abstractmethod
    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the edit applied."""


class ConstraintEdit(ScenarioEdit, frozen=True):
    """An edit of one constraint; ``index`` is its position in the list, from 0."""

    index: int
    topology_key: str

    @property
    def constraint(self) -> str:
        """Name the constraint, as ``constraint 0 (zone)``."""
        return f"constraint {self.index} ({short_key(self.topology_key)})"


class RaiseMaxSkew(ConstraintEdit, frozen=True):
    """Raise the maxSkew of a constraint."""

    before: int
    after: int

    def __str__(self) -> str:
        return f"raise maxSkew of {self.constraint} from {self.before} to {self.after}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        return _with_spread(scenario, self.index, max_skew=self.after)


class LowerMinDomains(ConstraintEdit, frozen=True):
    """Lower the minDomains of a constraint."""

    before: int
    after: int

    def __str__(self) -> str:
        return f"drop minDomains of {self.constraint} from {self.before} to {self.after}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        return _with_spread(scenario, self.index, min_domains=self.after)


class Soften(ConstraintEdit, frozen=True):
    """Make a hard constraint soft."""

    def __str__(self) -> str:
        return f"make {self.constraint} ScheduleAnyway"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit; minDomains has no effect on a soft constraint."""
        spreads = scenario.spreads
        softened = tuple(
            replace(
                spread,
                min_domains=1,
                constraint=replace(
                    spread.constraint, when_unsatisfiable=SCHEDULE_ANYWAY, min_domains=None
                ),
            )
            for spread in spreads.hard
            if spread.index == self.index
        )
        changed = replace(
            spreads,
            hard=tuple(spread for spread in spreads.hard if spread.index != self.index),
            soft=tuple(sorted((*spreads.soft, *softened), key=lambda spread: spread.index)),
        )
        return replace(scenario, spreads=changed)


class Tolerate(ScenarioEdit, frozen=True):
    """Let the pod tolerate a taint."""

    taint: Taint

    def __str__(self) -> str:
        return f"tolerate taint {render_taint(self.taint)}"

    @property
    def toleration(self) -> Toleration:
        """The toleration to add to the pod."""
        taint = self.taint
        return Toleration(taint.key, "Equal", taint.value, taint.effect)

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        demands = scenario.pod.demands
        tolerations = (*(demands.tolerations or ()), self.toleration)
        return _with_demands(scenario, replace(demands, tolerations=tolerations))


class DropSelector(ScenarioEdit, frozen=True):
    """Remove a label from the pod's nodeSelector."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"take {self.key}={self.value} out of nodeSelector"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        demands = scenario.pod.demands
        pairs = tuple(pair for pair in demands.pairs if pair != (self.key, self.value))
        return _with_demands(scenario, replace(demands, pairs=pairs))


class DropAffinity(ScenarioEdit, frozen=True):
    """Remove the pod's required node affinity."""

    def __str__(self) -> str:
        return "take the required node affinity out of the pod"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        return _with_demands(scenario, replace(scenario.pod.demands, terms=None))


def apply_all(edits: Iterable[ScenarioEdit], scenario: Scenario) -> Scenario:
    """Return the scenario with all edits applied, in order."""
    return reduce(lambda edited, edit: edit.apply(edited), edits, scenario)


def _with_spread(scenario: Scenario, index: int, **changes: int) -> Scenario:
    hard = tuple(
        replace(spread, **changes) if spread.index == index else spread
        for spread in scenario.spreads.hard
    )
    return replace(scenario, spreads=replace(scenario.spreads, hard=hard))


def _with_demands(scenario: Scenario, demands: Demands) -> Scenario:
    return replace(scenario, pod=replace(scenario.pod, demands=demands))
