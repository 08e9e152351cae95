"""
Candidate changes that let a hard constraint reject no node: ``soften`` yields them.

kube-apiserver refuses two constraints with the same topologyKey and whenUnsatisfiable (TSC004), so
a constraint beside a soft one over the same key is removed.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from webhook.explain.keynames import KeyNames
from webhook.explain.remedies import Edits, alone_and_together
from webhook.explain.scenario import ConstraintEdit, Scenario, ScenarioEdit
from webhook.policy.advice.repeats import find_actions
from webhook.policy.model import SCHEDULE_ANYWAY
from webhook.policy.placement.place import PodPlacement


class Soften(ConstraintEdit, frozen=True):
    """Make a hard constraint soft."""

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        return f"make {self.name_constraint(names)} ScheduleAnyway"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit; minDomains has no effect on a soft constraint."""
        hard = {spread.index: spread for spread in scenario.spreads.hard}
        spread = hard.pop(self.index)
        written = replace(spread.constraint, when_unsatisfiable=SCHEDULE_ANYWAY, min_domains=None)
        softened = replace(spread, min_domains=1, constraint=written)
        soft = sorted((*scenario.spreads.soft, softened), key=lambda spread: spread.index)
        changed = replace(scenario.spreads, hard=tuple(hard.values()), soft=tuple(soft))
        return replace(scenario, spreads=changed)


class DropConstraint(ConstraintEdit, frozen=True):
    """Remove a hard constraint; ``soft`` is the index of the soft one over the same key."""

    soft: int

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        constraint = self.name_constraint(names)
        return f"remove {constraint}; constraint {self.soft} is its {SCHEDULE_ANYWAY}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit; the other constraints keep their indexes."""
        spreads = scenario.spreads
        hard = tuple(spread for spread in spreads.hard if spread.index != self.index)
        return replace(scenario, spreads=replace(spreads, hard=hard))


def soften(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Make hard constraints soft, or remove those that a soft one would repeat: one, then all."""
    entries = [(spread.index, spread.constraint) for spread in scenario.spreads.by_index]
    edits: list[ScenarioEdit] = []
    for tally in placement.tallies.hard:
        index, key = tally.spread.index, tally.spread.topology_key
        soft = find_actions(key, entries).get(SCHEDULE_ANYWAY)
        edits.append(Soften(index, key) if soft is None else DropConstraint(index, key, soft))
    yield from alone_and_together(edits)
