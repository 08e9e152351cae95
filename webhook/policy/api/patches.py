"""
Constraints in strategic merge patches, as kustomize applies them: which of their entries to judge.

``withhold_entries`` is the entry point, for objects of files. A patch is no object: kube-apiserver
refuses one that is sent as an object, and so do the hooks, which never use this module.

Source: k8s.io apimachinery pkg/util/strategicpatch patch.go; k8s.io api core/v1 ``PodSpec``, whose
list of constraints has the merge key ``topologyKey``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from webhook.policy.paths import (
    LIST_NAME,
    FieldPath,
    constraints_path,
    find_value,
    is_array,
    is_object,
    replace_value,
)
from webhook.policy.places import TemplatePlaces, find_places

PATCH = "$patch"
MERGE = "merge"  # the usual effect of an entry, which need not be written
REPLACE = "replace"  # the other entries are the whole list
ELEMENT_ORDER = f"$setElementOrder/{LIST_NAME}"  # a member beside the list

COMPLETE = frozenset({"maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector"})
"""Fields of an entry that takes nothing from the list that it is merged into."""


class PatchedValue(NamedTuple):
    """
    An object without the entries that are not judged.

    Attributes:
        value: The object; an empty constraint stands for an entry that is not judged, so that the
            others keep their indexes.
        withheld: Place of a pod template, or of a bare list -> the indexes of these entries.
    """

    value: Any
    withheld: Mapping[FieldPath, frozenset[int]]


def withhold_entries(value: Any, places: TemplatePlaces | None) -> PatchedValue:
    """
    Withhold the entries of constraint lists that cannot be judged, since they are parts of patches.

    Args:
        value: An object of JSON's types and of any content; it stays unchanged.
        places: Where objects of its kind hold pod templates; None if they hold none.
    """
    try:
        paths = () if places is None else find_places(value, places)
    except msgspec.ValidationError:
        return PatchedValue(value, _NOTHING)
    withheld: dict[FieldPath, frozenset[int]] = {}
    for path in paths:
        at = constraints_path(path)
        indexes = _find_unjudged(find_value(value, at[:-1]))
        for index in sorted(indexes):
            value = replace_value(value, (*at, index), {})
        if indexes:
            withheld[path] = indexes
    return PatchedValue(value, withheld)


_NOTHING: Mapping[FieldPath, frozenset[int]] = MappingProxyType({})


def is_directive(entry: Any) -> bool:
    """Whether an entry of a list is no item of it, but changes the list or another entry."""
    return is_object(entry) and entry.get(PATCH, MERGE) != MERGE


def _find_unjudged(spec: Any) -> frozenset[int]:
    """
    Find the directives in a specification's list, and incomplete entries if it is merged.

    A list with a directive ``replace`` is not merged: its other entries become the list.
    """
    entries = spec.get(LIST_NAME) if is_object(spec) else None
    if not is_array(entries):
        return frozenset()
    directives = {index for index, entry in enumerate(entries) if is_directive(entry)}
    if any(entries[index][PATCH] == REPLACE for index in directives):
        return frozenset(directives)
    if ELEMENT_ORDER not in spec and not any(map(_has_directive, entries)):
        return frozenset()
    incomplete = {index for index, entry in enumerate(entries) if _is_incomplete(entry)}
    return frozenset(directives | incomplete)


def _has_directive(entry: Any) -> bool:
    return is_object(entry) and any(name.startswith("$") for name in map(str, entry))


def _is_incomplete(entry: Any) -> bool:
    return is_object(entry) and not entry.keys() >= COMPLETE
