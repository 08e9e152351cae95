from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given

from tests import strategies
from tests.build import requirement, selector
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import matches, selected_keys
from webhook.policy.selectorsubsets import PRESENT, find_allowed, is_contradictory, is_subset

IN_AB = selector(requirement("app", "In", "a", "b"))
HAS_APP = selector(requirement("app", "Exists"))
NO_APP = selector(requirement("app", "DoesNotExist"))
NOT_B = selector(requirement("app", "NotIn", "b"))
NONE = selector(requirement("app", "In", "a"), app="b")
UNKNOWN = selector(requirement("app", "Like", "a"))

# narrow, wide, whether it is a subset
SUBSETS: dict[str, tuple[LabelSelector | None, LabelSelector | None, bool]] = {
    "all of all": (None, None, True),
    "all of an empty one": (None, selector(), True),
    "an empty one of all": (selector(), None, True),
    "some of all": (selector(app="a"), None, True),
    "all of some": (None, selector(app="a"), False),
    "itself": (IN_AB, IN_AB, True),
    "a pair of fewer pairs": (selector(app="a", tier="x"), selector(app="a"), True),
    "fewer pairs of a pair": (selector(app="a"), selector(app="a", tier="x"), False),
    "a pair of some values": (selector(app="a"), IN_AB, True),
    "some values of a pair": (IN_AB, selector(app="a"), False),
    "a pair of any value": (selector(app="a"), HAS_APP, True),
    "a pair of other values": (selector(app="a"), NOT_B, True),
    "other values of any value, though the label may be missing": (NOT_B, HAS_APP, False),
    "no label of other values": (NO_APP, NOT_B, True),
    "both other values of one": (selector(requirement("app", "NotIn", "a", "b")), NOT_B, True),
    "one value in two ways": (selector(requirement("app", "In", "a")), selector(app="a"), True),
    "nothing of something": (NONE, selector(tier="x"), True),
    "something of nothing": (selector(tier="x"), NONE, False),
    "an unknown operator, which selects nothing": (UNKNOWN, selector(tier="x"), True),
}


@pytest.mark.parametrize(("narrow", "wide", "subset"), SUBSETS.values(), ids=SUBSETS.keys())
def test_a_selector_is_a_subset(
    narrow: LabelSelector | None, wide: LabelSelector | None, subset: bool
) -> None:
    assert is_subset(find_allowed(narrow), find_allowed(wide)) is subset


def test_what_is_known_of_all_labels_counts() -> None:
    known = find_allowed(None, {"app": PRESENT})

    assert not is_subset(find_allowed(None), find_allowed(HAS_APP))
    assert is_subset(known, find_allowed(HAS_APP))
    assert not is_subset(known, find_allowed(selector(app="a")))


def label_sets(*selectors: LabelSelector) -> Iterator[dict[str, str]]:
    """List labels with every combination of values that may make a difference."""
    keys = sorted(frozenset().union(*map(selected_keys, selectors)))
    used = {value for one in selectors for value in one.match_labels.values()}
    used |= {
        value for one in selectors for entry in one.match_expressions for value in entry.values
    }
    choices = [None, "another value", *sorted(used)]
    for chosen in product(choices, repeat=len(keys)):
        yield {key: value for key, value in zip(keys, chosen, strict=True) if value is not None}


@given(strategies.selectors, strategies.selectors)
def test_subsets_are_exact(narrow: LabelSelector, wide: LabelSelector) -> None:
    selected = [labels for labels in label_sets(narrow, wide) if matches(narrow, labels)]

    allowed = find_allowed(narrow)

    assert is_subset(allowed, find_allowed(wide)) == all(matches(wide, one) for one in selected)
    assert is_contradictory(allowed) == (not selected)
