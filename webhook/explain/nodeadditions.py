"""Candidate additions of nodes, the smallest first: ``add_nodes``; ``changes`` tries them."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

from webhook.explain.nodeedits import AddNodes, resemble
from webhook.explain.remedies import (
    MOST_TOGETHER,
    Edits,
    find_emptiest,
    make_value,
    rejects_by_pods,
)
from webhook.explain.scenario import Scenario
from webhook.explain.usualnodes import find_usual_node
from webhook.explain.volumelabels import list_volume_labels
from webhook.policy.model import HOSTNAME
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.tallies import PodTally


def add_nodes(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """
    Add a node in the emptiest domains or in new ones; then several, all in new ones.

    The nodes have the labels that the pod and its bound volumes require. Where volumes leave a
    choice of labels, the first candidates of all choices come first.
    """
    own = dict(scenario.pod.demands.pairs)
    choices = [
        _add_labelled(scenario, placement, own | labels) for labels in list_volume_labels(scenario)
    ]
    for candidates in zip_longest(*choices):
        yield from (edits for edits in candidates if edits is not None)


def _add_labelled(
    scenario: Scenario, placement: PodPlacement, demanded: dict[str, str]
) -> Iterator[Edits]:
    hard = placement.tallies.hard
    avoided = _list_avoided_keys(scenario) if rejects_by_pods(placement) else ()
    used = (*(tally.spread.topology_key for tally in hard), *avoided)
    keys = [key for key in dict.fromkeys(used) if key != HOSTNAME and key not in demanded]
    like = find_usual_node(scenario)

    def add(labels: dict[str, str]) -> AddNodes:
        return resemble(AddNodes(labels), like, scenario)

    emptiest = find_emptiest(hard)
    yield (add(demanded | {key: emptiest.get(key) or make_value(key, 1) for key in keys}),)
    known = {tuple(node.labels.get(key, "") for key in keys) for node in scenario.topology.nodes}
    for values in sorted(known, key=lambda values: (-_count_fitting(keys, values, hard), values)):
        fitting = dict(zip(keys, values, strict=True))
        yield (add({**demanded, **_replace_rejected(fitting, hard)}),)
    several = tuple(
        add(demanded | {key: make_value(key, number) for key in keys})
        for number in range(1, MOST_TOGETHER + 1)
    )
    yield from (several[:number] for number in range(1, len(several) + 1))


def _list_avoided_keys(scenario: Scenario) -> Iterator[str]:
    """Yield the topology keys of the anti-affinity of the pod, and of pods that run."""
    pod = scenario.pod
    placed = (one.term for one in scenario.cluster.placed.anti_affinity(pod.namespace))
    yield from (term.topology_key for term in (*pod.anti_affinity, *placed))


def _count_fitting(keys: Iterable[str], values: Iterable[str], hard: Iterable[PodTally]) -> int:
    labels = dict(zip(keys, values, strict=True))
    return sum(
        tally.fits(value) for tally in hard if (value := labels.get(tally.spread.topology_key))
    )


def _replace_rejected(labels: Mapping[str, str], hard: Iterable[PodTally]) -> dict[str, str]:
    """Return the labels with a new value for every key whose value a constraint rejects."""
    rejected = {
        key for tally in hard if not tally.fits(labels.get(key := tally.spread.topology_key, ""))
    }
    return {
        key: make_value(key, 1) if key in rejected or not value else value
        for key, value in labels.items()
    }
