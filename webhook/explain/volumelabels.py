"""
Labels with which a new node can access the volumes of a pod: ``list_volume_labels``.

Only volumes that are bound require labels: by their node affinity, and by their own zone labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from types import MappingProxyType
from typing import TypeAlias

from webhook.explain.scenario import Scenario
from webhook.policy.model import HOSTNAME, REGION, ZONE, Node
from webhook.policy.placement.filters.storage import Volume
from webhook.policy.placement.filters.volumefilters import SUCCESSORS, read_zones
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.selectors import IN

MOST_CHOICES = 8  # labels to try; a regional volume is in two zones, rarely in three

_Choice: TypeAlias = Mapping[str, Sequence[str]]
"""Label key -> the values that a node may have, at least one."""

_Pairs: TypeAlias = tuple[tuple[str, Sequence[str]], ...]
"""The same, where a key may recur: then all of its values count together."""


def list_volume_labels(scenario: Scenario) -> Iterator[dict[str, str]]:
    """
    Yield labels that the bound volumes of the pod require together, at most ``MOST_CHOICES``.

    Operators other than In are left out: whether the labels suffice has to be tried.

    Yields:
        Empty labels alone if no volume requires any; nothing if no new node can have them, as for
        a local volume, whose node has its own hostname.
    """
    choices: list[_Choice] = [{}]
    for volume in _find_volumes(scenario):
        own = list(_list_choices(volume))
        joined = (_join(one, tuple(other.items())) for one in choices for other in own)
        choices = list(islice((one for one in joined if one is not None), MOST_CHOICES))
    labels = (
        dict(zip(choice, values, strict=True))
        for choice in choices
        if HOSTNAME not in choice
        for values in product(*choice.values())
    )
    nodes = scenario.topology.nodes
    complete = (_add_zones(one, nodes) for one in islice(labels, MOST_CHOICES))
    yield from (one for one in complete if one is not None)


def _add_zones(labels: dict[str, str], nodes: Sequence[Node]) -> dict[str, str] | None:
    """
    Add the well-known zone and region to those that a driver names with a key of its own.

    They are added unless a node has both labels with other values.

    Returns:
        None if the labels have other values than that.
    """
    complete = dict(labels)
    for key, value in labels.items():
        known = _WELL_KNOWN.get(key.rpartition("/")[2], key)
        both = [one.labels for one in nodes if key in one.labels and known in one.labels]
        is_same = "/" in key and all(one[key] == one[known] for one in both)
        if is_same and complete.setdefault(known, value) != value:
            return None
    return complete


_WELL_KNOWN = MappingProxyType({"zone": ZONE, "region": REGION})


def _find_volumes(scenario: Scenario) -> Iterator[Volume]:
    storage = scenario.cluster.storage
    for used in scenario.pod.volumes:
        claim = storage.claims.get((used.namespace, used.name)) if used.namespace else None
        volume = storage.volumes.get(claim.volume) if claim is not None else None
        if volume is not None:
            yield volume


def _list_choices(volume: Volume) -> Iterator[_Choice]:
    """List the choices of one volume: one for each term of its node affinity."""
    zones = [(SUCCESSORS.get(key, key), sorted(names)) for key, names in read_zones(volume)]
    terms = [()] if volume.terms is None else map(_list_pairs, volume.terms)
    for pairs in terms:
        choice = _join({}, (*pairs, *zones))
        if choice is not None:
            yield choice


def _list_pairs(term: NodeSelectorTerm) -> _Pairs:
    expressions = term.match_expressions or ()
    return tuple((one.key, one.values) for one in expressions if one.operator == IN)


def _join(choice: _Choice, added: _Pairs) -> _Choice | None:
    """Return what two choices allow together; None if a key has no value left."""
    joined = dict(choice)
    for key, values in added:
        joined[key] = [one for one in values if one in joined.get(key, values)]
    return joined if all(joined.values()) else None
