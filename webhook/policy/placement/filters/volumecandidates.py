"""
The volumes that the scheduler may bind to a claim: ``VolumeCandidates``.

Source: component-helpers storage/volume/pv_helpers.go ``FindMatchingVolume``.
"""

from collections.abc import Iterable, Iterator

from webhook.policy.model import Node
from webhook.policy.placement.filters.storage import Claim, Volume
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm, term_matches
from webhook.policy.selectors import IN, matches


def can_access(terms: tuple[NodeSelectorTerm, ...] | None, node: Node) -> bool:
    """Whether a node can access a volume with these terms."""
    return terms is None or any(term_matches(term, node) for term in terms)


class VolumeCandidates:
    """
    The volumes that a claim may be bound to, the smallest first.

    Local volumes, each on one node, are indexed by the label that their node has, so that a node
    costs as much as it has volumes.
    """

    def __init__(self, claim: Claim, volumes: Iterable[Volume]) -> None:
        fitting = [volume for volume in volumes if _fits(claim, volume)]
        free = (volume for volume in fitting if _is_free(volume, claim))
        smallest = sorted(free, key=lambda volume: volume.traits.size)
        reserved = [volume for volume in fitting if volume.claim is not None]
        self._volumes = [(one.name, one.terms) for one in reserved[:1] or smallest]
        self._anywhere: list[int] = []
        self._by_label: dict[tuple[str, str], list[int]] = {}
        for index, (_, terms) in enumerate(self._volumes):
            labels = _required_labels(terms)
            for label in labels:
                self._by_label.setdefault(label, []).append(index)
            if not labels:
                self._anywhere.append(index)
        self._keys = frozenset(key for key, _ in self._by_label)

    def find(self, node: Node) -> Iterator[str]:
        """Yield the names of the volumes that a node can access, the smallest first."""
        labels = ((key, node.labels.get(key, "")) for key in self._keys)
        found = {index for label in labels for index in self._by_label.get(label, ())}
        for index in sorted(found.union(self._anywhere)):
            name, terms = self._volumes[index]
            if can_access(terms, node):
                yield name


def _required_labels(terms: tuple[NodeSelectorTerm, ...] | None) -> list[tuple[str, str]]:
    """List labels of which a node must have one; empty if there are none so simple."""
    if terms is None or len(terms) != 1:
        return []
    expressions = (one for one in terms[0].match_expressions or () if one.operator == IN)
    first = next(expressions, None)
    return [(first.key, value) for value in first.values] if first else []


def _fits(claim: Claim, volume: Volume) -> bool:
    """Whether a claim may be bound to a volume that is not reserved for another claim."""
    wanted, traits = claim.traits, volume.traits
    return (
        traits.class_name == wanted.class_name
        and traits.size >= wanted.size
        and traits.mode == wanted.mode
        and traits.attributes_class == wanted.attributes_class
        and not volume.is_terminating
        and _is_open(volume, claim)
    )


def _is_open(volume: Volume, claim: Claim) -> bool:
    """
    Whether a volume is reserved for this claim, or for none.

    Source: pv_helpers.go ``IsVolumeBoundToClaim``.
    """
    if volume.claim is None:
        return True
    namespace, name, uid = volume.claim
    return (namespace, name) == (claim.namespace, claim.name) and uid in ("", claim.uid)


def _is_free(volume: Volume, claim: Claim) -> bool:
    return (
        volume.is_available
        and (claim.selector is None or matches(claim.selector, volume.labels))
        and claim.traits.access_modes <= volume.traits.access_modes
    )
