"""
The selector of a pod's default constraints, derived from what owns the pod.

That is its Services and its controller. It selects exactly what kube-scheduler's own would, at the
moment of creation.

Source: kubernetes pkg/scheduler/framework/plugins/helper/spread.go ``DefaultSelector``.
"""

from collections.abc import Mapping

import msgspec

from webhook.policy.facts import Facts
from webhook.policy.model import LabelSelector, LabelSelectorRequirement, PodTemplate
from webhook.policy.selectors import IN

_REPLICATION_CONTROLLER = ("v1", "ReplicationController")
"""API version and kind of the one owner whose selector is a map, as that of a Service is."""


SMALL = 32
"""
Pairs and expressions of a selector that is remembered. A tenant may have a pod that many Services
select, and dry-run it with ever other labels: each time another selector.
"""

MOST_SOURCES = 32
"""Objects that are named as sources; an annotation with thousands would make the pod invalid."""


class DerivedSelector(msgspec.Struct, frozen=True, gc=False):
    """
    A derived selector, never an empty one; hashable, so that it can be remembered by.

    Attributes:
        pairs: What must stand among a pod's labels, sorted by key, each key once.
        expressions: Further conditions, without repeats.
        sources: The objects that it came from, as ``Service/web``; Services first, by name; at most
            ``MOST_SOURCES``, then their number.
    """

    pairs: tuple[tuple[str, str], ...]
    expressions: tuple[LabelSelectorRequirement, ...]
    sources: tuple[str, ...]

    @property
    def is_small(self) -> bool:
        """Whether it is worth remembering: the selectors of real pods are."""
        return len(self.pairs) + len(self.expressions) <= SMALL

    @property
    def selector(self) -> LabelSelector:
        """The selector as it stands in a constraint."""
        return LabelSelector(dict(self.pairs), self.expressions)

    @property
    def keys(self) -> frozenset[str]:
        """The keys that the selector says anything about."""
        keys = {requirement.key for requirement in self.expressions}
        return frozenset(keys.union(key for key, _ in self.pairs))


def derive_selector(pod: PodTemplate, namespace: str, facts: Facts) -> DerivedSelector | None:
    """
    Gather the selector of whatever owns a pod.

    Args:
        pod: The pod; its labels decide which Services own it, its controller need not select it.
        namespace: Where the pod is created.
        facts: The cluster as it is known.

    Returns:
        None if nothing was gathered: then the pod gets no defaults.
    """
    pairs: dict[str, str] = {}
    expressions: tuple[LabelSelectorRequirement, ...] = ()
    sources: list[str] = []
    for service in facts.services(namespace, pod.labels):
        if service.selector:
            pairs.update(service.selector)
            sources.append(f"Service/{service.name}")
    owner = pod.metadata.controller if pod.metadata else None
    owned = facts.owner_selector(namespace, owner) if owner else None
    if owner is not None and owned is not None:
        sources.append(f"{owner.kind}/{owner.name}")
        if (owner.api_version, owner.kind) != _REPLICATION_CONTROLLER:
            expressions = _anded(pairs, owned)
        pairs.update(owned.match_labels)  # of a ReplicationController: instead of the Services'
    if not pairs and not expressions:
        return None
    return DerivedSelector(tuple(sorted(pairs.items())), expressions, _shortened(sources))


def _shortened(sources: list[str]) -> tuple[str, ...]:
    left_out = len(sources) - MOST_SOURCES
    if left_out <= 0:
        return tuple(sources)
    return (*sources[:MOST_SOURCES], f"{left_out} more")


def _anded(pairs: Mapping[str, str], owned: LabelSelector) -> tuple[LabelSelectorRequirement, ...]:
    """
    What an owner's selector adds besides its own pairs.

    A pair of Services that cannot hold together with the owner's must hold nevertheless: the
    selector is then not empty and matches nothing, as upstream's.
    """
    wanted = owned.match_labels
    contradicted = [key for key, value in pairs.items() if wanted.get(key, value) != value]
    if not contradicted and not owned.match_expressions:
        return ()
    both = (LabelSelectorRequirement(key, IN, (pairs[key],)) for key in sorted(contradicted))
    return tuple(dict.fromkeys((*both, *owned.match_expressions)))
