"""
Required node affinity: the wire types, and whether a node matches.

``required_terms`` and ``term_matches`` are the entry points. Preferred affinity only ranks nodes,
so it is not modelled.

Source: component-helpers scheduling/corev1/nodeaffinity, apimachinery pkg/labels selector.go.
"""

import re
from collections.abc import Mapping

import msgspec

from webhook.policy.api.labels import key_problems, value_problems
from webhook.policy.model import LabelSelectorRequirement, Node
from webhook.policy.selectors import IN, NOT_IN, OPERATORS, requirement_holds

NODE_NAME = "metadata.name"  # the only node field that matchFields supports
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)  # Go strconv ParseInt, base 10
_INT64 = range(-(2**63), 2**63)


class NodeSelectorTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    Conditions that must all hold; a term without any matches no node.

    Besides the operators of a label selector there are Gt and Lt, with one integer each.

    Attributes:
        match_expressions: On labels.
        match_fields: On fields; only ``metadata.name`` is known, only In and NotIn of one value.
    """

    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None
    match_fields: tuple[LabelSelectorRequirement, ...] | None = None


class NodeSelector(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Terms of which one must match; without terms no node matches."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class Preference(msgspec.Struct, frozen=True, gc=False):
    """A preferred term of any affinity; nothing of it is decoded."""


class NodeAffinity(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A node affinity; for its required part None excludes no node."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[Preference, ...] | None = None


class Affinity(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of a pod's affinity that is about nodes."""

    node_affinity: NodeAffinity | None = None


def required_terms(affinity: Affinity | None) -> tuple[NodeSelectorTerm, ...] | None:
    """
    Return the terms of which a node must match one.

    Returns:
        None if nothing is required. Terms that are empty or that Kubernetes cannot parse match no
        node and are left out, so the result may be an empty tuple, which no node matches.

    Source: nodeaffinity.go ``GetRequiredNodeAffinity``, ``NewLazyErrorNodeSelector``.
    """
    node_affinity = affinity.node_affinity if affinity else None
    if node_affinity is None:
        return None
    required = node_affinity.required_during_scheduling_ignored_during_execution
    if required is None:
        return None
    return tuple(filter(_is_usable, required.node_selector_terms or ()))


def join_terms(
    one: tuple[NodeSelectorTerm, ...] | None, other: tuple[NodeSelectorTerm, ...] | None
) -> tuple[NodeSelectorTerm, ...] | None:
    """Return the terms of which a node must match one to match one of each list."""
    if one is None or other is None or one == other:
        return other if one is None else one
    return tuple(
        NodeSelectorTerm(
            (*(first.match_expressions or ()), *(second.match_expressions or ())),
            (*(first.match_fields or ()), *(second.match_fields or ())),
        )
        for first in one
        for second in other
    )


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """
    Whether all conditions of a term hold for a node.

    Source: nodeaffinity.go ``nodeSelectorTerm.match``.
    """
    fields = {NODE_NAME: node.name}
    return all(
        _holds(requirement, node.labels) for requirement in term.match_expressions or ()
    ) and all(_field_holds(requirement, fields) for requirement in term.match_fields or ())


def _holds(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    if requirement.operator in OPERATORS:
        return requirement_holds(requirement, labels)
    value = _parse_integer(labels.get(requirement.key))
    for bound in map(_parse_integer, requirement.values):
        if value is not None and bound is not None:
            return value > bound if requirement.operator == "Gt" else value < bound
    return False


def _parse_integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


def _field_holds(requirement: LabelSelectorRequirement, fields: Mapping[str, str]) -> bool:
    is_equal = (fields.get(requirement.key, ""),) == requirement.values
    return is_equal is (requirement.operator == IN)


def _is_usable(term: NodeSelectorTerm) -> bool:
    expressions, fields = term.match_expressions or (), term.match_fields or ()
    return (
        bool(expressions or fields)
        and all(map(_is_parsable, expressions))
        and all(field.operator in {IN, NOT_IN} and len(field.values) == 1 for field in fields)
    )


def _is_parsable(requirement: LabelSelectorRequirement) -> bool:
    """Source: selector.go ``NewRequirement``."""
    values = requirement.values
    if key_problems(requirement.key) or any(map(value_problems, values)):
        return False
    match requirement.operator:
        case "In" | "NotIn":
            return bool(values)
        case "Exists" | "DoesNotExist":
            return not values
        case "Gt" | "Lt":
            return len(values) == 1 and _parse_integer(values[0]) is not None
        case _:
            return False
