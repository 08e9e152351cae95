"""
Candidate changes of topology keys that are on no node, and resemble one that is.

``correct_keys`` yields them. The key that one was probably meant to be is that of TSC103.
"""

from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace

from webhook.explain.keynames import KeyNames
from webhook.explain.remedies import Edits, alone_and_together
from webhook.explain.scenario import ConstraintEdit, Scenario, ScenarioEdit
from webhook.policy.advice.nearestkey import nearest_key
from webhook.policy.placement.place import PodPlacement


class CorrectKey(ConstraintEdit, frozen=True):
    """Replace the topology key of a hard constraint by a label key of nodes, ``after``."""

    after: str

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        return f"set topologyKey of {self.name_constraint(names)} to {self.after}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit; defaults of a profile over the same key are then not added."""
        key, spreads = self.after, scenario.spreads
        if self.index not in spreads.added:
            spreads = spreads.drop_added(key)
        hard = tuple(
            replace(one, topology_key=key, constraint=replace(one.constraint, topology_key=key))
            if one.index == self.index
            else one
            for one in spreads.hard
        )
        return replace(scenario, spreads=replace(spreads, hard=hard))


def correct_keys(scenario: Scenario, _: PodPlacement) -> Iterator[Edits]:
    """
    Correct the key of one hard constraint, then those of all.

    No two hard constraints get the same key, since kube-apiserver refuses such a pod. Defaults of a
    profile do not count for the pod's own: they are not added over a key that one of these has.
    """
    hard, added = scenario.spreads.hard, scenario.spreads.added
    nodes = scenario.topology.nodes
    used = {spread.topology_key for spread in hard}
    own = {spread.topology_key for spread in hard if spread.index not in added}
    absent = [
        spread for spread in hard if all(spread.topology_key not in one.labels for one in nodes)
    ]
    if not absent:
        return
    known = dict.fromkeys(chain.from_iterable(node.labels for node in nodes))
    edits: list[ScenarioEdit] = []
    for spread in absent:
        meant = nearest_key(spread.topology_key, known)
        if meant and meant not in (used if spread.index in added else own):
            used.add(meant)
            own.add(meant)
            edits.append(CorrectKey(spread.index, spread.topology_key, meant))
    yield from alone_and_together(edits)
