"""
The API rules of ``topologySpreadConstraints``, with the messages of kube-apiserver.

``check`` applies all rules of ``API_RULES`` to a constraint list after gated fields were dropped.
The rules are pure functions and independent of severity and output; their texts are in
``policy.catalogue``. Rules that need facts of a cluster are in ``policy.advice``.

Source: kubernetes pkg/apis/core/validation/validation.go ``validateTopologySpreadConstraints``,
apimachinery meta/v1/validation ``ValidateLabelSelector``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import TypeAlias

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


@dataclass(frozen=True)
class ValidationOptions:
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


@dataclass(frozen=True)
class ListedConstraint:
    """
    A constraint of the list to validate.

    Attributes:
        at: Its field path, as ``spec.topologySpreadConstraints[0]``.
        repeated: Whether a later entry has the same topologyKey and whenUnsatisfiable.
    """

    constraint: Constraint
    at: str
    options: ValidationOptions
    repeated: bool


ApiCheck: TypeAlias = Callable[[ListedConstraint], Iterator[FieldError]]


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
        most: The number of violations after which the search stops; None finds all.

    Returns:
        The violations, by constraint and then by rule; empty if the API server accepts the list.
    """
    return list(islice(_find_violations(constraints, path, options, API_RULES), most))


def violates(rule: str, constraints: Constraints, options: ValidationOptions) -> bool:
    """Whether a list violates this rule."""
    return any(_find_violations(constraints, "", options, {rule: API_RULES[rule]}))


def _find_violations(
    constraints: Constraints,
    path: str,
    options: ValidationOptions,
    rules: Mapping[str, ApiCheck],
) -> Iterator[ApiViolation]:
    pairs = [(entry.topology_key, entry.when_unsatisfiable) for entry in constraints]
    last = {pair: i for i, pair in enumerate(pairs)}
    for i, constraint in enumerate(constraints):
        entry = ListedConstraint(constraint, f"{path}[{i}]", options, last[pairs[i]] != i)
        for rule, judge in rules.items():
            for error in judge(entry):
                yield ApiViolation(rule, error)


def too_many(constraints: Constraints, path: str) -> ApiViolation:
    """TSC010: report a list above our own limit, which only the hooks apply."""
    return ApiViolation("TSC010", fielderrors.too_many(path, len(constraints), MAX_CONSTRAINTS))


def max_skew_is_positive(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC001: maxSkew is at least 1."""
    value = entry.constraint.max_skew
    if value <= 0:
        yield fielderrors.invalid(f"{entry.at}.maxSkew", value, "must be greater than zero")


def topology_key_is_set(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC002: the key is set; kube-apiserver does not check its syntax in a pod."""
    if not entry.constraint.topology_key:
        yield fielderrors.required(f"{entry.at}.topologyKey", "can not be empty")


def action_is_known(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC003: whenUnsatisfiable has one of its two values."""
    value = entry.constraint.when_unsatisfiable
    if value not in UNSATISFIABLE_ACTIONS:
        field = f"{entry.at}.whenUnsatisfiable"
        yield fielderrors.not_supported(field, value, UNSATISFIABLE_ACTIONS)


def pairs_are_unique(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC004: no two entries have the same key and action; reports all but the last of them."""
    if entry.repeated:
        key, action = entry.constraint.topology_key, entry.constraint.when_unsatisfiable
        field = f"{entry.at}.{{topologyKey, whenUnsatisfiable}}"
        yield fielderrors.duplicate(field, f"{{{key}, {action}}}")


def min_domains_is_positive(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC005: minDomains is at least 1."""
    value = entry.constraint.min_domains
    if value is not None and value <= 0:
        yield fielderrors.invalid(f"{entry.at}.minDomains", value, "must be greater than zero")


def min_domains_is_hard(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC006: minDomains requires DoNotSchedule."""
    value, action = entry.constraint.min_domains, entry.constraint.when_unsatisfiable
    if value is not None and action != DO_NOT_SCHEDULE:
        problem = f"can only use minDomains if whenUnsatisfiable={DO_NOT_SCHEDULE}, not {action}"
        yield fielderrors.invalid(f"{entry.at}.minDomains", value, problem)


def node_policies_are_known(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC007: the two node inclusion policies are Honor or Ignore."""
    affinity, taints = entry.constraint.node_affinity_policy, entry.constraint.node_taints_policy
    if affinity is not None and affinity not in NODE_POLICIES:
        yield fielderrors.not_supported(f"{entry.at}.nodeAffinityPolicy", affinity, NODE_POLICIES)
    if taints is not None and taints not in NODE_POLICIES:
        yield fielderrors.not_supported(f"{entry.at}.nodeTaintsPolicy", taints, NODE_POLICIES)


def match_label_keys_fit_selector(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC008: matchLabelKeys are valid label keys that the selector does not contain."""
    merged, keys = entry.options.merged, entry.constraint.match_label_keys
    selector = entry.constraint.label_selector
    if keys and selector is None:
        problem = "must not be specified when labelSelector is not set"
        yield fielderrors.forbidden(f"{entry.at}.matchLabelKeys", problem)
    if not keys or (merged and selector is None):
        return
    selected = () if merged else selectors.selected_keys(selector)
    for j, key in enumerate(keys):
        field = f"{entry.at}.matchLabelKeys[{j}]"
        yield from _check_key_syntax(key, field)
        if key in selected:
            yield _reject_key_in_both(field, key)
    if merged and selector is not None:
        yield from _check_merged_keys(selector, keys, entry.at)


def _check_merged_keys(
    selector: LabelSelector, match_label_keys: tuple[str, ...], at: str
) -> Iterator[FieldError]:
    """
    Validate like an API server that merges the keys into the selector.

    The first expression with such a key counts as the merged one. The error about a further one
    contains its index, but no field below the constraint, exactly as upstream.
    """
    index_of = {key: j for j, key in enumerate(match_label_keys)}
    seen = set(selector.match_labels)
    for expression in selector.match_expressions:
        key = expression.key
        if key in seen and key in index_of:
            yield _reject_key_in_both(f"{at}[{index_of[key]}]", key)
        seen.add(key)


def _reject_key_in_both(field: str, key: str) -> FieldError:
    return fielderrors.invalid(field, key, "exists in both matchLabelKeys and labelSelector")


def _check_key_syntax(key: str, field: str) -> Iterator[FieldError]:
    return (fielderrors.invalid(field, key, problem) for problem in labels.key_problems(key))


def selector_is_valid(entry: ListedConstraint) -> Iterator[FieldError]:
    """TSC009: the selector has valid operators, keys and values."""
    selector = entry.constraint.label_selector
    if entry.options.selectors and selector is not None:
        yield from selector_errors(selector, f"{entry.at}.labelSelector")


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
