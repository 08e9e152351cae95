"""
The selector of a pod's default constraints, derived from its Services and its controller.

``derive_selector`` is the entry point. The selector selects exactly the pods that kube-scheduler's
own default selector would select when the pod is created, from ``derive_scheduler_selector``; it
also uses the selectors of configured custom controllers.

Source: kubernetes pkg/scheduler/framework/plugins/helper/spread.go ``DefaultSelector``.
"""

from collections.abc import Mapping

import msgspec

from webhook.policy.facts import Facts
from webhook.policy.kinds import BUILT_IN_OWNERS
from webhook.policy.model import (
    LabelSelector,
    LabelSelectorRequirement,
    OwnerReference,
    PodTemplate,
)
from webhook.policy.selectors import IN

_REPLICATION_CONTROLLER = ("v1", "ReplicationController")
"""The one owner whose selector is a map, like that of a Service."""

SCHEDULER_OWNERS = frozenset((row.api_version, row.kind) for row in BUILT_IN_OWNERS)
"""API versions and kinds of the controllers whose selectors kube-scheduler uses."""

SMALL = 32
"""
The most pairs and expressions of a selector whose injection is cached. Otherwise a tenant could
fill the cache with large selectors, by dry runs of a pod with many Services and changing labels.
"""

MOST_SOURCES = 32
"""The most sources in an annotation; thousands would make the annotation, and the pod, invalid."""


class DerivedSelector(msgspec.Struct, frozen=True, gc=False):
    """
    A derived selector, never empty; hashable, so that it can be a cache key.

    Attributes:
        pairs: The required labels, sorted by key, each key once.
        expressions: Further conditions, without duplicates.
        sources: The objects from which it was derived, as ``Service/web``: Services first, by name;
            at most ``MOST_SOURCES``, then the number of the others.
    """

    pairs: tuple[tuple[str, str], ...]
    expressions: tuple[LabelSelectorRequirement, ...]
    sources: tuple[str, ...]

    @property
    def is_small(self) -> bool:
        """Whether results for it may be cached; True for the selectors of real pods."""
        return len(self.pairs) + len(self.expressions) <= SMALL

    @property
    def selector(self) -> LabelSelector:
        """The label selector for a constraint."""
        return LabelSelector(dict(self.pairs), self.expressions)

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that the selector uses."""
        keys = {requirement.key for requirement in self.expressions}
        return frozenset(keys.union(key for key, _ in self.pairs))


def derive_selector(pod: PodTemplate, namespace: str, facts: Facts) -> DerivedSelector | None:
    """
    Combine the selectors of the Services and the controller of a pod.

    Args:
        pod: The pod; its labels determine its Services, its controller need not select it.
        namespace: The namespace in which the pod is created.
        facts: The current facts of the cluster.

    Returns:
        None if the result is empty: the pod then gets no defaults.
    """
    return _derive(pod, namespace, facts, pod.metadata.controller if pod.metadata else None)


def derive_scheduler_selector(
    pod: PodTemplate, namespace: str, facts: Facts
) -> DerivedSelector | None:
    """
    Derive the selector of kube-scheduler's own defaults, which no configuration changes.

    Args:
        pod: The pod; see ``derive_selector``.
        namespace: The namespace of the pod.
        facts: The current facts of the cluster.

    Returns:
        None if kube-scheduler gives the pod no defaults.
    """
    owner = pod.metadata.controller if pod.metadata else None
    is_known = owner is not None and (owner.api_version, owner.kind) in SCHEDULER_OWNERS
    return _derive(pod, namespace, facts, owner if is_known else None)


def _derive(
    pod: PodTemplate, namespace: str, facts: Facts, owner: OwnerReference | None
) -> DerivedSelector | None:
    pairs: dict[str, str] = {}
    expressions: tuple[LabelSelectorRequirement, ...] = ()
    sources: list[str] = []
    for service in facts.services(namespace, pod.labels):
        if service.selector:
            pairs.update(service.selector)
            sources.append(f"Service/{service.name}")
    controller = facts.owner_selector(namespace, owner) if owner else None
    if owner is not None and controller is not None:
        sources.append(f"{owner.kind}/{owner.name}")
        if (owner.api_version, owner.kind) != _REPLICATION_CONTROLLER:
            expressions = _add_owner(pairs, controller)
        pairs.update(controller.match_labels)  # a ReplicationController's replace those of Services
    if not pairs and not expressions:
        return None
    if len(sources) > MOST_SOURCES:
        sources[MOST_SOURCES:] = [f"{len(sources) - MOST_SOURCES} more"]
    return DerivedSelector(tuple(sorted(pairs.items())), expressions, tuple(sources))


def _add_owner(
    pairs: Mapping[str, str], owner: LabelSelector
) -> tuple[LabelSelectorRequirement, ...]:
    """
    Build the expressions that an owner's selector adds to the pairs of Services.

    A pair of a Service that contradicts one of the owner stays required, as an expression: like
    upstream's selector, the result then matches no pod but is not empty.
    """
    wanted = owner.match_labels
    if pairs.items() <= wanted.items() and not owner.match_expressions:
        return ()  # the usual case
    contradicted = [key for key, value in pairs.items() if wanted.get(key, value) != value]
    both = (LabelSelectorRequirement(key, IN, (pairs[key],)) for key in sorted(contradicted))
    return tuple(dict.fromkeys((*both, *owner.match_expressions)))
