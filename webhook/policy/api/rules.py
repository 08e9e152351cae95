"""
The API rules of ``topologySpreadConstraints``, with the messages of kube-apiserver.

``check`` applies all rules of ``API_RULES`` to a constraint list after gated fields were dropped.
The rules are pure functions and independent of severity and output; their texts are in
``policy.catalogue``. Rules that need facts of a cluster are in ``policy.advice``.

Source: kubernetes pkg/apis/core/validation/validation.go ``validateTopologySpreadConstraints``,
apimachinery meta/v1/validation ``ValidateLabelSelector``.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec

from webhook.policy import selectors
from webhook.policy.api import fielderrors, labels
from webhook.policy.api.fielderrors import FieldError
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    MAX_CONSTRAINTS,
    NODE_POLICIES,
    UNSATISFIABLE_ACTIONS,
    Constraint,
    LabelSelector,
    LabelSelectorRequirement,
)

Constraints: TypeAlias = tuple[Constraint, ...]

MAX_VIOLATIONS = 1000  # found in one review in a hook; the response shows the first 100


class ValidationOptions(NamedTuple):
    """
    The variants of kube-apiserver's validation.

    Attributes:
        merged: Whether a key may be in matchLabelKeys and, once, in the selector: True since
            kube-apiserver merges the keys into the selector (gate ...SelectorMerge).
        selectors: Whether label selectors are validated; False on an update of an object whose
            stored selector is invalid.
    """

    merged: bool
    selectors: bool = True


ApiCheck: TypeAlias = Callable[
    [Constraints, str, ValidationOptions], Iterator[tuple[int, FieldError]]
]
"""Validates a list at a field path: yields the index of a constraint and a field error."""


class ApiViolation(msgspec.Struct, frozen=True, gc=False):
    """A violation of a rule, with the id of the rule."""

    rule: str
    error: FieldError


def check(
    constraints: Constraints, path: str, options: ValidationOptions, most: int | None = None
) -> list[ApiViolation]:
    """
    Apply every rule to a list.

    Args:
        constraints: The list; the time is linear in its size.
        path: The field path of the list, as ``spec.topologySpreadConstraints``.
        options: The variant of the validation.
        most: The number of violations after which the search stops; None finds all.

    Returns:
        The violations, by constraint and then by rule; empty if the API server accepts the list.
    """
    found = [
        (index, ApiViolation(rule, error))
        for rule, judge in API_RULES.items()
        for index, error in islice(judge(constraints, path, options), most)
    ]
    found.sort(key=lambda item: item[0])
    return [finding for _, finding in found[:most]]


def too_many(constraints: Constraints, path: str) -> ApiViolation:
    """TSC010: report a list above our own limit, which only the hooks apply."""
    return ApiViolation("TSC010", fielderrors.too_many(path, len(constraints), MAX_CONSTRAINTS))


def max_skew_is_positive(
    constraints: Constraints, path: str, _options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC001: maxSkew is at least 1."""
    for i, constraint in enumerate(constraints):
        value = constraint.max_skew
        if value <= 0:
            error = fielderrors.invalid(f"{path}[{i}].maxSkew", value, "must be greater than zero")
            yield i, error


def topology_key_is_set(
    constraints: Constraints, path: str, _options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC002: the key is set; kube-apiserver does not check its syntax in a pod."""
    for i, constraint in enumerate(constraints):
        if not constraint.topology_key:
            yield i, fielderrors.required(f"{path}[{i}].topologyKey", "can not be empty")


def action_is_known(
    constraints: Constraints, path: str, _options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC003: whenUnsatisfiable has one of its two values."""
    for i, constraint in enumerate(constraints):
        value = constraint.when_unsatisfiable
        if value not in UNSATISFIABLE_ACTIONS:
            yield (
                i,
                fielderrors.not_supported(
                    f"{path}[{i}].whenUnsatisfiable", value, UNSATISFIABLE_ACTIONS
                ),
            )


def pairs_are_unique(
    constraints: Constraints, path: str, _options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC004: no two entries have the same key and action; reports all but the last of them."""
    last = {(c.topology_key, c.when_unsatisfiable): i for i, c in enumerate(constraints)}
    if len(last) == len(constraints):
        return
    for i, constraint in enumerate(constraints):
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if last[pair] != i:
            field = f"{path}[{i}].{{topologyKey, whenUnsatisfiable}}"
            yield i, fielderrors.duplicate(field, f"{{{pair[0]}, {pair[1]}}}")


def min_domains_is_positive(
    constraints: Constraints, path: str, _options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC005: minDomains is at least 1."""
    for i, constraint in enumerate(constraints):
        value = constraint.min_domains
        if value is not None and value <= 0:
            error = fielderrors.invalid(
                f"{path}[{i}].minDomains", value, "must be greater than zero"
            )
            yield i, error


def min_domains_is_hard(
    constraints: Constraints, path: str, _options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC006: minDomains requires DoNotSchedule."""
    for i, constraint in enumerate(constraints):
        value, action = constraint.min_domains, constraint.when_unsatisfiable
        if value is not None and action != DO_NOT_SCHEDULE:
            problem = (
                f"can only use minDomains if whenUnsatisfiable={DO_NOT_SCHEDULE}, not {action}"
            )
            yield i, fielderrors.invalid(f"{path}[{i}].minDomains", value, problem)


def node_policies_are_known(
    constraints: Constraints, path: str, _options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC007: the two node inclusion policies are Honor or Ignore."""
    for i, constraint in enumerate(constraints):
        affinity, taints = constraint.node_affinity_policy, constraint.node_taints_policy
        if affinity is not None and affinity not in NODE_POLICIES:
            field = f"{path}[{i}].nodeAffinityPolicy"
            yield i, fielderrors.not_supported(field, affinity, NODE_POLICIES)
        if taints is not None and taints not in NODE_POLICIES:
            field = f"{path}[{i}].nodeTaintsPolicy"
            yield i, fielderrors.not_supported(field, taints, NODE_POLICIES)


def match_label_keys_fit_selector(
    constraints: Constraints, path: str, options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC008: matchLabelKeys are valid label keys that the selector does not contain."""
    for i, constraint in enumerate(constraints):
        if constraint.match_label_keys:
            judge = _check_merged_keys if options.merged else _check_separate_keys
            yield from ((i, error) for error in judge(constraint, f"{path}[{i}]"))


def _check_separate_keys(constraint: Constraint, at: str) -> Iterator[FieldError]:
    """Validate as API servers do that do not merge the keys into the selector."""
    selector = constraint.label_selector
    selected = _find_selected_keys(selector) if selector else frozenset[str]()
    if selector is None:
        yield _forbid_without_selector(at)
    for j, key in enumerate(constraint.match_label_keys):
        yield from _check_key_syntax(key, f"{at}.matchLabelKeys[{j}]")
        if key in selected:
            yield _reject_key_in_both(f"{at}.matchLabelKeys[{j}]", key)


def _check_merged_keys(constraint: Constraint, at: str) -> Iterator[FieldError]:
    """
    Validate as API servers do that merge the keys into the selector.

    The first expression on such a key counts as the merged one. The error about any other names
    no field below the constraint, only an index, exactly as upstream does.
    """
    selector = constraint.label_selector
    if selector is None:
        yield _forbid_without_selector(at)
        return
    for j, key in enumerate(constraint.match_label_keys):
        yield from _check_key_syntax(key, f"{at}.matchLabelKeys[{j}]")
    index_of = {key: j for j, key in enumerate(constraint.match_label_keys)}
    seen = set(selector.match_labels)
    for expression in selector.match_expressions:
        key = expression.key
        if key in seen and key in index_of:
            yield _reject_key_in_both(f"{at}[{index_of[key]}]", key)
        seen.add(key)


def _find_selected_keys(selector: LabelSelector) -> frozenset[str]:
    expressions = (expression.key for expression in selector.match_expressions)
    return frozenset(selector.match_labels).union(expressions)


def _forbid_without_selector(at: str) -> FieldError:
    problem = "must not be specified when labelSelector is not set"
    return fielderrors.forbidden(f"{at}.matchLabelKeys", problem)


def _reject_key_in_both(field: str, key: str) -> FieldError:
    return fielderrors.invalid(field, key, "exists in both matchLabelKeys and labelSelector")


def _check_key_syntax(key: str, field: str) -> Iterator[FieldError]:
    return (fielderrors.invalid(field, key, problem) for problem in labels.key_problems(key))


def selector_is_valid(
    constraints: Constraints, path: str, options: ValidationOptions
) -> Iterator[tuple[int, FieldError]]:
    """TSC009: the selector has valid operators, keys and values."""
    if not options.selectors:
        return
    for i, constraint in enumerate(constraints):
        selector = constraint.label_selector
        if selector is not None:
            errors = selector_errors(selector, f"{path}[{i}].labelSelector")
            yield from ((i, error) for error in errors)


def selector_errors(selector: LabelSelector, at: str) -> Iterator[FieldError]:
    """Validate any label selector, of a constraint or not, at a field path."""
    for key, value in selector.match_labels.items():
        yield from _check_key_syntax(key, f"{at}.matchLabels")
        for problem in labels.value_problems(value):
            yield fielderrors.invalid(f"{at}.matchLabels", value, problem)
    for n, expression in enumerate(selector.match_expressions):
        yield from _expression_errors(expression, f"{at}.matchExpressions[{n}]")


def _expression_errors(expression: LabelSelectorRequirement, at: str) -> Iterator[FieldError]:
    operator, values = expression.operator, expression.values
    if operator not in selectors.OPERATORS:
        problem = "not a valid selector operator"
        yield fielderrors.invalid(f"{at}.operator", operator, problem, named=True)
    elif operator in (selectors.IN, selectors.NOT_IN) and not values:
        problem = "must be specified when `operator` is 'In' or 'NotIn'"
        yield fielderrors.required(f"{at}.values", problem)
    elif operator in (selectors.EXISTS, selectors.DOES_NOT_EXIST) and values:
        problem = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield fielderrors.forbidden(f"{at}.values", problem)
    yield from _check_key_syntax(expression.key, f"{at}.key")
    for m, value in enumerate(values):
        for problem in labels.value_problems(value):
            yield fielderrors.invalid(f"{at}.values[{m}]", value, problem)


API_RULES: Mapping[str, ApiCheck] = MappingProxyType(
    {
        "TSC001": max_skew_is_positive,
        "TSC002": topology_key_is_set,
        "TSC003": action_is_known,
        "TSC004": pairs_are_unique,
        "TSC005": min_domains_is_positive,
        "TSC006": min_domains_is_hard,
        "TSC007": node_policies_are_known,
        "TSC008": match_label_keys_fit_selector,
        "TSC009": selector_is_valid,
    }
)
"""Id -> the rule's function; the texts are in ``policy.catalogue``."""
