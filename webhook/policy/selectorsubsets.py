"""
Comparison of label selectors: whether one selects only what another one selects.

``find_allowed``, ``is_subset`` and ``is_contradictory`` are the entry points. The requirements of a
selector on one key allow a set of values, and the absence of the label or not; requirements on
different keys are independent of each other, so that selectors are compared key by key, and
exactly.
"""

from collections.abc import Iterator, Mapping

import msgspec

from webhook.policy.model import LabelSelector, LabelSelectorRequirement
from webhook.policy.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN


class AllowedValues(msgspec.Struct, frozen=True):
    """
    What the requirements on one label key allow.

    Attributes:
        values: The allowed values; the forbidden ones, if ``is_complement``.
        is_absent_allowed: Whether the label may be missing.
    """

    values: frozenset[str] = frozenset()
    is_complement: bool = True
    is_absent_allowed: bool = True

    @property
    def is_nothing(self) -> bool:
        """Whether neither a value nor the absence of the label is allowed."""
        return not (self.values or self.is_complement or self.is_absent_allowed)

    def __and__(self, other: "AllowedValues") -> "AllowedValues":
        """Return what both allow."""
        is_complement = self.is_complement and other.is_complement
        if is_complement:
            values = self.values | other.values
        elif self.is_complement:
            values = other.values - self.values
        elif other.is_complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        is_absent_allowed = self.is_absent_allowed and other.is_absent_allowed
        return AllowedValues(values, is_complement, is_absent_allowed)

    def __le__(self, other: "AllowedValues") -> bool:
        """Whether the other one allows everything that this one allows."""
        return self & other == self


_ANY = AllowedValues()
PRESENT = AllowedValues(is_absent_allowed=False)
_NOTHING = AllowedValues(is_complement=False, is_absent_allowed=False)


def find_allowed(
    selector: LabelSelector | None, known: Mapping[str, AllowedValues] | None = None
) -> dict[str, AllowedValues]:
    """
    Find what a selector allows, by key; keys that it does not name allow anything.

    Args:
        selector: None is the same as empty, as for profiles: it selects everything.
        known: What is known of the labels of all objects, by key.
    """
    allowed = dict(known or {})
    for key, one in _list_requirements(selector or LabelSelector()):
        allowed[key] = allowed.get(key, _ANY) & one
    return allowed


def is_contradictory(allowed: Mapping[str, AllowedValues]) -> bool:
    """Whether the requirements of a selector exclude each other, so that it selects nothing."""
    return any(one.is_nothing for one in allowed.values())


def is_subset(narrow: Mapping[str, AllowedValues], wide: Mapping[str, AllowedValues]) -> bool:
    """Whether ``wide`` selects every object that ``narrow`` selects, by what they allow."""
    return is_contradictory(narrow) or all(
        narrow.get(key, _ANY) <= one for key, one in wide.items()
    )


def _list_requirements(selector: LabelSelector) -> Iterator[tuple[str, AllowedValues]]:
    for key, value in selector.match_labels.items():
        yield key, _require(IN, (value,))
    for requirement in selector.match_expressions:
        yield requirement.key, _read_requirement(requirement)


def _read_requirement(requirement: LabelSelectorRequirement) -> AllowedValues:
    return _require(requirement.operator, requirement.values)


def _require(operator: str, values: tuple[str, ...]) -> AllowedValues:
    if operator == IN:
        return AllowedValues(frozenset(values), is_complement=False, is_absent_allowed=False)
    if operator == NOT_IN:
        return AllowedValues(frozenset(values))
    if operator == EXISTS:
        return PRESENT
    if operator == DOES_NOT_EXIST:
        return AllowedValues(is_complement=False)
    return _NOTHING
