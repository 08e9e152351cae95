"""
Comparison of label selectors: whether one selects only what another one selects.

``is_subset`` and ``is_contradictory`` are the entry points. The requirements of a selector on one
key allow a set of values, and the absence of the label or not; requirements on different keys are
independent of each other, so that selectors are compared key by key, and exactly.
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


def is_subset(
    narrow: LabelSelector | None,
    wide: LabelSelector | None,
    known: Mapping[str, AllowedValues] | None = None,
) -> bool:
    """
    Whether ``wide`` selects every object that ``narrow`` selects.

    Args:
        narrow: None is the same as empty, as for profiles: it selects everything.
        wide: Likewise.
        known: What is known of the labels of all objects, by key.
    """
    allowed = _collect(narrow, known or {})
    if any(one.is_nothing for one in allowed.values()):
        return True
    return all(allowed.get(key, _ANY) <= one for key, one in _collect(wide, {}).items())


def is_contradictory(selector: LabelSelector | None) -> bool:
    """Whether the requirements of a selector exclude each other, so that it selects nothing."""
    return any(one.is_nothing for one in _collect(selector, {}).values())


def _collect(
    selector: LabelSelector | None, known: Mapping[str, AllowedValues]
) -> dict[str, AllowedValues]:
    """Collect what a selector allows, by key; keys that it does not name allow anything."""
    allowed = dict(known)
    for key, one in _list_requirements(selector or LabelSelector()):
        allowed[key] = allowed.get(key, _ANY) & one
    return allowed


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
