"""
Label selectors: matching, merging with matchLabelKeys, and the short form of kubectl.

``api.rules`` decides whether a selector is valid; the functions here accept any selector.

Source: apimachinery pkg/labels selector.go, meta/v1 helpers.go ``LabelSelectorAsSelector``.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)

SELECT_ALL = LabelSelector()
"""The empty selector, which selects every object."""


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """
    Whether the selector selects an object with these labels.

    No selector (None) selects nothing, an empty one everything, an unknown operator nothing.
    """
    if selector is None:
        return False
    return has_pairs(labels, selector.match_labels) and all(
        requirement_holds(requirement, labels) for requirement in selector.match_expressions
    )


def has_pairs(labels: Mapping[str, str], pairs: Mapping[str, str]) -> bool:
    """Whether the labels contain every pair; True if there are no pairs."""
    return all(labels.get(key) == value for key, value in pairs.items())


def selected_keys(selector: LabelSelector | None) -> frozenset[str]:
    """Collect the label keys that a selector uses, in pairs and in expressions."""
    if selector is None:
        return frozenset()
    expressions = (requirement.key for requirement in selector.match_expressions)
    return frozenset(selector.match_labels).union(expressions)


def compared_keys(selector: LabelSelector | None) -> frozenset[str]:
    """Collect the label keys of which a selector distinguishes the values."""
    if selector is None:
        return frozenset()
    expressions = selector.match_expressions
    compared = (one.key for one in expressions if one.operator in (IN, NOT_IN))
    return frozenset(selector.match_labels).union(compared)


def requirement_holds(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    """Whether one expression holds for these labels; False for an unknown operator."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False


def merge_match_label_keys(
    constraints: tuple[Constraint, ...], labels: Mapping[str, str]
) -> tuple[Constraint, ...]:
    """
    Add the pod's own values of its matchLabelKeys to the selector of each constraint.

    Args:
        labels: The pod's own labels; a key that they lack adds nothing.

    Returns:
        The constraints that kube-apiserver stores for a new pod: ``{key, In, [value]}`` is
        appended for each key in order, even if the selector contains the key already.

    Source: kubernetes pkg/registry/core/pod/strategy.go, KEP-3243.
    """
    if not any(constraint.match_label_keys for constraint in constraints):
        return constraints
    return tuple(_merge_keys(constraint, labels) for constraint in constraints)


def merge_stored_keys(
    constraints: tuple[Constraint, ...], labels: Mapping[str, str]
) -> tuple[Constraint, ...]:
    """
    Merge the matchLabelKeys of a pod that an API server stored, which has most likely merged them.

    A key is added only if its selector has no expression that equals the one to add.
    """
    merged = zip(constraints, merge_match_label_keys(constraints, labels), strict=True)
    return tuple(_without_repeated(written, added) for written, added in merged)


def _without_repeated(written: Constraint, merged: Constraint) -> Constraint:
    """Remove the added expressions of a selector that it had as written."""
    selector, had = merged.label_selector, written.label_selector
    if selector is None or had is None or selector == had:
        return written
    added = selector.match_expressions[len(had.match_expressions) :]
    missing = tuple(one for one in added if one not in had.match_expressions)
    complete = replace(selector, match_expressions=had.match_expressions + missing)
    return replace(merged, label_selector=complete)


def _merge_keys(constraint: Constraint, labels: Mapping[str, str]) -> Constraint:
    selector = constraint.label_selector
    added = tuple(
        LabelSelectorRequirement(key=key, operator=IN, values=(labels[key],))
        for key in constraint.match_label_keys
        if key in labels
    )
    if selector is None or not added:
        return constraint
    return replace(
        constraint,
        label_selector=replace(selector, match_expressions=selector.match_expressions + added),
    )


def render(selector: LabelSelector) -> str:
    """
    Format a selector in kubectl's short form, such as ``a=b,c in (d,e),!f``; empty if it is empty.

    Requirements are sorted by key, values alphabetically, and duplicates are omitted.

    Source: apimachinery pkg/labels ``Requirement.String``.
    """
    texts = {f"{key}={value}" for key, value in selector.match_labels.items()}
    texts.update(map(_render_requirement, selector.match_expressions))
    return ",".join(sorted(texts, key=lambda text: (text.lstrip("!"), text)))


def _render_requirement(requirement: LabelSelectorRequirement) -> str:
    key, values = requirement.key, ",".join(sorted(set(requirement.values)))
    match requirement.operator:
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case "In" if len(set(requirement.values)) == 1:
            return f"{key}={values}"
        case "In":
            return f"{key} in ({values})"
        case _:
            return f"{key} notin ({values})"
