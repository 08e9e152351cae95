"""What an admin could change in the nodes, in the order of trying it; and what takes both."""

from collections.abc import Iterable, Iterator, Mapping

from webhook.policy.defaulting.profiles import HOSTNAME
from webhook.policy.explain.edits import (
    DropAffinity,
    DropSelector,
    ScenarioEdit,
    Tolerate,
    apply_all,
)
from webhook.policy.explain.nodeedits import AddNodes, LabelNode, Uncordon
from webhook.policy.explain.remedies import (
    Edits,
    alone_and_together,
    raises_for,
    untolerated_taints,
)
from webhook.policy.explain.scenario import Scenario, short_key
from webhook.policy.model import Node
from webhook.policy.placement.nodeaffinity import term_matches
from webhook.policy.placement.nodes import RejectionReason
from webhook.policy.placement.place import Placement
from webhook.policy.placement.taints import UNSCHEDULABLE
from webhook.policy.placement.tallies import PodTally

MOST_TOGETHER = 16  # nodes that are changed together; more would be another cluster


def uncordon(situation: Scenario, placement: Placement) -> Iterator[Edits]:
    """Uncordon a node, one of each sort; then all of those."""
    cordoned = (
        node
        for node in situation.topology.nodes
        if (found := placement.refused.get(node.name)) and found.reason is RejectionReason.CORDON
    )
    chosen = _one_of_each_sort(cordoned, placement)
    yield from alone_and_together([Uncordon(node.name) for node in chosen[:MOST_TOGETHER]])


def label_nodes(situation: Scenario, placement: Placement) -> Iterator[Edits]:
    """Label a node that lacks keys, as the emptiest domain or a new one; then several, as new."""
    hard = placement.tallies.hard
    keys = tuple(dict.fromkeys(tally.spread.topology_key for tally in hard))
    lacking = [
        node
        for node in situation.topology.nodes
        if node.name not in placement.refused and any(key not in node.labels for key in keys)
    ]
    for node in _one_of_each_sort(lacking, placement):
        missing = [key for key in keys if key not in node.labels]
        for values in (_emptiest(hard), {}):
            labels = {key: values.get(key) or _new_value(key, 1) for key in missing}
            yield (LabelNode(node.name, labels),)
    several: list[ScenarioEdit] = []
    for number, node in enumerate(lacking[:MOST_TOGETHER], start=1):
        labels = {key: _new_value(key, number) for key in keys if key not in node.labels}
        several.append(LabelNode(node.name, labels))
        if number > 1:
            yield tuple(several)


def add_nodes(situation: Scenario, placement: Placement) -> Iterator[Edits]:
    """Add a node: in the emptiest domains, or in new ones; then several, each in new ones."""
    hard = placement.tallies.hard
    demanded = dict(situation.pod.demands.pairs)
    keys = [key for tally in hard if (key := tally.spread.topology_key) not in demanded]
    keys = [key for key in dict.fromkeys(keys) if key != HOSTNAME]
    emptiest = _emptiest(hard)
    yield (AddNodes(demanded | {key: emptiest.get(key) or _new_value(key, 1) for key in keys}),)
    known = {tuple(node.labels.get(key, "") for key in keys) for node in situation.topology.nodes}
    for values in sorted(known, key=lambda each: (-_fitting(keys, each, hard), each)):
        fitting = dict(zip(keys, values, strict=True))
        yield (AddNodes({**demanded, **_refreshed(fitting, hard)}),)
    several = [
        AddNodes(demanded | {key: _new_value(key, number) for key in keys})
        for number in range(1, MOST_TOGETHER + 1)
    ]
    yield from (tuple(several[:number]) for number in range(1, len(several) + 1))


def combined(situation: Scenario, placement: Placement) -> Iterator[Edits]:
    """Do everything that one node asks for; nodes that ask for little first."""
    hard = placement.tallies.hard
    keys = tuple(dict.fromkeys(tally.spread.topology_key for tally in hard))
    chosen = _one_of_each_sort(situation.topology.nodes, placement)
    ways = [(_for_node(node, situation, keys, _emptiest(hard)), node) for node in chosen]
    for edits, node in sorted(ways, key=lambda way: len(way[0])):
        changed = apply_all(edits, situation)
        there = next(each for each in changed.topology.nodes if each.name == node.name)
        yield (*edits, *raises_for(there, changed.placement().tallies.hard))


def _for_node(
    node: Node, situation: Scenario, keys: Iterable[str], values: Mapping[str, str]
) -> Edits:
    demands = situation.pod.demands
    taints = untolerated_taints(node, situation)
    edits: list[ScenarioEdit] = []
    if node.unschedulable:
        edits.append(Uncordon(node.name))
        taints = tuple(taint for taint in taints if taint.key != UNSCHEDULABLE.key)
    edits += map(Tolerate, taints)
    edits += (
        DropSelector(key, value) for key, value in demands.pairs if node.labels.get(key) != value
    )
    if demands.terms is not None and not any(term_matches(term, node) for term in demands.terms):
        edits.append(DropAffinity())
    missing = {key: values.get(key) or _new_value(key, 1) for key in keys if key not in node.labels}
    if missing:
        edits.append(LabelNode(node.name, missing))
    return tuple(edits)


def _one_of_each_sort(nodes: Iterable[Node], placement: Placement) -> list[Node]:
    """Nodes that differ in more than their names, those with few counted pods first."""
    hard = placement.tallies.hard
    keys = [key for tally in hard if (key := tally.spread.topology_key) != HOSTNAME]
    sorts: dict[object, tuple[int, Node]] = {}
    for node in nodes:
        pods = sum(tally.by_node.get(node.name, 0) for tally in hard)
        values = tuple(node.labels.get(key) for key in keys)
        sort = (pods, values, node.taints, node.unschedulable, placement.refused.get(node.name))
        sorts.setdefault(sort, (pods, node))
    return [node for _, node in sorted(sorts.values(), key=lambda each: each[0])]


def _emptiest(hard: Iterable[PodTally]) -> dict[str, str]:
    """Topology key -> its domain with fewest pods; without keys that have no domain."""
    return {
        tally.spread.topology_key: min(sizes, key=lambda value: tally.pods.get(value, 0))
        for tally in hard
        if (sizes := tally.domains.sizes) and tally.spread.topology_key != HOSTNAME
    }


def _fitting(keys: Iterable[str], values: Iterable[str], hard: Iterable[PodTally]) -> int:
    """How many constraints would take the pod in these domains."""
    labels = dict(zip(keys, values, strict=True))
    return sum(
        tally.fits(value) for tally in hard if (value := labels.get(tally.spread.topology_key))
    )


def _refreshed(labels: Mapping[str, str], hard: Iterable[PodTally]) -> dict[str, str]:
    """Labels with a new value for every key whose value a constraint rejects."""
    rejected = {
        key for tally in hard if not tally.fits(labels.get(key := tally.spread.topology_key, ""))
    }
    return {
        key: _new_value(key, 1) if key in rejected or not value else value
        for key, value in labels.items()
    }


def _new_value(key: str, number: int) -> str:
    """A value that stands for one that no node has."""
    return f"new-{short_key(key).rpartition('/')[2]}-{number}"
