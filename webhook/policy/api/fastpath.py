"""
A fast check that accepts the usual valid lists without calling every rule.

``are_plain`` is the entry point. A list that it rejects may still be valid: ``api.rules`` decides,
and only ``api.rules`` describes errors.
"""

from itertools import starmap

from webhook.policy import selectors
from webhook.policy.api import labels
from webhook.policy.api.rules import ValidationOptions
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    NODE_POLICIES,
    UNSATISFIABLE_ACTIONS,
    Constraint,
    LabelSelector,
    LabelSelectorRequirement,
)

_POLICIES = frozenset((None, *NODE_POLICIES))


def are_plain(constraints: tuple[Constraint, ...], options: ValidationOptions) -> bool:
    """
    Whether a list is certainly valid.

    A plain list passes every rule under these options; a property test verifies this.
    """
    pairs: set[tuple[str, str]] = set()
    checked: tuple[LabelSelector | None, tuple[str, ...]] | None = None
    for entry in constraints:
        if not _is_plain(entry):
            return False
        selection = entry.label_selector, entry.match_label_keys
        if selection != checked:  # nearly always only once
            if not _selects_plainly(*selection, options):
                return False
            checked = selection
        pairs.add((entry.topology_key, entry.when_unsatisfiable))
    return len(pairs) == len(constraints)


def _is_plain(constraint: Constraint) -> bool:
    """Whether a constraint is certainly valid except for its selector and matchLabelKeys."""
    action, least = constraint.when_unsatisfiable, constraint.min_domains
    return (
        constraint.max_skew > 0
        and constraint.topology_key != ""
        and action in UNSATISFIABLE_ACTIONS
        and (least is None or (least > 0 and action == DO_NOT_SCHEDULE))
        and constraint.node_affinity_policy in _POLICIES
        and constraint.node_taints_policy in _POLICIES
    )


def _selects_plainly(
    selector: LabelSelector | None, match_label_keys: tuple[str, ...], options: ValidationOptions
) -> bool:
    """Whether every key is used once: in a pair, in an expression, or in matchLabelKeys."""
    if selector is None:
        return not match_label_keys
    pairs, expressions = selector.match_labels, selector.match_expressions
    if not all(starmap(labels.is_pair, pairs.items())):
        return False
    if not expressions and not match_label_keys:
        return True
    keys = [*pairs, *(expression.key for expression in expressions)]
    if not options.merged:
        keys += match_label_keys
    return (
        len(set(keys)) == len(keys)
        and all(map(labels.is_key, match_label_keys))
        and all(map(_is_plain_expression, expressions))
    )


def _is_plain_expression(expression: LabelSelectorRequirement) -> bool:
    if expression.operator in (selectors.IN, selectors.NOT_IN):
        is_used = expression.values != () and labels.is_key(expression.key)
        return is_used and all(map(labels.is_value, expression.values))
    return (
        expression.operator in (selectors.EXISTS, selectors.DOES_NOT_EXIST)
        and not expression.values
        and labels.is_key(expression.key)
    )
