"""
The API rules of constraints as CEL expressions.

``API_CONDITIONS`` is the entry point: a condition for each rule, true if a constraint satisfies it.
In the expressions, ``c`` is the constraint and ``items`` the list that it is in. ``TYPES`` is the
condition on the types of the members; for a wrong type, the others may be errors.

Source: ``policy.api.rules``, whose results these conditions equal.
"""

from collections.abc import Mapping
from types import MappingProxyType

from webhook.export import cel
from webhook.export.members import (
    EMPTY_TEXT,
    EXPRESSION_KEY,
    EXPRESSION_OPERATOR,
    EXPRESSION_VALUES,
    EXPRESSIONS,
    HAS_SELECTOR,
    LABEL_KEYS,
    SELECTED_PAIRS,
    is_given,
    member,
)
from webhook.policy import selectors
from webhook.policy.api.labels import NAME_BYTES, PREFIX_BYTES
from webhook.policy.model import DO_NOT_SCHEDULE, HONOR, NODE_POLICIES, UNSATISFIABLE_ACTIONS
from webhook.policy.places import OPERATOR_SELECTOR

LONGEST_LIST = 100
"""
Constraints of a list that an expression compares with each other, and so the most in a list.

The comparison costs 20 for each pair, of at most 1 000 000 for an expression. Source: apiserver
pkg/apis/cel/config.go ``PerCallLimit``.
"""

_NAME = f"[A-Za-z0-9]([-A-Za-z0-9_.]{{0,{NAME_BYTES - 2}}}[A-Za-z0-9])?"  # also of values
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_KEY_PATTERN = cel.text(f"^({_SUBDOMAIN}/)?{_NAME}$")
_VALUE_PATTERN = cel.text(f"^({_NAME})?$")


def _is_key(value: str) -> str:
    return f'({value}.matches({_KEY_PATTERN}) && {value}.indexOf("/") <= {PREFIX_BYTES})'


def _is_value(value: str) -> str:
    return f"{value}.matches({_VALUE_PATTERN})"


_SKEW = member("c", "maxSkew", "0")
_TOPOLOGY = member("c", "topologyKey", EMPTY_TEXT)
_ACTION = member("c", "whenUnsatisfiable", EMPTY_TEXT)
_SAME_PAIR = (
    f"{member('other', 'topologyKey', EMPTY_TEXT)} == {_TOPOLOGY} && "
    f"{member('other', 'whenUnsatisfiable', EMPTY_TEXT)} == {_ACTION}"
)

_HAS_VALUES = (
    f"{EXPRESSION_OPERATOR} in {cel.texts((selectors.IN, selectors.NOT_IN))} ? "
    f"size({EXPRESSION_VALUES}) > 0 : "
    f"{EXPRESSION_OPERATOR} in {cel.texts((selectors.EXISTS, selectors.DOES_NOT_EXIST))} && "
    f"size({EXPRESSION_VALUES}) == 0"
)
_IS_SELECTOR = (
    f"!{HAS_SELECTOR} || ("
    f"{SELECTED_PAIRS}.all(k, {_is_key('k')} && "
    f"({SELECTED_PAIRS}[k] == null || {_is_value(f'{SELECTED_PAIRS}[k]')}))"
    f" && {EXPRESSIONS}.all(e, ({_HAS_VALUES}) && {_is_key(EXPRESSION_KEY)}"
    f" && {EXPRESSION_VALUES}.all(v, v == null || {_is_value('v')})))"
)

_EXPRESSED = f"{EXPRESSIONS}.filter(e, {EXPRESSION_KEY} == k).size()"


def _fit_selector(condition: str) -> str:
    """
    Write that matchLabelKeys are valid, and stand beside a selector that satisfies this.

    prometheus-operator creates a selector; without one, the condition is an error, and no denial.
    """
    keys = f"{LABEL_KEYS}.all(k, {_is_key('k')} && {condition})"
    selector = f"({HAS_SELECTOR} || has(c.{OPERATOR_SELECTOR}))"
    return f"size({LABEL_KEYS}) == 0 || ({selector} && {keys})"


API_CONDITIONS: Mapping[str, str] = MappingProxyType(
    {
        "TSC001": f"{_SKEW} > 0",
        "TSC002": f"{_TOPOLOGY} != {EMPTY_TEXT}",
        "TSC003": f"{_ACTION} in {cel.texts(UNSATISFIABLE_ACTIONS)}",
        "TSC004": f"size(items) > {LONGEST_LIST} || items.filter(other, {_SAME_PAIR}).size() == 1",
        "TSC005": f"{member('c', 'minDomains', '1')} > 0",
        "TSC006": f"!{is_given('c', 'minDomains')} || {_ACTION} == {cel.text(DO_NOT_SCHEDULE)}",
        "TSC007": cel.all_of(
            f"{member('c', name, cel.text(HONOR))} in {cel.texts(NODE_POLICIES)}"
            for name in ("nodeAffinityPolicy", "nodeTaintsPolicy")
        ),
        "TSC008": _fit_selector(f"{_EXPRESSED} == 0 && !(k in {SELECTED_PAIRS})"),
        "TSC009": _IS_SELECTOR,
    }
)
"""Rule -> its condition on one constraint."""

MERGED_KEYS_CONDITION = _fit_selector(
    f"({_EXPRESSED} == 0 || ({_EXPRESSED} == 1 && !(k in {SELECTED_PAIRS})))"
)
"""TSC008 if API servers merge the keys into the selector, where each then occurs once."""

RULE_OF_FIELD: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "minDomains": ("TSC005", "TSC006"),
        "nodeAffinityPolicy": ("TSC007",),
        "nodeTaintsPolicy": ("TSC007",),
        "matchLabelKeys": ("TSC008",),
    }
)
"""Field behind a feature gate -> the rules about it, which do not apply while the gate is off."""


def _has_type(owner: str, name: str, test: str) -> str:
    """Write that a member is absent, null, or passes a test, in which ``$`` is the member."""
    return f"(!{is_given(owner, name)} || ({test.replace('$', f'{owner}.{name}')}))"


_IS_TEXT = "type($) == string"
_IS_NUMBER = f"type($) == int && $ >= -{2**31} && $ < {2**31}"
_ARE_TEXTS = "type($) == list && $.all(t, type(t) == string)"
_MAY_BE_TEXTS = "type($) == list && $.all(t, t == null || type(t) == string)"
_HAVE_TEXTS = "type($) == map && $.all(t, $[t] == null || type($[t]) == string)"
_EXPRESSION_TYPES = cel.all_of(
    (
        "type(e) == map",
        _has_type("e", "key", _IS_TEXT),
        _has_type("e", "operator", _IS_TEXT),
        _has_type("e", "values", _MAY_BE_TEXTS),
    )
)
_SELECTOR_TYPES = cel.all_of(
    (
        "type($) == map",
        _has_type("c.labelSelector", "matchLabels", _HAVE_TEXTS),
        _has_type(
            "c.labelSelector",
            "matchExpressions",
            f"type($) == list && $.all(e, {_EXPRESSION_TYPES})",
        ),
    )
)

TYPES = cel.all_of(
    (
        "type(c) == map",
        *(_has_type("c", name, _IS_NUMBER) for name in ("maxSkew", "minDomains")),
        *(_has_type("c", name, _IS_TEXT) for name in ("topologyKey", "whenUnsatisfiable")),
        *(_has_type("c", name, _IS_TEXT) for name in ("nodeAffinityPolicy", "nodeTaintsPolicy")),
        _has_type("c", "matchLabelKeys", _ARE_TEXTS),
        _has_type("c", "labelSelector", _SELECTOR_TYPES),
    )
)
"""The condition that all members have the types of the API."""
