"""
The members of a constraint in CEL: ``c`` is the constraint, ``e`` an expression of its selector.

A member that is null counts as absent, and an absent member as its zero value, as in
``policy.model``.
"""

from webhook.export import cel


def is_given(owner: str, name: str) -> str:
    """Write that a member is neither absent nor null."""
    return f"(has({owner}.{name}) && {owner}.{name} != null)"


def member(owner: str, name: str, default: str) -> str:
    """Write a member, or a default if it is absent or null."""
    return f"({is_given(owner, name)} ? {owner}.{name} : {default})"


EMPTY_TEXT = cel.text("")

HAS_SELECTOR = is_given("c", "labelSelector")
SELECTED_PAIRS = member("c.labelSelector", "matchLabels", "{}")
EXPRESSIONS = member("c.labelSelector", "matchExpressions", "[]")
EXPRESSION_KEY = member("e", "key", EMPTY_TEXT)
EXPRESSION_OPERATOR = member("e", "operator", EMPTY_TEXT)
EXPRESSION_VALUES = member("e", "values", "[]")
LABEL_KEYS = member("c", "matchLabelKeys", "[]")
