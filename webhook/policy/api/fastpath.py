"""
A fast check that accepts the usual valid lists without calling every rule.

``are_plain`` is the entry point. A list that it rejects may still be valid: ``api.rules`` decides,
and only ``api.rules`` describes errors.
"""

from itertools import groupby, starmap
from operator import attrgetter

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

_selection = attrgetter("label_selector", "match_label_keys")


def are_plain(constraints: tuple[Constraint, ...], options: ValidationOptions) -> bool:
    """
    Whether a list is certainly valid.

    A plain list passes every rule under these options; a property test verifies this.
    """
    pairs = {(entry.topology_key, entry.when_unsatisfiable) for entry in constraints}
    selections = groupby(map(_selection, constraints))  # nearly always only one
    return (
        len(pairs) == len(constraints)
        and all(map(_is_plain, constraints))
        and all(_selects_plainly(*selection, options) for selection, _ in selections)
    )


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
