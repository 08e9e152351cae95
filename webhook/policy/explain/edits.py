"""
Things that an author could change in a pod, each with its sentence.

An edit makes another situation of a situation. It says what to do, never whether that helps.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from functools import reduce

import msgspec
from msgspec.structs import replace

from webhook.policy.explain.scenario import Scenario, short_key
from webhook.policy.model import SCHEDULE_ANYWAY, Taint
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.taints import Toleration, render_taint


def _tag(name: str) -> str:
    return name[0].lower() + name[1:]


class _AbstractStructMeta(msgspec.StructMeta, ABCMeta):
    """Of structs with methods that each of their kinds has to have."""


class ScenarioEdit(
    msgspec.Struct,
    frozen=True,
    rename="camel",
    tag_field="edit",
    tag=_tag,
    metaclass=_AbstractStructMeta,
):
    """One thing to change."""

    @abstractmethod
    def __str__(self) -> str:
        """Say what to do."""

    @abstractmethod
    def apply(self, situation: Scenario) -> Scenario:
        """Make the situation in which it is done."""


class RaiseMaxSkew(ScenarioEdit, frozen=True):
    """Let a constraint have a greater maxSkew; ``index`` is its place in the list, from 0."""

    index: int
    topology_key: str
    before: int
    after: int

    def __str__(self) -> str:
        """Say what to do."""
        name = short_key(self.topology_key)
        return (
            f"raise maxSkew of constraint {self.index} ({name}) from {self.before} to {self.after}"
        )

    def apply(self, situation: Scenario) -> Scenario:
        """Do it."""
        return _with_spread(situation, self.index, max_skew=self.after)


class LowerMinDomains(ScenarioEdit, frozen=True):
    """Let a constraint have a smaller minDomains; ``index`` is its place in the list, from 0."""

    index: int
    topology_key: str
    before: int
    after: int

    def __str__(self) -> str:
        """Say what to do."""
        name = short_key(self.topology_key)
        return (
            f"drop minDomains of constraint {self.index} ({name}) from {self.before} "
            f"to {self.after}"
        )

    def apply(self, situation: Scenario) -> Scenario:
        """Do it."""
        return _with_spread(situation, self.index, min_domains=self.after)


class Soften(ScenarioEdit, frozen=True):
    """Make a constraint a wish; ``index`` is its place in the list, from 0."""

    index: int
    topology_key: str

    def __str__(self) -> str:
        """Say what to do."""
        name = short_key(self.topology_key)
        return f"make constraint {self.index} ({name}) ScheduleAnyway"

    def apply(self, situation: Scenario) -> Scenario:
        """Do it; minDomains means nothing for a wish."""
        spreads = situation.spreads
        softened = tuple(
            replace(
                each,
                min_domains=1,
                constraint=replace(
                    each.constraint, when_unsatisfiable=SCHEDULE_ANYWAY, min_domains=None
                ),
            )
            for each in spreads.hard
            if each.index == self.index
        )
        changed = replace(
            spreads,
            hard=tuple(each for each in spreads.hard if each.index != self.index),
            soft=tuple(sorted((*spreads.soft, *softened), key=lambda each: each.index)),
        )
        return replace(situation, spreads=changed)


class Tolerate(ScenarioEdit, frozen=True):
    """Let the pod tolerate a taint."""

    taint: Taint

    def __str__(self) -> str:
        """Say what to do."""
        return f"tolerate taint {render_taint(self.taint)}"

    @property
    def toleration(self) -> Toleration:
        """What to write among the pod's tolerations."""
        taint = self.taint
        return Toleration(taint.key, "Equal", taint.value, taint.effect)

    def apply(self, situation: Scenario) -> Scenario:
        """Do it."""
        demands = situation.pod.demands
        tolerations = (*(demands.tolerations or ()), self.toleration)
        return _with_demands(situation, replace(demands, tolerations=tolerations))


class DropSelector(ScenarioEdit, frozen=True):
    """Take a label out of the pod's nodeSelector."""

    key: str
    value: str

    def __str__(self) -> str:
        """Say what to do."""
        return f"take {self.key}={self.value} out of nodeSelector"

    def apply(self, situation: Scenario) -> Scenario:
        """Do it."""
        demands = situation.pod.demands
        pairs = tuple(pair for pair in demands.pairs if pair != (self.key, self.value))
        return _with_demands(situation, replace(demands, pairs=pairs))


class DropAffinity(ScenarioEdit, frozen=True):
    """Take the required node affinity out of the pod."""

    def __str__(self) -> str:
        """Say what to do."""
        return "take the required node affinity out of the pod"

    def apply(self, situation: Scenario) -> Scenario:
        """Do it."""
        return _with_demands(situation, replace(situation.pod.demands, terms=None))


def apply_all(edits: Iterable[ScenarioEdit], situation: Scenario) -> Scenario:
    """Make the situation in which all of these are done, in order."""
    return reduce(lambda made, edit: edit.apply(made), edits, situation)


def _with_spread(situation: Scenario, index: int, **changes: int) -> Scenario:
    """Change a hard constraint, as it is acted on."""

    def changed(spread: SpreadConstraint) -> SpreadConstraint:
        return replace(spread, **changes) if spread.index == index else spread

    hard = tuple(map(changed, situation.spreads.hard))
    return replace(situation, spreads=replace(situation.spreads, hard=hard))


def _with_demands(situation: Scenario, demands: Demands) -> Scenario:
    return replace(situation, pod=replace(situation.pod, demands=demands))
