import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
from tests.build import constraint, requirement, selector
from tests.conformance.comparison import requirements
from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement
from webhook.policy.selectors import (
    OPERATORS,
    compared_keys,
    has_pairs,
    matches,
    merge_match_label_keys,
    merge_stored_keys,
    render,
    selected_keys,
)

LABELS = {"app": "web", "env": "prod", "empty": ""}

MATCHING = {
    "no selector selects nothing": (None, False),
    "an empty selector selects everything": (selector(), True),
    "a pair that stands selects": (selector(app="web"), True),
    "a pair with another value does not": (selector(app="db"), False),
    "a pair on an absent key does not": (selector(tier=""), False),
    "all pairs must stand": (selector(app="web", env="test"), False),
    "In selects one of its values": (selector(requirement("app", "In", "db", "web")), True),
    "In does not select an absent key": (selector(requirement("tier", "In", "")), False),
    "NotIn does not select its values": (selector(requirement("app", "NotIn", "web")), False),
    "NotIn selects another value": (selector(requirement("app", "NotIn", "db")), True),
    "NotIn selects an absent key": (selector(requirement("tier", "NotIn", "db")), True),
    "Exists selects an empty value": (selector(requirement("empty", "Exists")), True),
    "Exists does not select an absent key": (selector(requirement("tier", "Exists")), False),
    "DoesNotExist selects an absent key": (selector(requirement("tier", "DoesNotExist")), True),
    "DoesNotExist does not select a present key": (
        selector(requirement("app", "DoesNotExist")),
        False,
    ),
    "an unknown operator selects nothing": (selector(requirement("app", "in", "web")), False),
    "all expressions must hold": (
        selector(requirement("app", "Exists"), requirement("app", "NotIn", "web")),
        False,
    ),
    "pairs and expressions must both hold": (
        selector(requirement("env", "Exists"), app="db"),
        False,
    ),
}


@pytest.mark.parametrize(("judged", "expected"), MATCHING.values(), ids=MATCHING.keys())
def test_a_selector_selects(judged: LabelSelector | None, expected: bool) -> None:
    assert matches(judged, LABELS) is expected


@given(strategies.any_selectors, strategies.labels)
def test_a_selector_selects_only_what_its_pairs_select(
    judged: LabelSelector, labels: dict[str, str]
) -> None:
    if matches(judged, labels):
        assert has_pairs(labels, judged.match_labels)


@given(strategies.labels, strategies.labels)
def test_pairs_say_the_same_as_expressions_with_one_value(
    pairs: dict[str, str], labels: dict[str, str]
) -> None:
    as_expressions = selector(*(requirement(key, "In", value) for key, value in pairs.items()))

    assert matches(LabelSelector(pairs), labels) == matches(as_expressions, labels)


@given(strategies.requirements, strategies.labels)
def test_an_operator_and_its_opposite_never_agree(
    one: LabelSelectorRequirement, labels: dict[str, str]
) -> None:
    opposite = {"In": "NotIn", "NotIn": "In", "Exists": "DoesNotExist", "DoesNotExist": "Exists"}
    other = requirement(one.key, opposite[one.operator], *one.values)

    assert matches(selector(one), labels) != matches(selector(other), labels)


MERGING = {
    "a key that the pod carries is appended": (
        constraint(label_selector=selector(app="web"), match_label_keys=("env",)),
        selector(requirement("env", "In", "prod"), app="web"),
    ),
    "a key that the pod lacks adds nothing": (
        constraint(label_selector=selector(app="web"), match_label_keys=("tier",)),
        selector(app="web"),
    ),
    "a key that the selector has is appended all the same": (
        constraint(label_selector=selector(app="web"), match_label_keys=("app",)),
        selector(requirement("app", "In", "web"), app="web"),
    ),
    "a key that stands twice is appended twice": (
        constraint(label_selector=selector(), match_label_keys=("env", "env")),
        selector(requirement("env", "In", "prod"), requirement("env", "In", "prod")),
    ),
    "keys keep their order, after what stands there": (
        constraint(
            label_selector=selector(requirement("x", "Exists")), match_label_keys=("env", "app")
        ),
        selector(
            requirement("x", "Exists"),
            requirement("env", "In", "prod"),
            requirement("app", "In", "web"),
        ),
    ),
    "an empty value is a value": (
        constraint(label_selector=selector(), match_label_keys=("empty",)),
        selector(requirement("empty", "In", "")),
    ),
    "no selector stays none": (constraint(label_selector=None, match_label_keys=("env",)), None),
}


@pytest.mark.parametrize(("requested", "merged"), MERGING.values(), ids=MERGING.keys())
def test_match_label_keys_join_the_selector(
    requested: Constraint, merged: LabelSelector | None
) -> None:
    (stored,) = merge_match_label_keys((requested,), LABELS)

    assert stored.label_selector == merged
    assert stored.match_label_keys == requested.match_label_keys


def test_a_constraint_without_keys_keeps_its_place_beside_others() -> None:
    plain = constraint(label_selector=selector(app="web"))
    keyed = replace(plain, match_label_keys=("env",))

    first, second = merge_match_label_keys((plain, keyed), LABELS)

    assert first == plain
    assert second.label_selector == selector(requirement("env", "In", "prod"), app="web")


def test_the_operators_are_those_of_kubernetes() -> None:
    assert OPERATORS == ("In", "NotIn", "Exists", "DoesNotExist")


def test_keys_that_were_merged_are_not_merged_again() -> None:
    keyed = Constraint(match_label_keys=("app", "tier"), label_selector=LabelSelector())
    once = merge_match_label_keys((keyed,), {"app": "web", "tier": "x"})

    assert merge_stored_keys(once, {"app": "web", "tier": "x"}) == once
    assert merge_stored_keys((keyed,), {"app": "web", "tier": "x"}) == once
    plain = Constraint(label_selector=LabelSelector({"app": "web"}))
    assert merge_stored_keys((plain, Constraint()), {"app": "web"}) == (plain, Constraint())
    (changed,) = merge_stored_keys(once, {"app": "web", "tier": "y"})
    assert changed.label_selector is not None
    assert [one.values for one in changed.label_selector.match_expressions] == [
        ("web",),
        ("x",),
        ("y",),
    ]


@given(st.lists(strategies.any_constraints, max_size=3).map(tuple), strategies.labels)
def test_a_merged_selector_still_selects_its_own_pod(
    constraints: tuple[Constraint, ...], labels: dict[str, str]
) -> None:
    merged = merge_match_label_keys(constraints, labels)

    for before, after in zip(constraints, merged, strict=True):
        assert matches(before.label_selector, labels) == matches(after.label_selector, labels)


RENDERED = {
    "an empty selector is an empty text": (selector(), ""),
    "pairs are sorted": (selector(b="2", a="1"), "a=1,b=2"),
    "one value is a pair": (selector(requirement("a", "In", "1", "1")), "a=1"),
    "values are sorted": (selector(requirement("a", "In", *"64152837")), "a in (1,2,3,4,5,6,7,8)"),
    "NotIn keeps its parentheses": (selector(requirement("a", "NotIn", "1")), "a notin (1)"),
    "Exists is the key": (selector(requirement("a", "Exists")), "a"),
    "DoesNotExist is sorted by its key": (
        selector(requirement("b", "DoesNotExist"), c="1", a="1"),
        "a=1,!b,c=1",
    ),
    "a key that exists and does not has one order": (
        selector(requirement("a", "Exists"), requirement("a", "DoesNotExist")),
        "!a,a",
    ),
    "repeats are left out": (selector(requirement("a", "In", "1"), a="1"), "a=1"),
}


@pytest.mark.parametrize(("shown", "text"), RENDERED.values(), ids=RENDERED.keys())
def test_a_selector_is_written_as_kubectl_reads_it(shown: LabelSelector, text: str) -> None:
    assert render(shown) == text


@given(strategies.selectors, strategies.labels)
def test_what_is_read_from_a_rendered_selector_selects_the_same(
    shown: LabelSelector, labels: dict[str, str]
) -> None:
    read = requirements(render(shown))

    assert matches(shown, labels) == all(holds(*expression, labels) for expression in read)


def holds(key: str, operator: str, values: frozenset[str], labels: dict[str, str]) -> bool:
    """Whether a requirement, as the conformance runner reads it, holds."""
    return {
        "in": key in labels and labels[key] in values,
        "notin": key not in labels or labels[key] not in values,
        "exists": key in labels,
        "!": key not in labels,
    }[operator]


def test_a_selector_uses_the_keys_of_its_pairs_and_expressions() -> None:
    judged = LabelSelector({"app": "web"}, (LabelSelectorRequirement("tier", "Exists"),))

    assert selected_keys(judged) == {"app", "tier"}
    assert selected_keys(None) == frozenset()


def test_a_selector_compares_the_values_of_some_of_its_keys() -> None:
    expressions = (
        LabelSelectorRequirement("tier", "Exists"),
        LabelSelectorRequirement("env", "In", ("prod",)),
        LabelSelectorRequirement("zone", "NotIn", ("a",)),
    )

    assert compared_keys(LabelSelector({"app": "web"}, expressions)) == {"app", "env", "zone"}
    assert compared_keys(None) == frozenset()
