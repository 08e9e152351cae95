"""
The selector of a pod's default constraints, derived from what owns the pod.

That is its Services and its controller. It selects exactly what kube-scheduler's own would, at the
moment of creation.

Source: kubernetes pkg/scheduler/framework/plugins/helper/spread.go ``DefaultSelector``.
"""

from collections.abc import Mapping

import msgspec

from webhook.policy.facts import Facts
from webhook.policy.model import (
    LabelSelector,
    LabelSelectorRequirement,
    OwnerReference,
    PodTemplate,
)
from webhook.policy.selectors import IN


class Derived(msgspec.Struct, frozen=True, gc=False):
    """
    A derived selector.

    Attributes:
        selector: Never empty.
        sources: The objects that it came from, as ``Service/web``; Services first, by name.
    """

    selector: LabelSelector
    sources: tuple[str, ...]


def derive(pod: PodTemplate, namespace: str, facts: Facts) -> Derived | None:
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
    sources: list[str] = []
    for service in facts.services(namespace, pod.labels):
        pairs.update(service.selector)
        sources.append(f"Service/{service.name}")
    expressions: tuple[LabelSelectorRequirement, ...] = ()
    owner = pod.metadata.controller if pod.metadata else None
    owned = facts.owner_selector(namespace, owner) if owner else None
    if owner is not None and owned is not None:
        sources.append(f"{owner.kind}/{owner.name}")
        pairs, expressions = _with_owner(pairs, owner, owned)
    if not pairs and not expressions:
        return None
    return Derived(LabelSelector(dict(sorted(pairs.items())), expressions), tuple(sources))


def pinned_keys(selector: LabelSelector) -> frozenset[str]:
    """The keys that a selector says anything about."""
    if not selector.match_expressions:
        return frozenset(selector.match_labels)
    keys = (requirement.key for requirement in selector.match_expressions)
    return frozenset(selector.match_labels).union(keys)


def _with_owner(
    pairs: dict[str, str], owner: OwnerReference, owned: LabelSelector
) -> tuple[dict[str, str], tuple[LabelSelectorRequirement, ...]]:
    if owner.kind == "ReplicationController":  # a map: its pairs replace those of Services
        return {**pairs, **owned.match_labels}, ()
    contradicted = _contradicted(pairs, owned.match_labels)
    expressions = dict.fromkeys((*contradicted, *owned.match_expressions))
    return {**pairs, **owned.match_labels}, tuple(expressions)


def _contradicted(
    pairs: Mapping[str, str], owned: Mapping[str, str]
) -> tuple[LabelSelectorRequirement, ...]:
    """
    Pairs of Services that cannot hold together with the owner's.

    Both must hold nevertheless: the selector is then not empty and matches nothing, as upstream's.
    """
    if all(pairs.get(key, value) == value for key, value in owned.items()):
        return ()
    return tuple(
        LabelSelectorRequirement(key=key, operator=IN, values=(value,))
        for key, value in sorted(pairs.items())
        if owned.get(key, value) != value
    )
