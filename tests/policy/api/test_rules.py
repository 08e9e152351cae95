import gc
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.build import constraint, requirement, selector
from webhook.policy.api import rules
from webhook.policy.api.rules import API_RULES, ApiViolation, ValidationOptions, check
from webhook.policy.model import HOSTNAME, Constraint, LabelSelector

PATH = "spec.topologySpreadConstraints"
LEGACY, MERGED = ValidationOptions(merged=False), ValidationOptions(merged=True)
OPTIONS = st.builds(ValidationOptions, st.booleans(), st.booleans())

SOFT = "ScheduleAnyway"
TWO_ACTIONS = 'supported values: "DoNotSchedule", "ScheduleAnyway"'
TWO_POLICIES = 'supported values: "Honor", "Ignore"'
IN_BOTH = "exists in both matchLabelKeys and labelSelector"


def keyed(*keys: str, selector: LabelSelector | None) -> Constraint:
    return constraint(match_label_keys=keys, label_selector=selector)


def selecting(*expressions: Any, **pairs: str) -> Constraint:
    return constraint(label_selector=selector(*expressions, **pairs))


Case = tuple[list[Constraint], list[str]]

CASES: dict[str, Case] = {
    "an ordinary constraint is accepted": ([constraint()], []),
    "every field may be set": (
        [
            constraint(
                min_domains=2,
                node_affinity_policy="Honor",
                node_taints_policy="Ignore",
                match_label_keys=("pod-template-hash",),
            ),
            constraint(when_unsatisfiable=SOFT, label_selector=None),
            constraint(topology_key=HOSTNAME),
        ],
        [],
    ),
    "an empty constraint lacks three things": (
        [Constraint()],
        [
            "TSC001 [0].maxSkew: Invalid value: 0: must be greater than zero",
            "TSC002 [0].topologyKey: Required value: can not be empty",
            f'TSC003 [0].whenUnsatisfiable: Unsupported value: "": {TWO_ACTIONS}',
        ],
    ),
    "a skew is not negative": (
        [constraint(), constraint(max_skew=-1, topology_key=HOSTNAME)],
        ["TSC001 [1].maxSkew: Invalid value: -1: must be greater than zero"],
    ),
    "the syntax of a topologyKey is not judged": ([constraint(topology_key="no key!")], []),
    "the case of an action counts": (
        [constraint(when_unsatisfiable="doNotSchedule")],
        [f'TSC003 [0].whenUnsatisfiable: Unsupported value: "doNotSchedule": {TWO_ACTIONS}'],
    ),
    "of three equal pairs two are reported": (
        [constraint(topology_key="a")] * 3,
        [
            'TSC004 [0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{a, DoNotSchedule}"',
            'TSC004 [1].{topologyKey, whenUnsatisfiable}: Duplicate value: "{a, DoNotSchedule}"',
        ],
    ),
    "equal keys with different actions are no pair": (
        [constraint(), constraint(when_unsatisfiable=SOFT)],
        [],
    ),
    "minDomains is at least 1, and hard": (
        [constraint(min_domains=0, when_unsatisfiable=SOFT)],
        [
            "TSC005 [0].minDomains: Invalid value: 0: must be greater than zero",
            (
                "TSC006 [0].minDomains: Invalid value: 0: can only use minDomains if "
                "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
            ),
        ],
    ),
    "minDomains without an action ends in a space": (
        [constraint(min_domains=1, when_unsatisfiable="")],
        [
            f'TSC003 [0].whenUnsatisfiable: Unsupported value: "": {TWO_ACTIONS}',
            (
                "TSC006 [0].minDomains: Invalid value: 1: can only use minDomains if "
                "whenUnsatisfiable=DoNotSchedule, not "
            ),
        ],
    ),
    "both policies are judged, and an empty one is set": (
        [constraint(node_affinity_policy="", node_taints_policy="honor")],
        [
            f'TSC007 [0].nodeAffinityPolicy: Unsupported value: "": {TWO_POLICIES}',
            f'TSC007 [0].nodeTaintsPolicy: Unsupported value: "honor": {TWO_POLICIES}',
        ],
    ),
    "an operator is one of four": (
        [selecting(requirement("a", "in", "b"))],
        [
            (
                "TSC009 [0].labelSelector.matchExpressions[0].operator: "
                'Invalid value: "in": not a valid selector operator'
            )
        ],
    ),
    "In and NotIn need values": (
        [selecting(requirement("a", "In"), requirement("b", "NotIn"))],
        [
            f"TSC009 [0].labelSelector.matchExpressions[{n}].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'"
            for n in (0, 1)
        ],
    ),
    "Exists and DoesNotExist forbid values": (
        [selecting(requirement("a", "Exists", "x"), requirement("b", "DoesNotExist", "x"))],
        [
            f"TSC009 [0].labelSelector.matchExpressions[{n}].values: Forbidden: "
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            for n in (0, 1)
        ],
    ),
    "findings come by constraint, then by rule": (
        [constraint(min_domains=0, max_skew=0), constraint(max_skew=0, topology_key="")],
        [
            "TSC001 [0].maxSkew: Invalid value: 0: must be greater than zero",
            "TSC005 [0].minDomains: Invalid value: 0: must be greater than zero",
            "TSC001 [1].maxSkew: Invalid value: 0: must be greater than zero",
            "TSC002 [1].topologyKey: Required value: can not be empty",
        ],
    ),
}


def format_violations(findings: list[ApiViolation]) -> list[str]:
    return [f"{violation.rule} {str(violation.error).removeprefix(PATH)}" for violation in findings]


@pytest.mark.parametrize(("constraints", "texts"), CASES.values(), ids=CASES.keys())
def test_a_list_is_judged_as_by_kube_apiserver(
    constraints: list[Constraint], texts: list[str]
) -> None:
    assert format_violations(check(tuple(constraints), PATH, MERGED)) == texts


PLACES: dict[str, tuple[Constraint, list[str]]] = {
    "bad keys and values of pairs stand at matchLabels": (
        constraint(label_selector=LabelSelector({"/": "-", "a": "é"})),
        ["matchLabels", "matchLabels", "matchLabels", "matchLabels", "matchLabels"],
    ),
    "a bad key stands at its expression": (
        selecting(requirement("a", "Exists"), requirement("-", "Exists")),
        ["matchExpressions[1].key"],
    ),
    "bad values stand at their index, whatever the operator": (
        selecting(requirement("a", "NotIn", "x", "-"), requirement("a", "x", "-")),
        [
            "matchExpressions[0].values[1]",
            "matchExpressions[1].operator",
            "matchExpressions[1].values[0]",
        ],
    ),
}


@pytest.mark.parametrize(("judged", "places"), PLACES.values(), ids=PLACES.keys())
def test_the_syntax_of_a_selector_is_reported_at(judged: Constraint, places: list[str]) -> None:
    found = check((judged,), PATH, MERGED)

    assert [violation.error.field for violation in found] == [
        f"{PATH}[0].labelSelector.{place}" for place in places
    ]


def test_selectors_are_not_validated_if_the_options_exclude_them() -> None:
    assert (
        check(
            (selecting(requirement("a", "x")),),
            PATH,
            ValidationOptions(merged=True, selectors=False),
        )
        == []
    )


WITHOUT = ".matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"

KEYS: dict[str, tuple[Constraint, list[str], list[str]]] = {
    "a key beside the selector is accepted": (keyed("a", selector=selector(b="1")), [], []),
    "a key in a pair": (
        keyed("b", "a", selector=selector(a="1")),
        [f'.matchLabelKeys[1]: Invalid value: "a": {IN_BOTH}'],
        [],
    ),
    "a key in an expression": (
        keyed("a", selector=selector(requirement("a", "Exists"))),
        [f'.matchLabelKeys[0]: Invalid value: "a": {IN_BOTH}'],
        [],
    ),
    "a key in a pair and an expression": (
        keyed("a", selector=selector(requirement("a", "In", "1"), a="1")),
        [f'.matchLabelKeys[0]: Invalid value: "a": {IN_BOTH}'],
        [f'[0]: Invalid value: "a": {IN_BOTH}'],
    ),
    "a key that is listed twice, and in two expressions": (
        keyed("a", "a", selector=selector(*[requirement("a", "Exists")] * 3)),
        [
            f'.matchLabelKeys[0]: Invalid value: "a": {IN_BOTH}',
            f'.matchLabelKeys[1]: Invalid value: "a": {IN_BOTH}',
        ],
        [f'[1]: Invalid value: "a": {IN_BOTH}'] * 2,
    ),
    "two expressions on another key": (
        keyed("a", selector=selector(*[requirement("b", "Exists")] * 2)),
        [],
        [],
    ),
    "an empty key without a selector": (
        keyed("", selector=None),
        [
            WITHOUT,
            '.matchLabelKeys[0]: Invalid value: "": name part must be non-empty',
            '.matchLabelKeys[0]: Invalid value: "": name part must consist of',
        ],
        [WITHOUT],
    ),
    "a bad key beside a selector": (
        keyed("/a", selector=selector()),
        ['.matchLabelKeys[0]: Invalid value: "/a": prefix part must be non-empty'],
        ['.matchLabelKeys[0]: Invalid value: "/a": prefix part must be non-empty'],
    ),
}


@pytest.mark.parametrize(("judged", "legacy", "merged"), KEYS.values(), ids=KEYS.keys())
def test_match_label_keys_are_judged_in_two_variants(
    judged: Constraint, legacy: list[str], merged: list[str]
) -> None:
    for options, texts in ((LEGACY, legacy), (MERGED, merged)):
        found = check((judged,), PATH, options)

        assert {violation.rule for violation in found} <= {"TSC008"}
        for violation, text in zip(found, texts, strict=True):
            assert str(violation.error).startswith(f"{PATH}[0]{text}")


def test_hooks_limit_the_length_of_a_list() -> None:
    found = rules.too_many((constraint(),) * 1001, PATH)

    assert format_violations([found]) == ["TSC010 : Too many: 1001: must have at most 1000 items"]


@given(strategies.any_lists, OPTIONS)
def test_a_list_violates_the_rules_that_a_check_reports(
    constraints: tuple[Constraint, ...], options: ValidationOptions
) -> None:
    reported = {violation.rule for violation in check(constraints, PATH, options)}

    assert {rule for rule in API_RULES if rules.violates(rule, constraints, options)} == reported


def test_the_rules_are_in_the_order_of_their_ids() -> None:
    assert list(API_RULES) == [f"TSC00{n}" for n in range(1, 10)]


@given(strategies.any_lists, OPTIONS)
def test_check_takes_any_list(
    constraints: tuple[Constraint, ...], options: ValidationOptions
) -> None:
    found = check(constraints, PATH, options)

    assert all(violation.error.field.startswith(f"{PATH}[") for violation in found)
    assert found == sorted(found, key=entry)


def entry(finding: ApiViolation) -> int:
    """The index of the constraint that a finding is about."""
    return int(finding.error.field.removeprefix(f"{PATH}[").partition("]")[0])


@given(strategies.any_lists, OPTIONS)
def test_a_list_written_twice_repeats_every_pair(
    constraints: tuple[Constraint, ...], options: ValidationOptions
) -> None:
    pairs = {(item.topology_key, item.when_unsatisfiable) for item in constraints}

    found = check(constraints * 2, PATH, options)

    repeats = [violation for violation in found if violation.rule == "TSC004"]
    assert len(repeats) == 2 * len(constraints) - len(pairs)


@given(strategies.any_lists, strategies.any_lists, OPTIONS)
def test_but_for_repeats_constraints_are_judged_one_by_one(
    one: tuple[Constraint, ...], other: tuple[Constraint, ...], options: ValidationOptions
) -> None:
    def apart(constraints: tuple[Constraint, ...]) -> list[tuple[str, str]]:
        found = check(constraints, PATH, options)
        return [
            (violation.rule, violation.error.message)
            for violation in found
            if violation.rule != "TSC004"
        ]

    assert apart(one + other) == apart(one) + apart(other)


def calls(function: Callable[[], object]) -> int:
    """How many calls, of Python and of C, a function makes: work that no machine changes."""
    count = 0

    def observe(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # Hypothesis listens to the collector, which would count
    sys.setprofile(observe)
    try:
        function()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def assert_linear(work: Callable[[int], object]) -> None:
    """Show that equal growth costs an equal number of further calls, but for a few."""
    one, two, three = (calls(partial(work, size)) for size in (6, 12, 18))

    assert three - two <= two - one + len(API_RULES)


@given(strategies.any_lists, OPTIONS)
def test_the_work_grows_with_the_length_of_a_list(
    constraints: tuple[Constraint, ...], options: ValidationOptions
) -> None:
    assert_linear(lambda size: check(constraints * size, PATH, options))


LONGER: dict[str, Callable[[int], Constraint]] = {
    "in keys": lambda size: keyed(*["-", "app"] * size, selector=selector(app="web")),
    "in pairs": lambda size: constraint(
        label_selector=LabelSelector({f"-{n}": "-" for n in range(size)}), match_label_keys=("-1",)
    ),
    "in expressions": lambda size: constraint(
        label_selector=selector(*[requirement("-", "x", "-")] * size), match_label_keys=("-",)
    ),
    "in values": lambda size: selecting(requirement("a", "Exists", *["-", "a"] * size)),
}


@pytest.mark.parametrize("make", LONGER.values(), ids=LONGER.keys())
@pytest.mark.parametrize("options", [LEGACY, MERGED], ids=["legacy", "merged"])
def test_the_work_grows_with_the_size_of_a_constraint(
    make: Callable[[int], Constraint], options: ValidationOptions
) -> None:
    assert_linear(lambda size: check((make(size),), PATH, options))


def test_the_violations_of_a_review_have_a_bound() -> None:
    assert rules.MAX_VIOLATIONS == 1000
