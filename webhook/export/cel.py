"""
Expressions in CEL, the language of admission policies: literals, label selectors and conditions.

Source: the CEL specification, langdef.md; apimachinery meta/v1 ``LabelSelectorAsSelector``.
"""

import json
from collections.abc import Iterable, Iterator

from webhook.policy import selectors
from webhook.policy.model import LabelSelector, LabelSelectorRequirement

LABELS_OF_POD = "object.metadata.?labels.orValue({})"
LABELS_OF_NAMESPACE = "namespaceObject.metadata.?labels.orValue({})"


def text(value: str) -> str:
    """Write a string literal; the escapes of JSON are escapes of CEL too."""
    return json.dumps(value, ensure_ascii=False)


def texts(values: Iterable[str]) -> str:
    """Write a list of strings."""
    return f"[{', '.join(map(text, values))}]"


def all_of(conditions: Iterable[str]) -> str:
    """Join conditions by *and*; ``true`` if there are none."""
    return " && ".join(conditions) or "true"


def matches(selector: LabelSelector, labels: str) -> Iterator[str]:
    """
    Write the conditions under which a selector selects an object.

    Args:
        selector: A valid selector.
        labels: Expression of the object's labels, a map.
    """
    for key, value in sorted(selector.match_labels.items()):
        yield _has_value(key, (value,), labels)
    for requirement in selector.match_expressions:
        yield _requirement(requirement, labels)


def _requirement(requirement: LabelSelectorRequirement, labels: str) -> str:
    match requirement.operator:
        case selectors.IN:
            return _has_value(requirement.key, requirement.values, labels)
        case selectors.NOT_IN:
            return f"!{_has_value(requirement.key, requirement.values, labels)}"
        case selectors.EXISTS:
            return f"{text(requirement.key)} in {labels}"
        case selectors.DOES_NOT_EXIST:
            return f"!({text(requirement.key)} in {labels})"
        case _:
            return "false"


def _has_value(key: str, values: tuple[str, ...], labels: str) -> str:
    """Write that a label has one of these values; absent, it has none, not even an empty one."""
    name = text(key)
    accepted = f"== {text(values[0])}" if len(values) == 1 else f"in {texts(values)}"
    return f"({name} in {labels} && {labels}[{name}] {accepted})"
