from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.defaults_config import check_arguments
from webhook.policy.model import Constraint, LabelSelector

GOOD = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway")
OTHER = Constraint(max_skew=2, topology_key="zone", when_unsatisfiable="DoNotSchedule")
UNJUDGED = Constraint(
    max_skew=1,
    topology_key="zone",
    when_unsatisfiable="ScheduleAnyway",
    min_domains=-1,
    node_affinity_policy="x",
    node_taints_policy="",
    match_label_keys=("bad key!",),
)
SELECTING = Constraint(
    max_skew=1, topology_key="zone", when_unsatisfiable="Foo", label_selector=LabelSelector()
)

SUPPORTED = 'supported values: "DoNotSchedule", "ScheduleAnyway"'
DEDUCED = "constraint must not define a selector, as they deduced for each pod"

Case: TypeAlias = tuple[str, tuple[Constraint, ...], list[str]]

CASES: dict[str, Case] = {
    "System has no list": ("System", (), []),
    "a List may be empty": ("List", (), []),
    "a List may have entries": ("List", (GOOD, OTHER), []),
    "System with a list is a contradiction": (
        "System",
        (GOOD,),
        ['defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
    ),
    "another type is not supported": (
        "list",
        (GOOD,),
        ['defaultingType: Unsupported value: "list": supported values: "System", "List"'],
    ),
    "an empty type is not supported": (
        "",
        (),
        ['defaultingType: Unsupported value: "": supported values: "System", "List"'],
    ),
    "an empty constraint lacks three things": (
        "List",
        (Constraint(),),
        [
            "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
            "defaultConstraints[0].topologyKey: Required value: can not be empty",
            "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
        ],
    ),
    "an empty selector is a selector": (
        "List",
        (SELECTING,),
        [
            f'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Foo": {SUPPORTED}',
            f"defaultConstraints[0].labelSelector: Forbidden: {DEDUCED}",
        ],
    ),
    "every repeat is named": (
        "List",
        (GOOD, OTHER, GOOD, GOOD),
        [
            'defaultConstraints[2]: Duplicate value: "{zone, ScheduleAnyway}"',
            'defaultConstraints[3]: Duplicate value: "{zone, ScheduleAnyway}"',
        ],
    ),
    "minDomains, policies and matchLabelKeys are left to others": ("List", (UNJUDGED,), []),
}


@pytest.mark.parametrize(("kind", "constraints", "texts"), CASES.values(), ids=CASES.keys())
def test_arguments_are_judged_as_by_kube_scheduler(
    kind: str, constraints: tuple[Constraint, ...], texts: list[str]
) -> None:
    assert [str(error) for error in check_arguments(kind, constraints)] == texts


def test_every_problem_of_a_key_is_reported() -> None:
    constraint = Constraint(max_skew=1, topology_key="/", when_unsatisfiable="DoNotSchedule")

    errors = [error.field for error in check_arguments("List", [constraint])]

    assert errors == ["defaultConstraints[0].topologyKey"] * 3


some_constraints = st.lists(
    st.builds(
        Constraint,
        max_skew=st.integers(-2, 2),
        topology_key=st.sampled_from(["", "zone", "kubernetes.io/hostname", "a b", "X/y"]),
        when_unsatisfiable=st.sampled_from(["", "DoNotSchedule", "ScheduleAnyway", "x"]),
    ),
    max_size=6,
)


@given(some_constraints)
def test_a_list_written_twice_repeats_every_pair_but_the_first_of_each(
    constraints: list[Constraint],
) -> None:
    pairs = {(entry.topology_key, entry.when_unsatisfiable) for entry in constraints}

    errors = check_arguments("List", constraints * 2)

    repeats = [error for error in errors if error.message.startswith("Duplicate")]
    assert len(repeats) == 2 * len(constraints) - len(pairs)
