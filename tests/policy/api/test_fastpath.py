from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
from tests.build import constraint, requirement, selector
from webhook.policy.api.fastpath import are_plain
from webhook.policy.api.rules import ValidationOptions, check
from webhook.policy.model import HOSTNAME, Constraint, LabelSelector

PATH = "spec.topologySpreadConstraints"
LEGACY, MERGED = ValidationOptions(merged=False), ValidationOptions(merged=True)
FORMS = st.builds(ValidationOptions, st.booleans(), st.booleans())


def selecting(*expressions: Any, **pairs: str) -> Constraint:
    return constraint(label_selector=selector(*expressions, **pairs))


@given(st.lists(strategies.any_constraints | st.just(constraint()), max_size=2).map(tuple), FORMS)
def test_a_plain_list_passes_every_rule(
    constraints: tuple[Constraint, ...], form: ValidationOptions
) -> None:
    if are_plain(constraints, form):
        assert check(constraints, PATH, form) == []


PLAIN = constraint(label_selector=selector(app="web"))

NOT_PLAIN: dict[str, tuple[Constraint, ...]] = {
    "a repeat": (PLAIN, PLAIN),
    "a skew of 0": (replace(PLAIN, max_skew=0),),
    "no topologyKey": (replace(PLAIN, topology_key=""),),
    "an unknown action": (replace(PLAIN, when_unsatisfiable="x"),),
    "minDomains": (replace(PLAIN, min_domains=0),),
    "minDomains beside ScheduleAnyway": (
        replace(PLAIN, when_unsatisfiable="ScheduleAnyway", min_domains=2),
    ),
    "a bad selector of the second": (
        PLAIN,
        constraint(topology_key=HOSTNAME, label_selector=LabelSelector({"-": "a"})),
    ),
    "bad matchLabelKeys of the second": (
        PLAIN,
        replace(PLAIN, topology_key=HOSTNAME, match_label_keys=("",)),
    ),
    "an affinity policy": (replace(PLAIN, node_affinity_policy=""),),
    "a taints policy": (replace(PLAIN, node_taints_policy=""),),
    "matchLabelKeys": (replace(PLAIN, match_label_keys=("",)),),
    "one bad key of two in matchLabelKeys": (replace(PLAIN, match_label_keys=("tier", "")),),
    "a bad value of an expression": (selecting(requirement("tier", "In", "a", "-")),),
    "one bad expression of two": (
        selecting(requirement("tier", "Exists"), requirement("", "Exists")),
    ),
    "one bad pair of two": (constraint(label_selector=LabelSelector({"a": "b", "-": "a"})),),
    "an expression": (selecting(requirement("", "")),),
    "an unknown operator": (selecting(requirement("tier", "Is")),),
    "an expression without values": (selecting(requirement("app", "In")),),
    "a forbidden value": (selecting(requirement("app", "Exists", "web")),),
    "a bad key": (constraint(label_selector=LabelSelector({"-": "a"})),),
    "a bad value": (constraint(label_selector=LabelSelector({"a": "-"})),),
    "a long prefix": (constraint(label_selector=LabelSelector({f"{'a' * 254}/b": "a"})),),
    "a long value": (constraint(label_selector=LabelSelector({"a": "a" * 64})),),
}


@pytest.mark.parametrize("constraints", NOT_PLAIN.values(), ids=NOT_PLAIN.keys())
def test_a_list_is_not_plain_with(constraints: tuple[Constraint, ...]) -> None:
    assert check(constraints, PATH, MERGED)
    assert not are_plain(constraints, MERGED)


CHOSEN = LabelSelector(
    {"app": "web"}, (requirement("tier", "In", "front", "back"), requirement("canary", "Exists"))
)

USUAL: dict[str, tuple[Constraint, ...]] = {
    "nothing in it": (),
    "two keys": (PLAIN, replace(PLAIN, topology_key=HOSTNAME)),
    "no selector": (constraint(label_selector=None),),
    "other selectors": (PLAIN, constraint(topology_key=HOSTNAME, label_selector=selector(a="b"))),
    "the least minDomains": (replace(PLAIN, min_domains=1),),
    "an empty selector": (constraint(label_selector=selector()),),
    "every other field": (
        replace(PLAIN, min_domains=2, node_affinity_policy="Honor", node_taints_policy="Ignore"),
    ),
    "expressions": (constraint(label_selector=CHOSEN),),
    "matchLabelKeys beside the selector": (
        constraint(label_selector=CHOSEN, match_label_keys=("pod-template-hash",)),
    ),
}


@pytest.mark.parametrize("form", [LEGACY, MERGED], ids=["legacy", "merged"])
@pytest.mark.parametrize("constraints", USUAL.values(), ids=USUAL.keys())
def test_a_list_is_plain_with(constraints: tuple[Constraint, ...], form: ValidationOptions) -> None:
    assert are_plain(constraints, form)


def test_keys_that_were_merged_are_plain_where_keys_are_merged() -> None:
    merged = constraint(label_selector=CHOSEN, match_label_keys=("tier",))

    assert are_plain((merged,), MERGED)
    assert not are_plain((merged,), LEGACY)


def test_a_key_of_a_pair_is_no_other_key_where_keys_are_not_merged() -> None:
    twice = constraint(label_selector=selector(app="web"), match_label_keys=("app",))

    assert check((twice,), PATH, LEGACY)
    assert not are_plain((twice,), LEGACY)
