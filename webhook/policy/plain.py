"""
Lists that are valid at a glance: nearly all there are, which need not be put to every rule.

What is not plain may be valid all the same; ``rules`` tell, and alone say what is wrong.
"""

from webhook.policy import labels, selectors
from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement
from webhook.policy.rules import ACTIONS, DO_NOT_SCHEDULE, NODE_POLICIES, Form


def are_plain(constraints: tuple[Constraint, ...], form: Form) -> bool:
    """
    Whether a list is of the usual kind, and valid without asking every rule.

    What is plain passes every rule in this form, which a property test shows.
    """
    pairs = {(each.topology_key, each.when_unsatisfiable) for each in constraints}
    return len(pairs) == len(constraints) and all(_is_plain(each, form) for each in constraints)


def _is_plain(constraint: Constraint, form: Form) -> bool:
    action, least = constraint.when_unsatisfiable, constraint.min_domains
    return (
        constraint.max_skew > 0
        and constraint.topology_key != ""
        and action in ACTIONS
        and (least is None or (least > 0 and action == DO_NOT_SCHEDULE))
        and constraint.node_affinity_policy in (None, *NODE_POLICIES)
        and constraint.node_taints_policy in (None, *NODE_POLICIES)
        and _selects_plainly(constraint.label_selector, constraint.match_label_keys, form)
    )


def _selects_plainly(
    selector: LabelSelector | None, match_label_keys: tuple[str, ...], form: Form
) -> bool:
    """Whether every key stands once: in a pair, in an expression, or in matchLabelKeys."""
    if selector is None:
        return not match_label_keys
    pairs, expressions = selector.match_labels, selector.match_expressions
    if not all(map(labels.is_pair, pairs.items())):
        return False
    if not expressions and not match_label_keys:
        return True
    keys = [*pairs, *(each.key for each in expressions)]
    if not form.merged:
        keys += match_label_keys
    return (
        len(set(keys)) == len(keys)
        and all(map(labels.is_key, match_label_keys))
        and all(map(_is_plain_expression, expressions))
    )


def _is_plain_expression(expression: LabelSelectorRequirement) -> bool:
    if expression.operator in (selectors.IN, selectors.NOT_IN):
        pairs = [(expression.key, value) for value in expression.values]
        return pairs != [] and all(map(labels.is_pair, pairs))
    return (
        expression.operator in (selectors.EXISTS, selectors.DOES_NOT_EXIST)
        and not expression.values
        and labels.is_key(expression.key)
    )
