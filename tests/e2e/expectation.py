"""
The selector that kube-scheduler itself would give the defaults of a pod, from what is stored.

Written anew from what its DefaultSelector does, on plain JSON and without a line of the product,
so that the two are only equal if both are right.

Source: kubernetes pkg/scheduler/framework/plugins/helper/spread.go ``DefaultSelector``.
"""

from collections.abc import Iterable

from tests.controlplane.api import Json

Requirement = tuple[str, str, frozenset[str]]
"""Key, operator, values: a pair is ``In`` with one value."""

SELECTING = {("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")}


def expected(pod: Json, services: Iterable[Json], owners: Iterable[Json]) -> set[Requirement]:
    """
    Compute the requirements.

    Args:
        services: Those of the pod's namespace.
        owners: Objects that might own it.

    Returns:
        None at all: the pod gets no defaults.
    """
    labels = pod["metadata"].get("labels", {})
    pairs: dict[str, str] = {}
    for service in services:
        selector = service["spec"].get("selector")
        if selector is not None and selector.items() <= labels.items():
            pairs.update(selector)
    owner = controller_of(pod, owners)
    if owner is None:
        return requirements({"matchLabels": pairs})
    selector = owner["spec"].get("selector") or {}
    if (owner["apiVersion"], owner["kind"]) == ("v1", "ReplicationController"):
        return requirements({"matchLabels": {**pairs, **selector}})
    if (owner["apiVersion"], owner["kind"]) in SELECTING:
        return requirements({"matchLabels": pairs}) | requirements(selector)
    return requirements({"matchLabels": pairs})


def controller_of(pod: Json, owners: Iterable[Json]) -> Json | None:
    references = pod["metadata"].get("ownerReferences", ())
    named = [
        (one["apiVersion"], one["kind"], one["name"]) for one in references if one.get("controller")
    ]
    for owner in owners:
        if (owner["apiVersion"], owner["kind"], owner["metadata"]["name"]) in named:
            return owner
    return None


def requirements(selector: Json) -> set[Requirement]:
    """What a label selector demands, however it is written."""
    pairs = selector.get("matchLabels") or {}
    found = {(key, "In", frozenset({value})) for key, value in pairs.items()}
    for expression in selector.get("matchExpressions") or ():
        found.add(
            (expression["key"], expression["operator"], frozenset(expression.get("values") or ()))
        )
    return found
